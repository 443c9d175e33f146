"""The metadata that every object of a cluster carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts import labels
from contracts.resolved import Resolved
from runtime.intent import Intent
from runtime.types import Object, Resource


def cluster_object(
    resolved: Resolved,
    resource: Resource,
    name: str,
    content: Mapping[str, Any],
    *,
    annotations: Mapping[str, str] | None = None,
) -> Intent:
    """Build the intent for one object of the cluster, in its namespace and with its labels.

    `content` holds everything beside `apiVersion`, `kind` and `metadata`.
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
    return Intent(resource, body)
