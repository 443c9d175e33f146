"""Finds and redacts secrets in a text.

Pure. Called by baoctl.commands.bundle.contents. A text is a log, a file of a ConfigMap, or objects
as JSON with sorted keys. A secret is recognized by its shape or by the name in front of it. All
repetitions are bounded, because a tenant may choose the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from runtime.redaction import REDACTED

ROUNDS_MAX: Final = 8
"""Maximum rounds of redaction. The caller searches the result for secrets that remain."""

# Suffix of a name: `client_token`, `AWS_SECRET_ACCESS_KEY`, `spec.unseal.transit.token`. The field
# rootTokenSecret of the status contains the version of a Secret.
_NAME: Final = (
    r"(?:token|passw(?:or)?d|passphrase|secret|credentials?"
    r"|(?:secret|access|private|api|encryption|account)[_-]?key)(?<!rootTokenSecret)"
)
_PLAIN: Final = r"\"(?P<plain>(?:[^\"\\\n]|\\.){1,65536})\""
# A quoted text inside a JSON string.
_NESTED: Final = r"\\\"(?P<nested>(?:(?!\\\")[^\n]){1,65536}?)\\\""
_SINGLE: Final = r"'(?P<single>[^'\n]{1,65536})'"
_BARE: Final = r"(?P<bare>[^\s\"'\\&,;{}\[\]()<>]{4,4096})"

# Includes the headers of an encrypted key, and the line breaks that JSON escapes.
_PEM: Final = r"[A-Za-z0-9+/=\s\\:,.-]"

_VALUE_PATTERNS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    (
        "private key",
        re.compile(
            rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY-----(?:{_PEM}*?"
            rf"-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY-----|{_PEM}*)"
        ),
    ),
    (
        "OpenBao token",
        re.compile(r"(?<![A-Za-z0-9_.-])(?:hv[sbr]|[sbr])\.[A-Za-z0-9_-]{20,4096}(?:\.\w{1,16})?"),
    ),
    (
        "JSON Web Token, or other encoded JSON",
        re.compile(
            r"(?<![A-Za-z0-9_+/=-])eyJ[A-Za-z0-9_+/=-]{17,65536}(?:\.[A-Za-z0-9_-]{1,65536}){0,4}"
        ),
    ),
    (
        "credentials in a URL",
        re.compile(
            r"[a-z][a-z0-9+.-]{0,20}://(?P<secret>[^\s/:@\"'\\]{0,256}:[^\s/@\"'\\]{1,1024})@", re.I
        ),
    ),
    ("AWS access key", re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])")),
    (
        "unseal or recovery key",
        re.compile(
            r"(?:unseal|recovery|root)[ _-]?(?:key|share|token)s?(?:[ _-]?(?:share|\d{1,3}))?"
            r"\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?(?P<secret>[A-Za-z0-9+/=]{32,4096})",
            re.I,
        ),
    ),
    (
        "authorization header",
        re.compile(r"\b(?:bearer|basic)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,65536})", re.I),
    ),
    (
        "signature of a URL",
        re.compile(
            r"[?&](?:sig|X-Amz-Signature|X-Goog-Signature)=(?P<secret>[A-Za-z0-9%+/=]{20,2048})"
        ),
    ),
)
_NAME_PATTERNS: Final[tuple[re.Pattern[str], ...]] = (
    re.compile(
        rf"{_NAME}\\?[\"']?\s{{0,8}}[:=]\s{{0,8}}(?:{_PLAIN}|{_NESTED}|{_SINGLE})", re.I | re.S
    ),
    re.compile(rf"{_NAME}={_BARE}", re.I),
    # A line of YAML, which needs no quotes.
    re.compile(
        rf"^[ \t]{{0,200}}(?:- )?[\w.-]{{0,100}}{_NAME}:[ \t]{{1,8}}"
        r"(?P<bare>[^\s\"'{\[|>&*#\\][^\n]{3,4096})$",
        re.I | re.M,
    ),
    # An environment variable of a container, as JSON and as YAML.
    re.compile(
        rf"\"name\":\s{{0,8}}\"[^\"\\\n]{{0,256}}{_NAME}\",\s{{0,200}}\"value\":\s{{0,8}}{_PLAIN}",
        re.I,
    ),
    re.compile(
        rf"\bname:[ \t]{{0,8}}[\"']?[\w.-]{{0,256}}{_NAME}[\"']?[ \t]{{0,8}}\n[ \t]{{0,200}}"
        r"value:[ \t]{0,8}[\"']?(?P<bare>[^\n\"']{1,4096})",
        re.I,
    ),
)
_NAME_KIND: Final = "value with the name of a secret"
# Values that are not secrets: a boolean, a path, a variable, a digest of an audit device, a mask.
_HARMLESS: Final = re.compile(
    r"\s*(?:true|false|null|none|\[redacted\]|<[a-z -]{1,40}>|\*+|hmac-sha256:[0-9a-f]+"
    r"|(?:/[\w.@-]+){2,}/?|\$\([\w.-]+\)|\$\{[^}]*\}|\$[A-Z_][A-Z0-9_]*|\{\{.*\}\}"
    r"|(?:env|file)://.*)?\s*",
    re.I | re.S,
)
# spec.unseal.pkcs11.runtime.env maps entries of a Secret to variables: there secretKey is the name
# of an entry and not a secret.
_ENTRY_NAME: Final = re.compile(r"\bname\"?:\s{0,8}\"?[\w.-]{1,256}\"?,?\s{1,200}\"?\Z")
_ENTRY_FIELD: Final = "secretkey"
_BEFORE_MAX: Final = 600
"""Maximum characters before a name that are examined."""


@dataclass(frozen=True, slots=True)
class SecretMatch:
    """A probable secret: its line (from 1), its kind, and its first and last offset in a text."""

    line: int
    kind: str
    start: int
    end: int


def find_secrets(text: str) -> tuple[SecretMatch, ...]:
    """Return the probable secrets of a text in their order; overlapping ones are merged."""
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    merged: list[tuple[str, int, int]] = []
    for kind, start, end in sorted(_spans(text), key=lambda span: (span[1], -span[2])):
        if merged and start < merged[-1][2]:
            first = merged[-1]
            merged[-1] = (first[0], first[1], max(first[2], end))
        else:
            merged.append((kind, start, end))
    return tuple(
        SecretMatch(bisect_right(lines, start), kind, start, end) for kind, start, end in merged
    )


def redact(text: str) -> tuple[str, tuple[SecretMatch, ...]]:
    """Return the text with REDACTED for each secret, and the replaced matches.

    The positions of the matches are those in the original text.
    """
    first = matches = find_secrets(text)
    for _ in range(ROUNDS_MAX):
        if not matches:
            break
        text = _replace_matches(text, matches)
        matches = find_secrets(text)
    return text, first


def _replace_matches(text: str, matches: tuple[SecretMatch, ...]) -> str:
    ends = [0, *(match.end for match in matches)]
    starts = [*(match.start for match in matches), len(text)]
    return REDACTED.join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _spans(text: str) -> Iterator[tuple[str, int, int]]:
    for kind, pattern in _VALUE_PATTERNS:
        for match in pattern.finditer(text):
            group = "secret" if "secret" in pattern.groupindex else 0
            yield kind, *match.span(group)
    for pattern in _NAME_PATTERNS:
        for match in pattern.finditer(text):
            group = match.lastgroup or ""
            if not _HARMLESS.fullmatch(match[group]) and not _is_entry_name(text, match.start()):
                yield _NAME_KIND, *match.span(group)


def _is_entry_name(text: str, start: int) -> bool:
    if text[start : start + len(_ENTRY_FIELD)].casefold() != _ENTRY_FIELD:
        return False
    return _ENTRY_NAME.search(text, max(0, start - _BEFORE_MAX), start) is not None
