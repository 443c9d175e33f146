"""The metadata of every object of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from contracts.naming import labels
from runtime.apply.intent import Intent
from runtime.types import Object, Resource


class ClusterIdentity(Protocol):
    """The name and namespace of a cluster."""

    @property
    def name(self) -> str:
        """Name of the cluster."""
        ...

    @property
    def namespace(self) -> str:
        """Namespace of the cluster."""
        ...


def cluster_object(
    resolved: ClusterIdentity,
    resource: Resource,
    name: str,
    content: Mapping[str, Any],
    *,
    annotations: Mapping[str, str] | None = None,
    keep: frozenset[str] = frozenset(),
) -> Intent:
    """Build the intent for one object of the cluster, in its namespace and with its labels.

    `content` contains all fields except `apiVersion`, `kind` and `metadata`; `keep` names fields
    that are empty on purpose.
    """
    metadata: Object = {
        "name": name,
        "namespace": resolved.namespace,
        "labels": labels.base(resolved.name),
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        **content,
    }
    return Intent(resource, body, keep)
