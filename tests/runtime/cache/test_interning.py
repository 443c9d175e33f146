"""runtime.cache.interning: equal parts share one object, different ones never do."""

from collections.abc import Callable
from typing import Any

import pytest

from runtime.cache.interning import sharing
from runtime.limits.nesting import shallow
from runtime.types import Object


def obj(spec: Any, **more: Any) -> Object:
    return {"metadata": {"name": "a"}, "spec": spec, **more}


def text(value: str) -> str:
    """A new object for each call, as the decoder creates them."""
    return value.encode().decode()


def test_equal_specs_are_shared() -> None:
    share = sharing()
    first, second = (share(obj({"a": [{"b": "c" * 300}], "n": 1})) for _ in range(2))
    assert first == second == obj({"a": [{"b": "c" * 300}], "n": 1})
    assert first["spec"] is second["spec"]
    assert first["metadata"] is not second["metadata"]


def test_equal_parts_of_different_specs_are_shared() -> None:
    share = sharing()
    first = share(obj({"name": "x", "labels": {"a": "b"}}))
    second = share(obj({"name": "y", "labels": {"a": "b"}}))
    assert first["spec"]["name"] == "x"
    assert second["spec"]["name"] == "y"
    assert first["spec"]["labels"] is second["spec"]["labels"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 0}, {"a": False}),
        ({"a": None}, {}),
        ({"a": ""}, {"a": None}),
        ({"a": []}, {"a": {}}),
        ([["a"], []], [["a", []]]),
        ({"a": "b"}, {"b": "a"}),
        (["a", "b"], ["b", "a"]),
    ],
)
def test_values_of_different_types_are_not_shared(one: Any, other: Any) -> None:
    share = sharing()
    first, second = share(obj(one)), share(obj(other))
    assert repr(first["spec"]) == repr(one)
    assert repr(second["spec"]) == repr(other)


def test_all_fields_are_shared_and_of_the_metadata_those_with_parts() -> None:
    share = sharing()
    first, second = (
        share(
            {
                "kind": text("Widget"),
                "metadata": {"name": text("one"), "labels": {"a": text("b")}, "finalizers": ["x"]},
                "data": {"n": 1000},
            }
        )
        for _ in range(2)
    )
    assert first == second
    assert first["kind"] is second["kind"]
    assert first["data"] is second["data"]
    metadata, other = first["metadata"], second["metadata"]
    assert metadata is not other
    assert metadata["labels"] is other["labels"]
    assert metadata["finalizers"] is other["finalizers"]
    assert metadata["name"] is not other["name"]


def test_metadata_may_be_missing() -> None:
    share = sharing()
    assert share({"spec": {}}) == {"spec": {}}
    assert share({"metadata": None}) == {"metadata": None}


# Each object has another value of `content`, and the same value of `equal`.
CONTENTS: dict[str, Callable[[int], Any]] = {
    "texts": lambda number: [f"{number} {item}" for item in range(50)],
    "long texts": lambda number: f"{number} {'x' * 10_000}",
    "integers": lambda number: [number * 1000 + item for item in range(50)],
    "long lists of equal members": lambda number: ["x"] * (number + 400),
    "maps with equal members": lambda number: {f"{number} {item}": "x" for item in range(50)},
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_the_pool_is_bounded_and_shared_values_stay(content: Callable[[int], Any]) -> None:
    share = sharing(50_000)
    shares = [
        share(obj({"content": content(number), "equal": {"a": "b"}})) for number in range(100)
    ]
    assert [item["spec"]["content"] for item in shares] == [*map(content, range(100))]
    assert all(item["spec"]["equal"] == {"a": "b"} for item in shares)
    assert 2 <= len({id(item["spec"]["equal"]) for item in shares}) <= 25


def test_sharing_twice_changes_nothing() -> None:
    share = sharing()
    first = share(obj({"a": [1, {"b": "c"}]}))
    spec = first["spec"]
    assert share(first)["spec"] is spec


def test_values_nested_too_deep_are_cut() -> None:
    deep: Any = "end"
    for _ in range(150):
        deep = {"a": deep}
    assert sharing()(obj(deep))["spec"] == shallow(deep)
