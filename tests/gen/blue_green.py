"""The status of a blue/green upgrade, as the API server returns it."""

from __future__ import annotations

from typing import Any

from contracts.records.bluegreen import revision_of
from contracts.records.upgrade import Release
from runtime.types import Object


def blue_green_status(phase: str, version: str, **status: Any) -> Object:
    """Return status.blueGreen in a phase of an upgrade of three servers to a version."""
    return {
        "phase": phase,
        "operationID": "op",
        "greenRevision": revision_of(Release(version), 3),
        "greenVersion": version,
        "blueReplicas": 3,
        "greenReplicas": 3,
        **status,
    }
