"""Descriptors of a ClusterServiceVersion: how a console shows the fields of an object. Pure.

They are derived from the schema of a CustomResourceDefinition.
Source of the names: the descriptor reference of the console of OpenShift (x-descriptors).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from release.manifests import Object

_UI = "urn:alm:descriptor:com.tectonic.ui:"
_CONDITIONS = "urn:alm:descriptor:io.kubernetes.conditions"
_PHASE = "urn:alm:descriptor:io.kubernetes.phase"
_REASON = "urn:alm:descriptor:io.kubernetes.phase:reason"
_OF_TYPE: Mapping[str, str] = {
    "boolean": f"{_UI}booleanSwitch",
    "integer": f"{_UI}number",
    "string": f"{_UI}text",
}
_OF_SPEC: Mapping[str, str] = {
    "replicas": f"{_UI}podCount",
    "resources": f"{_UI}resourceRequirements",
    "imagePullPolicy": f"{_UI}imagePullPolicy",
}
_OF_STATUS: Mapping[str, str] = {"conditions": _CONDITIONS, "phase": _PHASE, "reason": _REASON}
_DEPTH = 2
"""Levels of the spec in a form; deeper fields are edited as YAML."""
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def spec_descriptors(definition: Object) -> list[dict[str, Any]]:
    """Describe the fields of the spec that are simple values, two levels deep."""
    return [*_fields(_schema(definition, "spec"), "", _DEPTH)]


def status_descriptors(definition: Object) -> list[dict[str, Any]]:
    """Describe the status fields that a console can show: simple values and conditions."""
    properties = _schema(definition, "status").get("properties", {})
    return [
        _descriptor(name, field, [_OF_STATUS[name]] if name in _OF_STATUS else [])
        for name, field in properties.items()
        if name in _OF_STATUS or field.get("type") in _OF_TYPE
    ]


def display_name(field: str) -> str:
    """Return a field name as words: secretKeyRef becomes "Secret Key Ref"."""
    return " ".join(word[:1].upper() + word[1:] for word in _WORD_START.split(field))


def version_of(definition: Object) -> Object:
    """Return the stored version of a definition."""
    stored: Object
    (stored,) = [version for version in definition["spec"]["versions"] if version["storage"]]
    return stored


def _schema(definition: Object, part: str) -> Object:
    schema = version_of(definition)["schema"]["openAPIV3Schema"]
    properties: Object = schema["properties"].get(part, {})
    return properties


def _fields(schema: Object, prefix: str, depth: int) -> Iterator[dict[str, Any]]:
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        hints = _hints(name, field)
        if hints:
            yield _descriptor(path, field, hints)
        elif depth > 1 and field.get("type") == "object":
            yield from _fields(field, f"{path}.", depth - 1)


def _hints(name: str, field: Object) -> list[str]:
    if name in _OF_SPEC:
        return [_OF_SPEC[name]]
    if "enum" in field:
        return [f"{_UI}select:{value}" for value in field["enum"]]
    hint = _OF_TYPE.get(field.get("type", ""))
    return [hint] if hint else []


def _descriptor(path: str, field: Object, hints: list[str]) -> dict[str, Any]:
    described = {
        "path": path,
        "displayName": " ".join(display_name(part) for part in path.split(".")),
        "description": " ".join(field.get("description", "").split()),
    }
    return described | ({"x-descriptors": hints} if hints else {})
