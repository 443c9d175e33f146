"""Any value survives quoting and parsing."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.hcl_quote import DEPTH_MAX, UnwritableError, literal, problem, quote
from tests.contracts.hcl.hcl1 import scan, unquote
from tests.contracts.hcl.nasty import NASTY
from tests.contracts.hcl.parse_back import parse
from tests.contracts.hcl_texts import TEXT, VALUE


@given(TEXT)
def test_the_server_reads_back_the_same_text(text: str) -> None:
    token, rest = scan(quote(text) + ' } "')
    assert rest == ' } "'
    assert unquote(token) == text


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text[:20]))
def test_hostile_text_stays_text(text: str) -> None:
    token, rest = scan(quote(text) + "\nnext = 1")
    assert (unquote(token), rest) == (text, "\nnext = 1")
    assert parse(f"a = {quote(text)}\nb = 1\n") == {"a": text, "b": 1}


@given(TEXT)
def test_a_literal_is_one_line_of_plain_ascii(text: str) -> None:
    written = quote(text)
    assert written.isascii()
    assert written.isprintable()
    assert "${" not in written
    assert "%{" not in written


@settings(max_examples=60, deadline=None)
@given(VALUE)
def test_an_independent_parser_reads_the_value_back(value: Any) -> None:
    assert parse(f"a = {literal(value)}\n") == {"a": value}


def test_ordinary_text_stays_readable() -> None:
    assert quote("https://c-0.c.ns.svc:8200") == '"https://c-0.c.ns.svc:8200"'
    assert quote('path "x" {\n}') == r'"path \"x\" {\n}"'
    assert quote("100% of 5$") == '"100% of 5$"'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-1, "-1"),
        (2**53, "9007199254740992"),
        (2**53 + 1, '"9007199254740993"'),
        (1.5, "1.5"),
        ([], "[]"),
        ({}, "{}"),
        ({"a": None}, "{}"),
        ([None, 1], "[\n  1,\n]"),
        ({"b": 1, "a": {"c": "d"}}, '{\n  "a" = {\n    "c" = "d"\n  }\n  "b" = 1\n}'),
    ],
)
def test_how_a_value_is_written(value: Any, text: str) -> None:
    assert literal(value) == text


def test_nested_lines_are_indented_from_where_the_value_starts() -> None:
    assert literal({"a": [1]}, 4) == '{\n      "a" = [\n        1,\n      ]\n    }'


@pytest.mark.parametrize(
    "value",
    ["\x00", "a\x00b", "\ud800", {"\udfff": 1}, [float("nan")], float("inf"), b"x", object()],
)
def test_an_unwritable_value_is_refused(value: Any) -> None:
    with pytest.raises(UnwritableError):
        literal(value)


@given(
    st.recursive(
        st.text("a\x00\ud800") | st.floats() | st.none() | st.binary(max_size=1) | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text("a\x00"), inner),
        max_leaves=4,
    ).filter(lambda value: value is not None)
)
def test_the_check_and_the_writer_agree(value: Any) -> None:
    try:
        literal(value)
        refusal = ""
    except UnwritableError as error:
        refusal = str(error)
    assert bool(problem(value)) == bool(refusal)


def test_nesting_is_limited() -> None:
    value: Any = 1
    for _ in range(DEPTH_MAX - 1):
        value = [value]
    assert literal(value)
    assert problem(value) == ""
    assert "nested" in problem([value])
    with pytest.raises(UnwritableError, match="nested"):
        literal([value])
