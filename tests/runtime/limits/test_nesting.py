"""Values that are nested too deep are cut, wherever they are read."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cache.selection import Selection
from runtime.client import codec
from runtime.client.codec import PageReader, decode_event, decode_object
from runtime.limits.nesting import (
    LEVELS_MAX,
    VALUES_MAX,
    UnreadableError,
    read_json,
    shallow,
    shallow_text,
    too_deep,
    too_many,
)
from runtime.types import Resource

THINGS = Resource("example.com", "v1", "things", "Thing")
DEPTHS = [150, 300, 1100, 9000]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


def _nested_text(depth: int, opening: str = '{"a":', closing: str = "}") -> str:
    return opening * depth + '"x"' + closing * depth


def _thing(name: str, data: str = '"plain"') -> str:
    metadata = json.dumps({"name": name, "namespace": "ns", "resourceVersion": "1"})
    return f'{{"kind": "Thing", "metadata": {metadata}, "spec": {data}, "z": [1]}}'


def _deepest(value: Any) -> int:
    depth = 0
    while isinstance(value, dict | list) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
        depth += 1
    return depth


@given(JSON, st.integers(1, 4))
def test_text_and_value_are_cut_alike(value: Any, levels: int) -> None:
    text = json.dumps(value, ensure_ascii=False).encode()
    assert json.loads(shallow_text(text, levels)) == shallow(value, levels)


@given(JSON)
def test_shallow_values_are_not_changed(value: Any) -> None:
    assert shallow(value) == value
    assert json.loads(shallow_text(json.dumps(value).encode())) == value
    assert too_deep(value, LEVELS_MAX) is None


@given(st.binary(max_size=60))
def test_any_bytes_are_handled(body: bytes) -> None:
    shallow_text(body, 2)


def test_brackets_in_strings_are_ignored() -> None:
    text = rb'{"a": "[[[[\"{{{{", "b": [1]}'
    assert shallow_text(text, 2) == text


def test_the_path_of_a_value_that_is_too_deep() -> None:
    assert too_deep({"a": [{"b": {"c": 1}}]}, 3) == ".a[0].b"
    assert too_deep({"a": [{"b": 1}]}, 3) is None


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ("[", "]")])
def test_an_object_is_read_at_any_depth(depth: int, opening: str, closing: str) -> None:
    body = _thing("deep", _nested_text(depth, opening, closing)).encode()
    obj = decode_object(body)
    assert (obj["metadata"]["name"], obj["z"]) == ("deep", [1])
    kind, same = decode_event(b'{"type": "ADDED", "object": %s}' % body, THINGS)
    assert (kind, same["metadata"]) == ("ADDED", obj["metadata"])


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("whole", [True, False])
def test_attack_t10_one_deep_object_does_not_hide_the_others(
    depth: int, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not whole:
        monkeypatch.setattr(codec, "WHOLE_BYTES", 0)
    things = [
        _thing("a"),
        _thing("deep", _nested_text(depth)),
        _thing("b"),
        _thing("c", _nested_text(depth)),
    ]
    items = ",".join(things)
    body = f'{{"kind": "ThingList", "items": [{items}], "metadata": {{"resourceVersion": "7"}}}}'
    reader = PageReader(body.encode(), THINGS)
    read = [item for piece in reader for item in piece]
    assert [item["metadata"]["name"] for item in read] == ["a", "deep", "b", "c"]
    assert [item["z"] for item in read] == [[1]] * 4
    assert reader.resource_version == "7"


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_response_to_a_write_is_stored_at_any_depth(depth: int) -> None:
    obj: Any = "x"
    for _ in range(depth):
        obj = {"a": obj}
    thing = {"kind": "Thing", "metadata": {"name": "deep"}, "spec": obj}
    copy = Selection(THINGS).shape(thing)
    assert copy["metadata"] == {"name": "deep"}
    assert _deepest(copy["spec"]) <= max(LEVELS_MAX, 254)


@given(JSON)
def test_values_are_counted(value: Any) -> None:
    def count(part: Any) -> int:
        inner = part.values() if isinstance(part, dict) else part
        return 1 + sum(map(count, inner)) if isinstance(part, dict | list) else 1

    assert not too_many(value, count(value))
    assert too_many(value, count(value) - 1)


def test_cut_values_can_be_encoded() -> None:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    assert orjson.dumps(shallow(value)).startswith(b"[[[")


def test_attack_t10_a_text_that_is_cut_off_is_passed_over_once() -> None:
    """A watch that ends within a line of escaped quotes, none of which starts a string.

    With one scan per quote this takes quadratic time, which is an hour here.
    """
    torn = b'{"a": [[["' + b'\\"' * 300_000
    assert shallow_text(torn, 2) == b'{"a": [null'


@given(JSON)
def test_json_within_its_limits_is_decoded(value: Any) -> None:
    assert read_json(json.dumps(value).encode()) == value
    assert read_json(json.dumps(value).encode(), decode=json.loads) == value


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "one level more": (b"[" * 101 + b"]" * 101, "nested deeper than 100 levels"),
    "more levels than orjson has": (b"[" * 5000 + b"]" * 5000, "nested deeper than 100 levels"),
    "one value more": (b"[" + b"1," * VALUES_MAX + b"1]", f"more than {VALUES_MAX} values"),
    "empty lists": (b"[" + b"[]," * VALUES_MAX + b"[]]", f"more than {VALUES_MAX} values"),
    "empty objects": (b"[" + b"{}," * VALUES_MAX + b"{}]", f"more than {VALUES_MAX} values"),
    "a truncated text": (b'{"a', "no JSON"),
    "nothing": (b"", "no JSON"),
    "no text": (b"\xff", "no JSON"),
}


@pytest.mark.parametrize("decode", [orjson.loads, json.loads])
@pytest.mark.parametrize(("text", "message"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_json_beyond_its_limits_is_rejected(text: bytes, message: str, decode: Any) -> None:
    with pytest.raises(UnreadableError, match=message):
        read_json(text, decode=decode)


def test_json_at_its_limits_is_decoded() -> None:
    assert read_json(b"[" * 100 + b"]" * 100) is not None
    assert len(read_json(b"[" + b"1," * (VALUES_MAX - 2) + b"1]")) == VALUES_MAX - 1
