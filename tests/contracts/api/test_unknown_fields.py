"""Unknown fields of a manifest: the models have the fields of the schema; each is named."""

from typing import Any

import pytest
from pydantic import BaseModel

from contracts.api.cluster.spec import ClusterSpec
from contracts.api.cluster.status import ClusterStatus
from contracts.api.schema.crd import Schema, open_api_schema
from contracts.api.unknown_fields import fields_of, unknown_fields

PARTS = open_api_schema()["properties"]


def differences(model: type[BaseModel], schema: Schema, path: str) -> list[str]:
    """The paths at which the fields of a model are not those of a schema."""
    fields, properties = fields_of(model), schema.get("properties", {})
    found = [path] if set(fields) != set(properties) else []
    for name in sorted(set(fields) & set(properties)):
        part, inner = fields[name], properties[name].get("items", properties[name])
        if part is not None:
            found += differences(part, inner, f"{path}.{name}")
        elif "properties" in inner:
            found.append(f"{path}.{name}")
    return found


@pytest.mark.parametrize(("part", "model"), [("spec", ClusterSpec), ("status", ClusterStatus)])
def test_the_models_have_the_fields_of_the_schema(part: str, model: type[BaseModel]) -> None:
    assert differences(model, PARTS[part], part) == []


def test_a_difference_is_reported() -> None:
    backup = {"properties": {**PARTS["spec"]["properties"]["backup"]["properties"], "x": {}}}
    schema = {"properties": {**PARTS["spec"]["properties"], "backup": backup, "image": backup}}
    assert differences(ClusterSpec, schema, "spec") == ["spec.backup", "spec.image"]


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({"replicas": 3, "selfInit": {"requests": [{"name": "a", "data": {"x": 1}}]}}, []),
        ({"replica": 3, "read_replicas": {}}, ["spec.replica", "spec.read_replicas"]),
        (
            {"selfInit": {"requests": [{"name": "a"}, {"nam": "b"}], "on": True}},
            ["spec.selfInit.requests[1].nam", "spec.selfInit.on"],
        ),
        ({"tls": None, "network": []}, []),
        (None, []),
        ("text", []),
    ],
)
def test_each_unknown_field_is_named(spec: Any, paths: list[str]) -> None:
    assert list(unknown_fields(spec, ClusterSpec, "spec")) == paths


def test_a_field_of_the_root_has_no_dot() -> None:
    assert list(unknown_fields({"replica": 3}, ClusterSpec)) == ["replica"]
