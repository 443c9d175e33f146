"""baoctl.yaml_text: accepted text, and text that is refused before it is expanded."""

from typing import Any

import pytest

from baoctl.yaml_text import DEPTH_MAX, TEXT_MAX, VALUES_MAX, TextError, read_documents
from tests.baoctl.yaml_bomb import billion_laughs

# sentence: (text, documents)
READ: dict[str, tuple[str | bytes, list[Any]]] = {
    "nothing": ("", []),
    "two documents": ("a: 1\n---\nb: [x]\n", [{"a": 1}, {"b": ["x"]}]),
    "JSON": ('{"a": null}', [{"a": None}]),
    "bytes": (b"a: \xc3\xa9", [{"a": "é"}]),
    "an alias": ("a: &x {b: 1}\nc: *x", [{"a": {"b": 1}, "c": {"b": 1}}]),
    "a merge": ("a: &x {b: 1}\nc: {<<: *x, d: 2}", [{"a": {"b": 1}, "c": {"b": 1, "d": 2}}]),
    "a merge with a key that exists": (
        "a: &x {b: 1}\nc: {<<: *x, b: 2}", [{"a": {"b": 1}, "c": {"b": 2}}],
    ),
    "two merges": ("a: &x {b: 1}\nc: {<<: *x, <<: *x}", [{"a": {"b": 1}, "c": {"b": 1}}]),
    "a number and its text": ("1: a\n'1': b", [{1: "a", "1": "b"}]),
    "a name that is reused in another document": (
        "a: &x [1]\n---\na: &x [2]\nb: *x", [{"a": [1]}, {"a": [2], "b": [2]}],
    ),
    "a time, which is a string for the API server": (
        "at: 2026-01-02T03:04:05Z\nday: 2026-13-45",
        [{"at": "2026-01-02T03:04:05Z", "day": "2026-13-45"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "documents"), READ.values(), ids=READ.keys())
def test_valid_text_is_parsed(text: str | bytes, documents: list[Any]) -> None:
    assert read_documents(text) == documents


# sentence: (text, part of the error)
REFUSED: dict[str, tuple[str | bytes, str]] = {
    "no UTF-8": (b"a: \xff\xfe", "it is not UTF-8: see byte 3"),
    "control characters": ("a: \x00", "it is not YAML: unacceptable character #x0000"),
    "a key twice": ("a: 1\nb: {c: 1}\na: 2", "it has the key 'a' twice: line 3, column 1"),
    "a key of a list twice": ("- a: 1\n  a: 1", "it has the key 'a' twice: line 2, column 3"),
    "an open bracket": ("a: [", "it is not YAML: expected the node content"),
    "a tab": ("a:\n\t- b", "it is not YAML: found character '\\t' that cannot start"),
    "an unknown tag": ("!!python/object:os.x y", "it is not YAML: could not determine"),
    "an undefined alias": ("a: *b", "it is not YAML: found undefined alias"),
    "a key that is not a string": ("{a: b}: c\n? [x]\n: y", "it is not YAML: found unhashable key"),
    "an invalid number": ("a: !!int x", "a value does not match its tag"),
    "an invalid time": ("a: !!timestamp x", "a value does not match its tag"),
    "invalid base64 data": ("a: !!binary é", "it is not YAML: failed to convert base64 data"),
    "a number of five thousand digits": (f"a: {'9' * 5000}", "a value does not match its tag"),
    "itself": ("a: &a [*a]", "it contains itself: line 1, column 8"),
    "a nested cycle": ("&a\nb: {c: [{d: *a}]}", "it contains itself: line 2"),
    "a billion values": (billion_laughs(9), f"it has more than {VALUES_MAX} values: line "),
    "a billion values by merging": (
        billion_laughs(9, "{<<: [%s]}"), f"it has more than {VALUES_MAX} values: line ",
    ),
    "too many levels of lists": ("[" * 5000, f"it is deeper than {DEPTH_MAX} levels: line 1"),
    "too many levels of mappings": (
        "\n".join(" " * at + "a:" for at in range(DEPTH_MAX + 2)), "it is deeper than",
    ),
    "too many levels by aliases": (
        "a: &a " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*a" + "]" * 60, "it is deeper than",
    ),
    "a large text": ("#" * (TEXT_MAX + 1), "it is larger than 16 MiB"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_invalid_text_is_refused_in_one_line(text: str | bytes, words: str) -> None:
    with pytest.raises(TextError) as refused:
        read_documents(text)
    assert str(refused.value).startswith(words)
    assert "\n" not in str(refused.value)


def test_text_at_the_depth_limit_is_parsed() -> None:
    assert read_documents("[" * DEPTH_MAX + "]" * DEPTH_MAX)
