"""runtime.client.codec.

Valid events, the kind of partial objects, bodies that are parsed as YAML.
"""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.builtin_kinds import CONFIG_MAP
from runtime.client import codec
from runtime.client.codec import (
    PIECE_BYTES,
    PIECE_ITEMS,
    PageReader,
    decode_event,
    encode,
    encode_apply,
)
from runtime.errors import TransportError
from runtime.testing.scripted import event


@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b'{"type":"ADDED"}\n',
        b'{"type":1,"object":{}}\n',
        b'{"type":"ADDED","object":[]}\n',
        b"[]\n",
        b'{"type":"ADDED","object":{"a":"\xff"}}\n',
    ],
)
def test_a_line_that_is_no_event_is_an_error(line: bytes) -> None:
    with pytest.raises(TransportError, match="not an event"):
        decode_event(line, CONFIG_MAP)


def test_a_status_stays_a_status() -> None:
    kind, obj = decode_event(event("ERROR", {"kind": "Status", "code": 410}), CONFIG_MAP)
    assert (kind, obj["kind"]) == ("ERROR", "Status")


ALLOWED_IN_YAML = "\t\n\r\xa0\u2027\u202a\ufefe\uff00\U0001f600\U0010ffff"


@pytest.mark.parametrize("char", "\x7f\x80\x85\x9f\u2028\u2029\ufeff\ufffe\uffff")
def test_characters_that_yaml_changes_or_rejects_are_escaped(char: str) -> None:
    body = {"a": f"x{char}y"}
    assert encode_apply(body) == b'{"a":"x\\u%04xy"}' % ord(char)


def test_other_characters_are_not_escaped() -> None:
    body = {"a": ALLOWED_IN_YAML}
    assert encode_apply(body) == encode(body)


@given(st.text())
def test_an_apply_body_is_the_same_json(text: str) -> None:
    body = {"a": {text: [text]}}
    assert orjson.loads(encode_apply(body)) == body


def page(*items: object, **members: object) -> dict[str, Any]:
    metadata = {"resourceVersion": "9", "continue": "next"}
    return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items} | members


def parse_list(body: bytes) -> tuple[list[dict[str, Any]], str, str]:
    reader = PageReader(body, CONFIG_MAP)
    items = [item for piece in reader for item in piece]
    return items, reader.resource_version, reader.token


@pytest.fixture(params=["whole", "scanned"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Decode small pages as large ones too."""
    if request.param == "scanned":
        monkeypatch.setattr(codec, "WHOLE_BYTES", 0)
    return str(request.param)


LAYOUTS = {
    "as Go writes it": lambda body: orjson.dumps(body),
    "sorted": lambda body: orjson.dumps(body, option=orjson.OPT_SORT_KEYS),
    "for people": lambda body: json.dumps(body, indent="\t").replace(":", " :\r\n").encode(),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_page_is_read_whatever_its_layout(layout: Any, way: str) -> None:
    items = [{"metadata": {"name": n}, "data": {"a": ['x "]},{', 1, None]}} for n in ("a", "\xe9")]
    named = [{**item, "apiVersion": "v1", "kind": "ConfigMap"} for item in items]
    assert parse_list(layout(page(*items))) == (named, "9", "next")
    assert parse_list(layout(page(items=None, metadata={}))) == ([], "", "")
    assert parse_list(layout(page(items=[], metadata=None))) == ([], "", "")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"kind":"ConfigMap"}',
        b'{"kind":"List","items":{}}',
        b'{"kind":"Odd","items":null}',
        b'{"kind":"List","items":[{}',
        b'{"kind":"List","items":[{}]',
        b'{"kind":"List","items":[{"a":"\xff"}]}',
    ],
)
def test_an_invalid_page_is_an_error(body: bytes, way: str) -> None:
    with pytest.raises(TransportError, match="the answer is not"):
        parse_list(body)


def test_t31_a_page_is_returned_in_pieces(way: str) -> None:
    items = [{"data": "x" * 100} for _ in range(3 * PIECE_BYTES // 100)]
    pieces = list(PageReader(orjson.dumps(page(*items)), CONFIG_MAP))
    assert len(pieces) == (-(-len(items) // PIECE_ITEMS) if way == "whole" else 4)
    assert sum(map(len, pieces)) == len(items)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=6,
)


@settings(max_examples=40)
@given(st.lists(st.dictionaries(st.text(), json_values, max_size=3), max_size=3))
def test_both_ways_read_the_same(items: list[dict[str, Any]]) -> None:
    body = orjson.dumps(page(*items))
    whole = parse_list(body)
    reader = PageReader(body, CONFIG_MAP)
    scanned = [item for piece in reader._scan() for item in piece]
    assert (scanned, reader.resource_version, reader.token) == whole
