"""Kinds that a Kubernetes cluster may or may not serve, and the availability of one.

Pure. The definitions are read by runtime.cache.optional; plans use `KindAvailability` and
nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.types import Resource, is_terminating


@dataclass(frozen=True, slots=True)
class OptionalKind:
    """A namespaced kind of a CustomResourceDefinition of another project.

    `versions` are those that this program can write, the best one first.
    """

    group: str
    kind: str
    plural: str
    versions: tuple[str, ...]

    @property
    def definition(self) -> str:
        """The name of its CustomResourceDefinition."""
        return f"{self.plural}.{self.group}"

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The kind in each of its versions, the best one first."""
        return tuple(
            Resource(self.group, version, self.kind, self.plural) for version in self.versions
        )


@dataclass(frozen=True, slots=True)
class KindAvailability:
    """What the API server has of an optional kind."""

    known: bool = False
    """False until its definition was read, and while its objects are being listed."""
    versions: tuple[str, ...] = ()
    """Every version that is served; none: the kind is not there."""
    resource: Resource | None = None
    """The kind in the version to use; None: it is not there, or in no version that we can write."""


UNKNOWN = KindAvailability()


def offered(definition: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Read from a CustomResourceDefinition which versions of its kind can be used.

    None before the API server has accepted its names, and from the moment on in which it is
    deleted: no object can be made while that goes on (apiextensions.k8s.io/v1, CRD conditions).
    """
    if definition is None or is_terminating(definition):
        return ()
    conditions = (definition.get("status") or {}).get("conditions") or ()
    established = any(
        one.get("type") == "Established" and one.get("status") == "True" for one in conditions
    )
    if not established:
        return ()
    versions = (definition.get("spec") or {}).get("versions") or ()
    return tuple(str(one["name"]) for one in versions if one.get("served"))
