"""Hibernation and resume: no server runs, and all other objects stay. Pure.

The StatefulSet scales to zero; volumes, keys, Services and policies do not change. The number of
servers to resume is derived from their volumes and the last list of raft members. Raft needs a
majority of its members, so a lower `spec.replicas` must wait until they run again.
Called by `managers.workload.plan`.
"""

from __future__ import annotations

from datetime import datetime

from contracts.api.cluster.spec import VOTERS_MAX, OpenBaoCluster
from contracts.pause import counted_from, resumed_at
from contracts.records.desired import Operation
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.workload.scale.replicas import Size, current_replicas
from runtime.outcome import Wait

HIBERNATED = "Hibernated"
HIBERNATING = "Hibernating"
WAKING = "Waking"
# A server resumes within seconds; after this time it is reported as one that fails to start.
WAKE_PATIENCE_SECONDS = 300.0


def hibernate(resolved: Resolved, observed: Observed) -> Size | None:
    """Decide the size of a cluster that hibernates or resumes; None for others.

    No server is contacted, so dead pods do not block it.
    """
    if not resolved.initialized:
        return None
    if resolved.hibernate:
        return _scale_to_zero(resolved, observed)
    current = current_replicas(resolved, observed)
    if current == 0:
        return _resume(resolved, observed, replicas_to_resume(resolved, observed))
    return _resume(resolved, observed, current) if is_waking(observed) else None


def _scale_to_zero(resolved: Resolved, observed: Observed) -> Size:
    left = [pod.name for pod in (*observed.pods, *observed.read.pods)]
    if not left:
        return Size(0)
    total = max(replicas_to_resume(resolved, observed) + len(observed.read.claims), len(left))
    return Size(
        0,
        Wait(HIBERNATING, f"spec.hibernate is true; still stopping: {', '.join(sorted(left))}"),
        operation=Operation("Hibernating", total - len(left), total),
    )


def _resume(resolved: Resolved, observed: Observed, count: int) -> Size:
    if not is_waking(observed):
        # Another controller or a user removed the servers, or their StatefulSet.
        return Size(count)
    ready = sum(pod.ready for pod in observed.pods)
    expected = count - len(resolved.fenced)
    return Size(
        count,
        Wait(WAKING, f"{ready} of {expected} servers are ready"),
        operation=Operation("Waking", min(ready, count), count),
    )


def is_waking(observed: Observed) -> bool:
    """Return whether hibernated servers are still starting, within the time limit."""
    since = observed.waking_since
    if since is None or (observed.now - since).total_seconds() >= WAKE_PATIENCE_SECONDS:
        return False
    count = observed.stateful_set.replicas if observed.stateful_set else 0
    # A pod with the fencing gate does not start, because a user fenced it.
    return count == 0 or sum(pod.ready or pod.fence_gate for pod in observed.pods) < count


def replicas_to_resume(resolved: Resolved, observed: Observed) -> int:
    """Return how many servers must resume: all former members, and never fewer.

    It is the greater of the counts of the last status and of the volumes. A volume counts when this
    cluster owns it, and its server is not marked as removed from the raft cluster.
    """
    ordinals = [
        resolved.voter_pool.claim_ordinal_of(claim.name)
        for claim in observed.claims
        if claim.owner_uid == resolved.owner.uid
        and not claim.removed_peer
        and not claim.terminating
    ]
    by_volume = max((ordinal + 1 for ordinal in ordinals if ordinal is not None), default=0)
    count = max(by_volume, resolved.voters or 0)
    # Volumes beyond the maximum of the API belong to no server.
    return min(count, VOTERS_MAX) if count else resolved.replicas


def waking_since(cluster: OpenBaoCluster, now: datetime) -> datetime | None:
    """Return when the resume began; None for a cluster that is hibernated, or never was.

    Only the condition Hibernated stores the time: if the status is lost, only the message is.
    """
    if cluster.spec.hibernate:
        return None
    conditions = cluster.status.conditions
    condition = next((entry for entry in conditions if entry.type == HIBERNATED), None)
    if condition is None:
        return None
    since = (condition.last_transition_time if condition.reason == WAKING else None) or now
    return counted_from(since, resumed_at(cluster, now))
