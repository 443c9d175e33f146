"""Writes values as HCL, so that the server reads back exactly the same value.

Uses the standard library. Called by contracts.hcl.environment for every value of a template, and by
contracts.api.rules, which checks whether HCL can represent a value.

The server parses HCL 1 (hashicorp/hcl v1). Four of its properties matter here:
- inside of a string, `${` starts a scan for the matching brace that ignores quotes, so the dollar
  of a literal `${` is escaped (and the percent of `%{`, which HCL 2 treats in the same way);
- it refuses some raw characters (NUL, U+E123), so only printable ASCII is not escaped;
- it has no null, so nulls are omitted; whole numbers beyond 2**53 lose digits, so they are written
  as strings;
- an object becomes a list of objects, which self-init folds back into an object, except below a
  list: there it would reach the API as a list.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

DEPTH_MAX = 16
_TOO_DEEP = f"nested deeper than {DEPTH_MAX} levels"
# The server stores numbers as floats; a larger number would lose digits.
_INT_MAX = 2**53

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "\\": r"\\"}
_UNSAFE = re.compile(r'[^ -~]|["\\]|\$(?=\{)|%(?=\{)')
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


class UnwritableError(ValueError):
    """HCL 1 cannot represent a value; the message contains the reason."""


def quote(text: str) -> str:
    """Return the text as a string literal with quotes; raises UnwritableError."""
    refusal = problem(text)
    if refusal:
        raise UnwritableError(refusal)
    return f'"{_UNSAFE.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    short = _SHORT.get(char)
    if short:
        return short
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def literal(value: Any, indent: int = 0) -> str:
    """Return a JSON value as an HCL expression: sorted keys, no nulls, indented nested parts.

    `indent` is the number of spaces in front of the line on which the value starts. Raises
    UnwritableError.
    """
    return _literal(value, indent, DEPTH_MAX)


def _literal(value: Any, indent: int, depth: int) -> str:
    if depth == 0:
        raise UnwritableError(_TOO_DEEP)
    if isinstance(value, Mapping):
        parts = [
            f"{quote(key)} = {_literal(item, indent + 2, depth - 1)}" for key, item in _items(value)
        ]
        return _enclose("{", parts, "}", indent, "")
    if isinstance(value, list | tuple):
        parts = [_literal(item, indent + 2, depth - 1) for item in value if item is not None]
        return _enclose("[", parts, "]", indent, ",")
    return _scalar(value)


def problem(value: Any) -> str:
    """Return why `literal` would refuse a value; "" if it would not. Builds no text."""
    return _problem(value, DEPTH_MAX)


def _problem(value: Any, depth: int) -> str:
    if depth == 0:
        return _TOO_DEEP
    if isinstance(value, str):
        bad = _UNWRITABLE.search(value)
        return f"the character U+{ord(bad.group()):04X} cannot be written" if bad else ""
    parts: Iterable[str] = ()
    if isinstance(value, Mapping):
        parts = (
            _problem(key, 1) or _problem(item, depth - 1)
            for key, item in value.items()
            if item is not None
        )
    elif isinstance(value, list | tuple):
        parts = (_problem(item, depth - 1) for item in value if item is not None)
    elif not isinstance(value, bool | int) and not _is_number(value):
        return f"a value of type {type(value).__name__} cannot be written"
    return next(filter(None, parts), "")


def _is_number(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _items(value: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted((key, item) for key, item in value.items() if item is not None)


def _enclose(start: str, parts: list[str], end: str, indent: int, separator: str) -> str:
    if not parts:
        return start + end
    inner = "".join(f"{' ' * (indent + 2)}{part}{separator}\n" for part in parts)
    return f"{start}\n{inner}{' ' * indent}{end}"


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(value) if -_INT_MAX <= value <= _INT_MAX else quote(str(value))
    if _is_number(value):
        return repr(value)
    raise UnwritableError(problem(value))
