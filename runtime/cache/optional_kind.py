"""Kinds that a Kubernetes cluster may not serve, and the availability of each.

Pure. runtime.cache.optional reads the definitions; plans use only `KindAvailability`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.types import Resource, is_terminating


@dataclass(frozen=True, slots=True)
class OptionalKind:
    """A namespaced kind of a CustomResourceDefinition of another project.

    `versions` are those that this program can write, in order of preference.
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
        """The kind in each of its versions, in order of preference."""
        return tuple(
            Resource(self.group, version, self.kind, self.plural) for version in self.versions
        )


@dataclass(frozen=True, slots=True)
class KindAvailability:
    """What the API server serves of an optional kind."""

    known: bool = False
    """False until its definition was read, and while its objects are being listed."""
    versions: tuple[str, ...] = ()
    """Every served version; empty: the kind is not available."""
    resource: Resource | None = None
    """The kind in the version to use; None: it is not served in a version that we can write."""


UNKNOWN = KindAvailability()


def served_versions(definition: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the versions of the kind of a CustomResourceDefinition that can be used.

    Empty until the API server has accepted its names, and once it is being deleted: no object can
    be created then (apiextensions.k8s.io/v1, CRD conditions).
    """
    if definition is None or is_terminating(definition):
        return ()
    conditions = (definition.get("status") or {}).get("conditions") or ()
    established = any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in conditions
    )
    if not established:
        return ()
    versions = (definition.get("spec") or {}).get("versions") or ()
    return tuple(str(version["name"]) for version in versions if version.get("served"))
