"""Rules about services of kind Objects: objects of other kinds.

Uses contracts.datacenter.rules.service. Collected by contracts.datacenter.rules.all_rules. The
allowed kinds are a permission of the datacenter (contracts.datacenter.grants).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from contracts.api.group import GROUP
from contracts.api.rules.rule import InvalidField
from contracts.datacenter.object_refs import kind_of, name_of
from contracts.datacenter.rules.service import FORBIDDEN, REQUIRED, ServiceRule
from contracts.datacenter.service_spec import OBJECTS_KIND, BootstrapService

_METADATA: Final = frozenset({"name", "labels", "annotations"})
_NOT_WRITTEN: Final = ("status",)
_IS_OBJECTS = f"self.kind == '{OBJECTS_KIND}'"


def _no_objects(service: BootstrapService) -> Iterator[InvalidField]:
    if service.kind == OBJECTS_KIND and not service.objects:
        yield "objects", None


def _objects_of_other_kind(service: BootstrapService) -> Iterator[InvalidField]:
    if service.kind != OBJECTS_KIND and service.objects:
        yield "objects", service.kind


def _incomplete(service: BootstrapService) -> Iterator[InvalidField]:
    for at, body in enumerate(service.objects or ()):
        for field in ("apiVersion", "kind"):
            if not isinstance(body.get(field), str) or not body[field]:
                yield f"objects[{at}].{field}", body.get(field)
        if not name_of(body):
            yield f"objects[{at}].metadata.name", None


def _unsupported_fields(service: BootstrapService) -> Iterator[InvalidField]:
    for at, body in enumerate(service.objects or ()):
        for field in _NOT_WRITTEN:
            if field in body:
                yield f"objects[{at}].{field}", field
        metadata: Any = body.get("metadata")
        for field in metadata if isinstance(metadata, Mapping) else ():
            if field not in _METADATA:
                yield f"objects[{at}].metadata.{field}", metadata[field]


def _duplicate_objects(service: BootstrapService) -> Iterator[InvalidField]:
    seen: set[tuple[str, str, str]] = set()
    for at, body in enumerate(service.objects or ()):
        object_id = (*kind_of(body), name_of(body))
        if object_id in seen:
            yield f"objects[{at}].metadata.name", object_id[2]
        seen.add(object_id)


def _operator_kinds(service: BootstrapService) -> Iterator[InvalidField]:
    for at, body in enumerate(service.objects or ()):
        if kind_of(body)[0] == GROUP:
            yield f"objects[{at}].apiVersion", body.get("apiVersion")


OBJECT_RULES: tuple[ServiceRule, ...] = (
    ServiceRule(
        id="objects-required",
        field="objects",
        message="must not be empty for kind Objects; add an object, or choose another kind",
        find=_no_objects,
        cel=f"!({_IS_OBJECTS}) || (has(self.objects) && size(self.objects) > 0)",
        reason=REQUIRED,
    ),
    ServiceRule(
        id="objects-stray",
        field="objects",
        message="is only for kind Objects; remove it or set that kind",
        find=_objects_of_other_kind,
        cel=f"{_IS_OBJECTS} || !has(self.objects) || size(self.objects) == 0",
        got="self.kind",
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="objects-incomplete",
        field="objects",
        message="must have apiVersion, kind and metadata.name in each object; add them",
        find=_incomplete,
        reason=REQUIRED,
    ),
    ServiceRule(
        id="objects-metadata",
        field="objects",
        message=(
            "must have no status, and only name, labels and annotations in metadata; remove the "
            "field (a namespaced object is created in the namespace of the datacenter)"
        ),
        find=_unsupported_fields,
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="objects-unique",
        field="objects",
        message="must have each object once, by group, kind and name; remove one",
        find=_duplicate_objects,
    ),
    ServiceRule(
        id="objects-own-kinds",
        field="objects",
        message=(
            f"must not be of a kind of {GROUP}, which configure the operator; create them "
            "yourself, or use kind OpenBaoCluster"
        ),
        find=_operator_kinds,
        reason=FORBIDDEN,
    ),
)
