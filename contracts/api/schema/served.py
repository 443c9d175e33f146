"""The fields of this operator's schemas that the CRDs on the API server lack.

The installed CRDs may be those of an older release, or of another operator of this API. Pure;
called by managers.context.reads.served_schemas and managers.cluster.apply.status_fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from contracts.api.group import GROUP, VERSION

Schema = Mapping[str, Any]

ABSENT: Final = object()
"""Result of `storable` for a value of which no part can be stored."""
PARTS: Final = ("spec", "status")
_KIND_MARK: Final = "x-kubernetes-group-version-kind"
OPEN: Final = "x-kubernetes-preserve-unknown-fields"
"""Keyword of an object with any content."""
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "object": Mapping,
    "string": str,
}


def served_kinds(document: Any) -> dict[str, Schema]:
    """Return the schemas of our group and version in an OpenAPI v3 document, by kind."""
    schemas = _mapping(_mapping(_mapping(document).get("components")).get("schemas"))
    return {
        kind: schema
        for schema in map(_mapping, schemas.values())
        for mark in _list(schema.get(_KIND_MARK))
        if (kind := _own_kind(_mapping(mark)))
    }


def _own_kind(mark: Schema) -> str:
    ours = mark.get("group") == GROUP and mark.get("version") == VERSION
    return str(mark.get("kind")) if ours else ""


def missing_paths(expected: Schema, served: Schema) -> Iterator[str]:
    """Yield the paths below spec and status that the served schema of a kind does not have.

    `path=value` is a value that an enum does not have. Fields that only the served schema has are
    ignored: they are from a newer release.
    """
    for part in PARTS:
        if part in _fields(expected):
            yield from _missing_fields(_fields(expected)[part], _fields(served).get(part), part)


def _missing_fields(expected: Schema, served: Any, path: str) -> Iterator[str]:
    if not isinstance(served, Mapping) or _differs(expected, served):
        yield path
        return
    for value in _missing_values(expected, served):
        yield f"{path}={value}"
    if served.get(OPEN):
        return
    for name, field in _fields(expected).items():
        yield from _missing_fields(field, _fields(served).get(name), f"{path}.{name}")
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(expected.get(key), Mapping):
            yield from _missing_fields(expected[key], served.get(key), f"{path}{mark}")


def _differs(expected: Schema, served: Schema) -> bool:
    kinds = expected.get("type"), served.get("type")
    return None not in kinds and kinds[0] != kinds[1]


def _missing_values(expected: Schema, served: Schema) -> list[Any]:
    known = _list(served.get("enum"))
    return [value for value in _list(expected.get("enum")) if value not in known] if known else []


def storable(value: Any, schema: Schema) -> Any:
    """Return the part of a JSON value that a schema can store; ABSENT if there is none.

    An object without a required field is ABSENT.
    """
    enum = _list(schema.get("enum"))
    if not _has_type(value, schema) or (enum and value not in enum):
        return ABSENT
    if schema.get(OPEN):
        return value
    if isinstance(value, Mapping):
        return _storable_object(value, schema)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        items = (storable(item, schema["items"]) for item in value)
        return [item for item in items if item is not ABSENT]
    return value


def _storable_object(value: Mapping[str, Any], schema: Schema) -> Any:
    anything = schema.get("additionalProperties")
    if anything is True:
        return value
    fields = _fields(schema)
    result = {}
    for name, item in value.items():
        field = fields.get(name, anything)
        storable_item = storable(item, field) if isinstance(field, Mapping) else ABSENT
        if storable_item is not ABSENT:
            result[name] = storable_item
    return result if result.keys() >= {*_list(schema.get("required"))} else ABSENT


def _has_type(value: Any, schema: Schema) -> bool:
    type_ = _TYPES.get(str(schema.get("type")))
    if type_ is None:
        return True
    # In Python, a bool is an int.
    return isinstance(value, type_) and (type_ is bool or not isinstance(value, bool))


def _fields(schema: Schema) -> Schema:
    return _mapping(schema.get("properties"))


def _mapping(value: Any) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
