"""Statuses of upgrades, from the first reconcile to the last."""

from __future__ import annotations

from typing import Any

from contracts.api.cluster.status import ClusterStatus

BEGUN = {"id": "u1", "phase": "Preparing", "targetVersion": "2.5.0", "fromVersion": "2.4.0"}
ROLLS = {**BEGUN, "phase": "Rolling", "currentPartition": 3}
FAILED = {**ROLLS, "failure": {"reason": "PodNotReady", "message": "x-2 is not back"}}


def status(upgrade: dict[str, Any] | None, version: str = "2.4.0", **more: Any) -> ClusterStatus:
    body = {"release": {"version": version}, **more}
    if upgrade is not None:
        body["upgrade"] = upgrade
    return ClusterStatus.model_validate(body)
