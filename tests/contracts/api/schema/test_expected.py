"""contracts.api.schema.expected: the file has what a comparison of the definitions needs."""

import json
from typing import Any

from contracts.api.schema.expected import expected_schemas, expected_text
from contracts.api.schema.served import missing_paths
from contracts.datacenter.definitions import definitions


def schemas_of_definitions() -> dict[str, Any]:
    return {
        definition["spec"]["names"]["kind"]: definition["spec"]["versions"][0]["schema"][
            "openAPIV3Schema"
        ]
        for definition in definitions()
    }


def test_the_file_lists_what_the_definitions_have() -> None:
    """Whatever an API server has, both lack the same: tried with one that has no fields."""
    whole, file = schemas_of_definitions(), expected_schemas()
    assert file.keys() == whole.keys()
    for kind, schema in whole.items():
        empty = {"properties": {part: {"type": "object"} for part in schema["properties"]}}
        paths = sorted(missing_paths(schema, empty))
        assert sorted(missing_paths(file[kind], empty)) == paths != []
        assert [*missing_paths(file[kind], schema)] == [*missing_paths(schema, file[kind])] == []


def test_an_operator_without_datacenters_expects_only_its_kinds() -> None:
    kinds = expected_schemas(datacenters=False)
    assert sorted(kinds) == ["OpenBaoBackup", "OpenBaoCluster", "OpenBaoRestore", "OpenBaoTenant"]


def test_the_text_has_the_fields_types_and_values_of_a_definition() -> None:
    status = {
        "type": "object",
        "description": "Status.",
        "properties": {
            "phase": {"type": "string", "enum": ["Running"], "maxLength": 9},
            "labels": {
                "type": "object",
                "additionalProperties": {"type": "string", "maxLength": 9},
            },
            "items": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    properties = {"metadata": {"type": "object"}, "status": status}
    names = {"kind": "Example"}
    definition = {
        "spec": {
            "names": names,
            "versions": [{"schema": {"openAPIV3Schema": {"properties": properties}}}],
        }
    }
    assert json.loads(expected_text([definition])) == {
        "Example": {
            "properties": {
                "status": {
                    "type": "object",
                    "properties": {
                        "phase": {"type": "string", "enum": ["Running"]},
                        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                        "items": {"type": "array", "items": {"type": "integer"}},
                        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    },
                }
            }
        }
    }
