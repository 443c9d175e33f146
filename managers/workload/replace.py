"""Which pod is replaced next, if any: standbys first, the leader last, never two at a time.

A pod is replaced by deleting it with its UID; the StatefulSet makes it anew from the newest
template, and a terminating server hands its leadership over (openbao.md (d): SIGTERM).
"""

from __future__ import annotations

from contracts.observed import Observed, PodFacts


def next_to_replace(observed: Observed, digest: str, replicas: int) -> PodFacts | None:
    """Pick the pod to replace now; None when there is none or when it is not safe.

    Safe means that every other pod of the set is there and ready. A pod that is outdated and not
    ready is taken first: it serves nobody, and a newer template may be what repairs it.
    """
    stateful_set = observed.stateful_set
    if stateful_set is None or not stateful_set.settled or stateful_set.template != digest:
        return None
    outdated = [pod for pod in observed.pods if pod.template != digest]
    if not outdated or any(pod.terminating for pod in observed.pods):
        return None
    unready = [pod for pod in observed.pods if not pod.ready]
    if len(observed.pods) < replicas or len(unready) > 1:
        return None
    if unready:
        return unready[0] if unready[0] in outdated else None
    # Two that say they lead, or none while several run: nobody is touched until that is settled.
    if replicas > 1 and len(observed.leaders) != 1:
        return None
    leaders = {pod.uid for pod in observed.leaders}
    return min(outdated, key=lambda pod: (pod.uid in leaders, -pod.ordinal))
