"""Why nothing that can wait is done to the pods of a cluster. Pure.

Asked before a pod is replaced, a server is taken away or a volume makes a pod restart: whatever
the operator would begin by itself. What a person asks for by name goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.records.resolved import Resolved

MAINTENANCE = "Maintenance"
PODS_FENCED = "PodsFenced"
RESTORE_IN_PROGRESS = "RestoreInProgress"


@dataclass(frozen=True, slots=True)
class Hold:
    """A reason of the catalogue, and half a sentence for a message."""

    reason: str
    message: str


_FENCED = Hold(PODS_FENCED, "no pod is replaced or taken away until spec.fencedPods is empty")
_MAINTENANCE = Hold(
    MAINTENANCE, "no pod is replaced or taken away until spec.maintenance.enabled is false"
)


def hold(resolved: Resolved) -> Hold | None:
    """Say what holds the operator back; None when nothing does."""
    if resolved.fenced:
        # One server is away already: the others are needed.
        return _FENCED
    if resolved.maintenance:
        return _MAINTENANCE
    if resolved.restoring:
        # The job speaks to the leader, and who takes a snapshot must not be stopped meanwhile.
        return Hold(
            RESTORE_IN_PROGRESS,
            f"no pod is replaced or taken away while {resolved.restoring} puts data back",
        )
    return None
