"""contracts.api.values.identity_pattern: a pattern matches no more than it does in Go."""

import pytest

from contracts.api.values.identity_pattern import IdentityPattern

REFUSED = {
    "a difference of sets": r"[^a-z--c]",
    "sets that meet": r"[^a&&b]",
    "sets that differ": r"[a~~b]",
    "a set within a set": r"[[^a]b]",
    "a set within the complement of one": r"[^[a]]",
    "the begin of a word": r"\<evil",
    "the end of a word": r"good\>",
    "another end of a word": r"good\b{end}",
    "free spacing": r"(?x) a  # b",
    "free spacing among others": r"(?ix:a)",
    "line ends of another system": r"(?R).",
    "no lower bound": r"a{,5}",
    "an anchor that Go lacks": r"a\Z",
    "a reference": r"(a)\1",
}
TAKEN = {
    r"^https://git\.example\.com/[^/]+/release\.yml@refs/tags/v[0-9.]+$": (
        "https://git.example.com/x/release.yml@refs/tags/v2.4.0"
    ),
    r"[[:alpha:]]+": "a",
    r"[^[:alpha:]]": "1",
    r"[]a]": "]",
    r"[^]a]": "b",
    r"[\[&]x--y": "[x--y",
    r"(?i)EXAMPLE": "example",
    r"(?P<name>a|b)": "b",
    r"\d{3}\.[a-f-]": "123.-",
    r"release": "before release after",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_patterns_with_another_meaning_in_go_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="RE2"):
        IdentityPattern(text)


@pytest.mark.parametrize(("text", "identity"), TAKEN.items())
def test_patterns_of_re2_are_accepted(text: str, identity: str) -> None:
    assert IdentityPattern(text).found_in(identity)
    assert not IdentityPattern(text).found_in("a" if text.startswith("[^") else "?")


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        (r"^\d$", "\u0663"),
        (r"^\w$", "\u00e4"),
        (r"(?i)^k$", "\u212a"),
        (r".", "a\u00e4"),
        (r"^good$", "good\nevil"),
        (r"^good$", "good\n"),
    ],
)
def test_unicode_letters_and_line_ends_match_as_in_go(text: str, identity: str) -> None:
    assert not IdentityPattern(text).found_in(identity)
