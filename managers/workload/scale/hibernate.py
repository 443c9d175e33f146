"""Sleeping and waking: no server runs, and everything else stays. Pure.

The StatefulSet goes to no replicas; volumes, keys, Services and policies are left alone. How many
servers come back is told by what they left: their volumes and the last list of raft members. Raft
needs a majority of the members that it knows, so a lower `spec.replicas` has to wait until they
are awake.
"""

from __future__ import annotations

from datetime import datetime

from contracts.api.cluster.spec import VOTERS_MAX, OpenBaoCluster
from contracts.pause import counted_from, resumed_at
from contracts.records.desired import Operation
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.workload.scale.replicas import Size, standing
from runtime.outcome import Wait

HIBERNATED = "Hibernated"
HIBERNATING = "Hibernating"
WAKING = "Waking"
# A server is back within seconds; after this it is in trouble like any other that does not start.
WAKE_PATIENCE_SECONDS = 300.0


def hibernate(resolved: Resolved, observed: Observed) -> Size | None:
    """Decide the number of pods of a cluster that sleeps, falls asleep or wakes; None for others.

    Needs nothing of the servers, so that pods which are dead already are no obstacle.
    """
    if not resolved.initialized:
        return None
    if resolved.hibernate:
        return _asleep(resolved, observed)
    current = standing(resolved, observed)
    if current == 0:
        return _waking(resolved, observed, slept(resolved, observed))
    return _waking(resolved, observed, current) if is_waking(observed) else None


def _asleep(resolved: Resolved, observed: Observed) -> Size:
    left = [pod.name for pod in (*observed.pods, *observed.read.pods)]
    if not left:
        return Size(0)
    all_of_them = max(slept(resolved, observed) + len(observed.read.claims), len(left))
    return Size(
        0,
        Wait(HIBERNATING, f"spec.hibernate is true; still stopping: {', '.join(sorted(left))}"),
        operation=Operation("Hibernating", all_of_them - len(left), all_of_them),
    )


def _waking(resolved: Resolved, observed: Observed, count: int) -> Size:
    if not is_waking(observed):
        # Somebody else took the servers away, or their StatefulSet.
        return Size(count)
    ready = sum(pod.ready for pod in observed.pods)
    expected = count - len(resolved.fenced)
    return Size(
        count,
        Wait(WAKING, f"{ready} of {expected} servers are back"),
        operation=Operation("Waking", min(ready, count), count),
    )


def is_waking(observed: Observed) -> bool:
    """Tell whether servers that slept are still on their way, and not for too long."""
    since = observed.waking_since
    if since is None or (observed.now - since).total_seconds() >= WAKE_PATIENCE_SECONDS:
        return False
    count = observed.stateful_set.replicas if observed.stateful_set else 0
    # One that waits at the gate of a fence does so because a person asked for it.
    return count == 0 or sum(pod.ready or pod.fence_gate for pod in observed.pods) < count


def slept(resolved: Resolved, observed: Observed) -> int:
    """How many servers have to come back: all that were members, and never fewer.

    The greater of what the last status says and what the volumes say. A volume counts when its
    annotation carries our UID and does not say that its server was removed from the raft cluster.
    """
    ordinals = [
        resolved.voter_set.claim_ordinal_of(claim.name)
        for claim in observed.claims
        if claim.owner_uid == resolved.owner.uid
        and not claim.removed_peer
        and not claim.terminating
    ]
    by_volume = max((ordinal + 1 for ordinal in ordinals if ordinal is not None), default=0)
    count = max(by_volume, resolved.voters or 0)
    # Volumes of more than the API allows are nobody's servers.
    return min(count, VOTERS_MAX) if count else resolved.replicas


def waking_since(cluster: OpenBaoCluster, now: datetime) -> datetime | None:
    """Since when the servers come back; None for a cluster that sleeps, or never did.

    Remembered by the condition Hibernated alone: a lost status costs the word for it, no more.
    """
    if cluster.spec.hibernate:
        return None
    condition = next((one for one in cluster.status.conditions if one.type == HIBERNATED), None)
    if condition is None:
        return None
    since = (condition.last_transition_time if condition.reason == WAKING else None) or now
    return counted_from(since, resumed_at(cluster, now))
