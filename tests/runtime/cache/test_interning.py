"""runtime.cache.interning: equal parts share one object, different ones never do."""

from typing import Any

import pytest

from runtime.cache.interning import sharing
from runtime.limits.nesting import shallow
from runtime.types import Object


def obj(spec: Any, **more: Any) -> Object:
    return {"metadata": {"name": "a"}, "spec": spec, **more}


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


def test_only_the_named_fields_are_shared() -> None:
    share = sharing(("spec", "status"))
    first, second = (share(obj({"a": "b"}, status={"n": 1}, data={"k": "v"})) for _ in range(2))
    assert first["status"] is second["status"]
    assert first["data"] is not second["data"]
    assert share({"metadata": {}}) == {"metadata": {}}


def test_the_pool_is_bounded_and_shared_values_stay() -> None:
    share = sharing(remembered=8)
    shares = [share(obj({"n": number, "same": {"a": "b"}})) for number in range(100)]
    assert [item["spec"]["n"] for item in shares] == list(range(100))
    assert all(item["spec"]["same"] == {"a": "b"} for item in shares)
    assert len({id(item["spec"]["same"]) for item in shares}) < 60


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
