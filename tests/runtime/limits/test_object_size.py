"""runtime.limits.object_size and runtime.limits.json_scan.

The rest of an object that is too large.
"""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.selection import Selection
from runtime.client.codec import PageReader, decode_event
from runtime.client.listing import PAGE_BYTES, ListOptions
from runtime.limits.json_scan import Skimmer, at_most, marks
from runtime.limits.nesting import LEVELS_MAX, too_many
from runtime.limits.object_size import (
    LISTED_MAX,
    MARK,
    NOTES_COUNT,
    NOTES_MAX,
    Bounds,
    bound_members,
    oversize_of,
    read_object,
    trim_metadata,
)
from runtime.testing.scripted import listing
from tests.runtime.serving import config_map, run_scripted_server

SMALL = Bounds(size=200, values=20)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


@settings(max_examples=60)
@given(st.dictionaries(st.text(), JSON, max_size=4), st.booleans())
def test_a_skimmer_finds_each_member(value: dict[str, Any], spaced: bool) -> None:
    text = (json.dumps(value, indent=1) if spaced else json.dumps(value)).encode()
    skimmer = Skimmer(text)
    assert {name: orjson.loads(skimmer.text()) for name in skimmer.members()} == value
    assert skimmer.at == len(text)


@given(JSON)
def test_marks_bound_the_number_of_values(value: Any) -> None:
    text = orjson.dumps(value)
    count = marks(text)
    assert at_most(text, count)
    assert not too_many(value, count + 1)
    assert count == 0 or too_many(value, (count - 1) // 2)


@pytest.mark.parametrize("depth", [LEVELS_MAX, LEVELS_MAX + 5, 5000])
def test_a_skimmer_skips_any_depth(depth: int) -> None:
    skimmer = Skimmer(b'{"a":' + b'[{"b":' * depth + b'"]"' + b"}]" * depth + b',"c":1}')
    assert [(name, len(skimmer.text()) > 1) for name in skimmer.members()] == [
        ("a", True),
        ("c", False),
    ]


@pytest.mark.parametrize(
    "text", [b"", b"[", b'{"a"', b'{"a":', b'{"a":[1', b'{"a":"x', b"{1:2}", b"{:1}"]
)
def test_invalid_json_is_rejected(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any of them
        read_object(Skimmer(text))


LARGE: dict[str, tuple[Any, str]] = {
    "bytes": ({"a": "x" * 300}, "308 bytes (at most 200)"),
    "values": ({"a": [{}] * 21}, "too many values (at most 20)"),
    "very many values": ({"a": [1] * 80}, "too many values (at most 20)"),
    "a text": ("x" * 300, "302 bytes (at most 200)"),
}


@pytest.mark.parametrize(("spec", "why"), LARGE.values(), ids=LARGE)
def test_a_member_beyond_the_bounds_is_omitted_and_named(spec: Any, why: str) -> None:
    thing = {"kind": "Thing", "metadata": {"name": "a"}, "spec": spec, "status": {"phase": "Up"}}
    read = read_object(Skimmer(orjson.dumps(thing)), SMALL)
    kept = bound_members(read, SMALL)
    assert set(kept) == {"kind", "metadata", "status", MARK}
    assert (kept["metadata"], kept["status"]) == (thing["metadata"], thing["status"])
    large = oversize_of(kept)
    assert large is not None
    assert (large.member, large.why) == ("spec", why)
    # A second pass changes nothing, and a copy has the marker too.
    assert oversize_of(Selection(CONFIG_MAP, bounds=SMALL).shape(kept)) == large


def test_an_object_within_the_bounds_is_not_changed() -> None:
    thing = {"kind": "Thing", "metadata": {"name": "a"}, "spec": {"a": [1] * 15, "b": "," * 90}}
    assert bound_members(read_object(Skimmer(orjson.dumps(thing)), SMALL), SMALL) == thing
    assert oversize_of(thing) is None


def test_commas_in_strings_are_not_values() -> None:
    thing = {"metadata": {}, "spec": {"policy": '[{,"' * 5000}}
    _, read = decode_event(orjson.dumps({"type": "ADDED", "object": thing}), CONFIG_MAP)
    assert read == thing


def test_metadata_keeps_what_readers_need() -> None:
    ours = {"app.kubernetes.io/managed-by": "openbao-operator"}
    short = {"openbao.org/pause": "true"}
    # Together they have exactly the permitted size.
    rest = NOTES_MAX["annotations"] - sum(map(len, (*short, *short.values(), "rest")))
    fitting = {**short, "rest": "x" * rest}
    metadata = {
        "name": "a",
        "uid": "u",
        "labels": {**{f"l-{n}": "x" * 60 for n in range(500)}, **ours},
        "annotations": {
            "note": "x" * 260_000,
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            **fitting,
        },
        "finalizers": [f"a.example.com/{n}" for n in range(1000)],
        "managedFields": [{}],
    }
    kept = trim_metadata({"metadata": metadata})["metadata"]
    assert (kept["name"], kept["uid"]) == ("a", "u")
    assert kept["annotations"] == fitting
    assert ours.items() <= kept["labels"].items()
    assert len(kept["labels"]) <= NOTES_COUNT
    assert sum(map(len, kept["labels"].values())) < NOTES_MAX["labels"]
    assert kept["finalizers"] == [f"a.example.com/{n}" for n in range(LISTED_MAX)]
    assert "managedFields" not in kept


async def test_a_page_that_is_too_large_is_read_in_smaller_ones() -> None:
    items = [config_map(f"n{number}", blob="x" * 100) for number in range(3)]
    large = [config_map("large", blob="x" * PAGE_BYTES)]
    script = (listing(large), listing(items[:2], token="t"), listing(items[2:]))
    async with run_scripted_server(*script) as (server, client):
        answer = await client.list(CONFIG_MAP, options=ListOptions(limit=8))
    assert [item["metadata"]["name"] for item in answer.items] == ["n0", "n1", "n2"]
    assert [request.query.get("limit") for request in server.requests] == ["8", "2", "2"]


def test_a_large_page_is_not_decoded_whole() -> None:
    thing: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {"list": [{}] * 400_000}}
    body = orjson.dumps({"kind": "ThingList", "metadata": {}, "items": [thing, {"metadata": {}}]})
    pieces = list(PageReader(body, CONFIG_MAP))
    assert [len(piece) for piece in pieces] == [1, 1]
    large = oversize_of(pieces[0][0])
    assert large is not None
    assert large.member == "spec"
