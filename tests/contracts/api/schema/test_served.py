"""contracts.api.schema.served: the fields that the CRDs of another release lack and can store."""

import copy
from typing import Any

import pytest

from contracts.api.schema.crd import open_api_schema
from contracts.api.schema.served import ABSENT, missing_paths, served_kinds, storable

OURS = open_api_schema()


def without(path: str) -> dict[str, Any]:
    """Our schema without one field."""
    schema = copy.deepcopy(OURS)
    *steps, last = path.split(".")
    node = schema
    for step in steps:
        node = node["properties"][step.removesuffix("[]")]
        node = node["items"] if step.endswith("[]") else node
    del node["properties"][last]
    return schema


def change_schema(path: str, **values: Any) -> dict[str, Any]:
    """Our schema with other keywords at one field."""
    schema = copy.deepcopy(OURS)
    node = schema
    for step in path.split("."):
        node = node["properties"][step]
    node.update(values)
    return schema


def test_an_equal_schema_has_no_missing_fields() -> None:
    assert [*missing_paths(OURS, copy.deepcopy(OURS))] == []


@pytest.mark.parametrize(
    "path", ["status.tlsSecrets", "spec.maintenance", "spec.network.egressRules[].ports"]
)
def test_a_missing_field_is_named_without_its_children(path: str) -> None:
    assert [*missing_paths(OURS, without(path))] == [path]
    assert [*missing_paths(without(path), OURS)] == []


def test_a_missing_enum_value_is_named() -> None:
    phases = [phase for phase in OURS["properties"]["status"]["properties"]["phase"]["enum"]]
    phases.remove("Upgrading")
    assert [*missing_paths(OURS, change_schema("status.phase", enum=phases))] == [
        "status.phase=Upgrading"
    ]


def test_a_field_of_another_type_is_missing() -> None:
    assert [*missing_paths(OURS, change_schema("status.phase", type="object"))] == ["status.phase"]


def test_a_free_form_field_has_no_missing_fields() -> None:
    open_part = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = copy.deepcopy(OURS)
    served["properties"]["status"] = open_part
    assert [*missing_paths(OURS, served)] == []


@pytest.mark.parametrize("served", [{}, {"properties": None}, {"properties": {"status": "x"}}])
def test_an_invalid_schema_has_no_fields(served: dict[str, Any]) -> None:
    assert {*missing_paths(OURS, served)} == {"spec", "status"}


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "phase": {"type": "string", "enum": ["New", "Old"]},
        "count": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "items": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    },
}
# sentence: (value, what of it can be stored)
ROWS: dict[str, tuple[Any, Any]] = {
    "all of it": ({"name": "x", "phase": "New"}, {"name": "x", "phase": "New"}),
    "a field of ours": ({"name": "x", "more": 1}, {"name": "x"}),
    "a value of ours": ({"name": "x", "phase": "Newest"}, {"name": "x"}),
    "another type": ({"name": "x", "count": "1", "labels": 1}, {"name": "x"}),
    "a bool is no number": ({"name": "x", "count": True}, {"name": "x"}),
    "a map": ({"name": "x", "labels": {"a": "b"}}, {"name": "x", "labels": {"a": "b"}}),
    "free data": ({"name": "x", "free": {"a": [1]}}, {"name": "x", "free": {"a": [1]}}),
    "one of a list": ({"name": "x", "items": ["a", "c"]}, {"name": "x", "items": ["a"]}),
    "without what is required": ({"phase": "New"}, ABSENT),
    "no object at all": ("x", ABSENT),
}


@pytest.mark.parametrize(("value", "remaining"), ROWS.values(), ids=ROWS)
def test_storable_keeps_the_fields_of_the_schema(value: Any, remaining: Any) -> None:
    assert storable(value, SCHEMA) == remaining


def test_kinds_are_found_by_their_gvk_extension() -> None:
    mark = {"group": "openbao.org", "version": "v1alpha1", "kind": "OpenBaoCluster"}
    ours = {"x-kubernetes-group-version-kind": [mark]}
    other = {"x-kubernetes-group-version-kind": [{**mark, "group": "example.com"}]}
    document = {"components": {"schemas": {"a": ours, "b": other, "c": {}, "d": 1}}}
    assert served_kinds(document) == {"OpenBaoCluster": ours}


@pytest.mark.parametrize("document", [None, [], {"components": 1}, {"components": {"schemas": []}}])
def test_an_invalid_document_has_no_kinds(document: Any) -> None:
    assert served_kinds(document) == {}
