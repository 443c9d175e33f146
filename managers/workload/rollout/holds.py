"""Holds: why the operator postpones changes to the pods of a cluster. Pure.

Checked before the operator replaces a pod, removes a server or restarts a pod for its volume.
Actions that a user requests by name continue, except that a restore also holds fencing: a server
that stops before it has the restored data could never replicate it.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.records.resolved import Resolved

MAINTENANCE = "Maintenance"
PODS_FENCED = "PodsFenced"
RESTORE_IN_PROGRESS = "RestoreInProgress"


@dataclass(frozen=True, slots=True)
class Hold:
    """A reason of the catalog, and a clause for a message."""

    reason: str
    message: str


_FENCED = Hold(PODS_FENCED, "no pod is replaced or removed until spec.fencedPods is empty")
_MAINTENANCE = Hold(
    MAINTENANCE, "no pod is replaced or removed until spec.maintenance.enabled is false"
)


def hold(resolved: Resolved) -> Hold | None:
    """Return the hold of a cluster; None when there is none."""
    if resolved.fenced:
        # One server is already stopped: the others are needed.
        return _FENCED
    if resolved.maintenance:
        return _MAINTENANCE
    return restore_hold(resolved)


def restore_hold(resolved: Resolved) -> Hold | None:
    """Return the hold of a restore, which also applies to fencing; None when there is none."""
    if not resolved.restoring:
        return None
    # The Job sends a snapshot to the leader, and a server must not stop while it applies it.
    return Hold(
        RESTORE_IN_PROGRESS,
        f"no pod is replaced or removed while {resolved.restoring} restores data",
    )
