"""Merges a manifest into a cluster, like `kubectl apply`. Pure.

Called by baoctl.commands.cluster.plan. `kubectl apply` keeps the last manifest in an annotation and
sends a JSON merge patch (RFC 7386): for custom resources a list is replaced as a whole. Fields of
the last manifest that the new one lacks are removed; fields of other clients stay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from contracts.api.group import API_VERSION, CLUSTER_KIND
from runtime.limits.object_size import LAST_APPLIED
from runtime.types import Object, annotations_of

_METADATA: Final = ("labels", "annotations")
"""Fields of the metadata that a manifest can change."""


def apply_manifest(live: Object, manifest: Object) -> Object:
    """Return the live object with the merged spec, labels and annotations."""
    last = last_applied(live)
    merged = {**live, "spec": _merge(live.get("spec"), last.get("spec"), manifest.get("spec"))}
    metadata, new, old = live["metadata"], _metadata(manifest), _metadata(last)
    merged["metadata"] = {
        **metadata,
        **{
            name: _merge(metadata.get(name), old.get(name), new.get(name) or {})
            for name in _METADATA
            if metadata.get(name) or new.get(name)
        },
    }
    return merged


def last_applied(live: Object) -> Object:
    """Return the manifest that `kubectl apply` sent last; {} if it is missing or malformed."""
    try:
        manifest = json.loads(annotations_of(live).get(LAST_APPLIED, "{}"))
    except (ValueError, RecursionError):
        return {}
    same = isinstance(manifest, dict) and manifest.get("kind") == CLUSTER_KIND
    return manifest if same and manifest.get("apiVersion") == API_VERSION else {}


def _metadata(manifest: Object) -> Mapping[str, Any]:
    metadata = manifest.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _merge(live: Any, last: Any, new: Any) -> Any:
    """Return `live` with the values of `new`, without the fields of `last` that `new` lacks."""
    if not isinstance(new, Mapping):
        return new
    merged = dict(live) if isinstance(live, Mapping) else {}
    before = last if isinstance(last, Mapping) else {}
    for name in before.keys() - new.keys():
        merged.pop(name, None)
    for name, value in new.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), before.get(name), value)
    return merged
