"""The basic types of the runtime: objects, keys, resources, and accessors of object metadata.

Pure; uses the standard library only. Imported by most modules of the runtime and by the layers
above.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

Object = dict[str, Any]
"""A Kubernetes object as decoded JSON. Read-only by convention once it is in a store."""


class ObjectKey(NamedTuple):
    """The namespace and name of an object of a known resource; namespace is "" if
    cluster-scoped."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


Request = ObjectKey
"""The unit of work of a controller: which object to reconcile, never what happened to it."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object and the path at which the API server serves it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    def __str__(self) -> str:
        """The group resource as kubectl writes it: "pods", "statefulsets.apps"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """The apiVersion of objects of this kind: "v1", "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The URL path of the collection, of one object, or of a subresource of it.

        Without a namespace a namespaced collection includes all namespaces. The parts are
        percent-encoded: no name can escape its segment.

        Raises ValueError for one namespaced object without a namespace, and for a subresource
        without a name.
        """
        if name is not None and self.namespaced and not namespace:
            raise ValueError(f"{self.kind} {name!r}: a namespaced object needs its namespace")
        if subresource is not None and name is None:
            raise ValueError(f"{self.kind}: subresource {subresource!r} without a name")
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = ("namespaces", namespace) if self.namespaced and namespace else ()
        parts = (*scope, self.plural, name, subresource)
        return "/".join((root, *(quote(part, safe="") for part in parts if part is not None)))


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """The controlling owner of an object, from metadata.ownerReferences."""

    api_version: str
    kind: str
    name: str
    uid: str


def _metadata(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata: Mapping[str, Any] = obj.get("metadata") or {}
    return metadata


def key_of(obj: Mapping[str, Any]) -> ObjectKey:
    """The key of an object; an absent namespace or name is ""."""
    metadata = _metadata(obj)
    return ObjectKey(metadata.get("namespace") or "", metadata.get("name") or "")


def uid_of(obj: Mapping[str, Any]) -> str:
    """metadata.uid, or "" when the object has none yet."""
    return str(_metadata(obj).get("uid") or "")


def resource_version_of(obj: Mapping[str, Any]) -> str:
    """metadata.resourceVersion, or ""."""
    return str(_metadata(obj).get("resourceVersion") or "")


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """metadata.labels, empty when absent."""
    labels: Mapping[str, str] = _metadata(obj).get("labels") or {}
    return labels


def annotations_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """metadata.annotations, empty when absent."""
    annotations: Mapping[str, str] = _metadata(obj).get("annotations") or {}
    return annotations


def time_of(text: str | None) -> datetime | None:
    """Parse a timestamp of an object; None without one."""
    return datetime.fromisoformat(text) if text else None


def is_terminating(obj: Mapping[str, Any]) -> bool:
    """True once a delete was accepted: only finalizers or a grace period keep the object."""
    return bool(_metadata(obj).get("deletionTimestamp"))


def is_generation_observed(obj: Mapping[str, Any]) -> bool:
    """True once the controller of the object has observed its newest spec."""
    status: Mapping[str, Any] = obj.get("status") or {}
    observed = status.get("observedGeneration") or 0
    return bool(observed >= (_metadata(obj).get("generation") or 0))


def controller_of(obj: Mapping[str, Any]) -> OwnerReference | None:
    """The owner marked `controller: true`.

    The API server admits at most one, and none without these four fields.
    """
    for owner in _metadata(obj).get("ownerReferences") or ():
        if owner.get("controller"):
            return OwnerReference(
                api_version=owner["apiVersion"],
                kind=owner["kind"],
                name=owner["name"],
                uid=owner["uid"],
            )
    return None
