"""Pods that need a user: those stuck in termination, and those that are not ready. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from contracts.records.observed import Observed, PodFacts
from runtime.outcome import Blocked, Done, Outcome

STUCK = "PodStuckTerminating"
# A busy kubelet needs some seconds more than the grace period of the pod.
PATIENCE = timedelta(seconds=60)


def stuck(observed: Observed) -> Outcome:
    """Report the pods that are stuck in termination; Done with the time of the next check.

    Kubernetes keeps a pod until the kubelet of its node reports that it has stopped, because two
    servers must never use one volume. Only a user can know that the node will not return, so the
    operator never deletes such a pod by force.
    """
    leaving = [
        (pod, pod.deletion_timestamp + PATIENCE)
        for pod in observed.servers
        if pod.deletion_timestamp
    ]
    late = [pod for pod, end in leaving if end <= observed.now]
    if not late:
        return Done(min((_until(end, observed.now) for _, end in leaving), default=None))
    where = " and ".join(_where(pod) for pod in late)
    first = late[0]
    return Blocked(
        STUCK,
        f"{where} should have stopped at {first.deletion_timestamp:%Y-%m-%dT%H:%M:%SZ} and still "
        "exists: its kubelet does not answer. Restore the node; or make sure that it is dead, and "
        f"delete its Node object, or `kubectl delete pod {first.name} --force --grace-period=0`",
    )


def _until(end: datetime, now: datetime) -> float:
    # Add one second: the compared times have no fractions.
    return (end - now).total_seconds() + 1.0


def _where(pod: PodFacts) -> str:
    return f"{pod.name} on node {pod.node}" if pod.node else pod.name


def absent(pods: Iterable[PodFacts]) -> str:
    """Name the pods that are not ready, with their nodes, after a semicolon; "" for none.

    A pod with the fencing gate is omitted, because a user fenced it.
    """
    names = [_where(pod) for pod in pods if not pod.ready and not pod.fence_gate]
    return f"; not ready: {', '.join(names)}" if names else ""
