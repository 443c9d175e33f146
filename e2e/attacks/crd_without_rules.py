"""Removes the validation rules from a CRD, to test the validation by the operator."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import yaml

from contracts.api.group import CLUSTERS
from e2e.attacks.mallory import Mallory
from e2e.attacks.specs import ATTEMPTS
from e2e.harness.installation import CRD
from e2e.harness.manifests import cluster as manifest
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.kube import wait_established

# The keywords of a schema that restrict values of the right type.
_BOUNDS = frozenset(
    {
        "x-kubernetes-validations",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "pattern",
        "enum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "format",
    }
)


@contextmanager
def without_rules(rig: Rig, mallory: Mallory) -> Iterator[None]:
    """Replace the CRD by one with the same fields that accepts any value of the right type."""
    unrestricted = yaml.safe_load(CRD.read_text(encoding="utf-8"))
    for version in unrestricted["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"] = _without_bounds(version["schema"]["openAPIV3Schema"])
    rig.kubectl("replace", "-f", "-", input=orjson.dumps(unrestricted).decode())
    forbidden = next(attempt for attempt in ATTEMPTS if attempt.rule == "schema")
    body = manifest(mallory.namespace, "probe", **forbidden.spec)
    try:
        until(
            "the CRD accepts everything",
            lambda: not mallory.create(CLUSTERS, body, dry=True).refused,
            30.0,
        )
        yield
    finally:
        rig.kubectl("replace", "-f", str(CRD))
        wait_established(rig.kubectl, "-f", str(CRD))


def _without_bounds(schema: Any, *, names: bool = False) -> Any:
    """Copy a schema without restrictions; the keys of `properties` are field names."""
    if isinstance(schema, list):
        return [_without_bounds(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_bounds(part, names=key == "properties" and not names)
        for key, part in schema.items()
        if names or key not in _BOUNDS
    }
