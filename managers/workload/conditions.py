"""Conditions Hibernated, PodsFenced and Maintenance. Pure.

Each function returns None when the spec does not request the feature. Called through the table of
`managers.cluster.status.conditions`.
"""

from __future__ import annotations

from collections.abc import Collection

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.conditions.condition import ConditionUpdate
from contracts.pools.fenced_pods import fenced_servers
from contracts.pools.voter_pool import serving_pool, takes_over
from contracts.records.observed import Observed
from managers.workload.rollout.fencing import FENCING, REFUSED, fenced_pods
from managers.workload.rollout.holds import MAINTENANCE, PODS_FENCED, Hold
from managers.workload.scale.hibernate import HIBERNATED, HIBERNATING, WAKING, is_waking
from runtime.outcome import Blocked, Outcome


def hibernated_condition(
    spec: ClusterSpec, observed: Observed, *, initialized: bool
) -> ConditionUpdate | None:
    """Condition Hibernated: whether every server has stopped, as spec.hibernate requests."""
    if not spec.hibernate:
        if not is_waking(observed):
            return None
        ready = sum(pod.ready for pod in observed.pods)
        return ConditionUpdate("Hibernated", "False", WAKING, f"{ready} servers are ready")
    if not initialized:
        message = "spec.hibernate takes effect after the cluster is initialized"
        return ConditionUpdate("Hibernated", "False", "NotInitialized", message)
    left = sorted(pod.name for pod in (*observed.pods, *observed.read.pods))
    if left:
        return ConditionUpdate(
            "Hibernated", "False", HIBERNATING, f"Still stopping: {', '.join(left)}"
        )
    message = "spec.hibernate is true: no server runs, and volumes and keys are kept"
    return ConditionUpdate("Hibernated", "True", HIBERNATED, message)


def fenced_condition(
    spec: ClusterSpec, observed: Observed, outcome: Outcome, cluster: OpenBaoCluster | None = None
) -> ConditionUpdate | None:
    """Condition PodsFenced: whether every pod of spec.fencedPods has stopped.

    `cluster` is as the user wrote it; `spec` may contain only the fences that are in effect.
    """
    requested = cluster.spec.fenced_pods if cluster else spec.fenced_pods
    if not requested:
        return None
    effective = fenced_servers(cluster) if cluster else requested
    others = _others(cluster, effective) if cluster else ""
    if not effective:
        return ConditionUpdate("PodsFenced", "False", REFUSED, f"No server is fenced{others}")
    if cluster is not None and takes_over(cluster):
        message = f"{', '.join(effective)} will be stopped after the blue/green upgrade"
        return ConditionUpdate("PodsFenced", "False", FENCING, message + others)
    stopped = {pod.name for pod in fenced_pods(observed, effective)}
    left = [name for name in effective if name not in stopped]
    if not left:
        message = f"Stopped, with their volumes kept: {', '.join(sorted(stopped))}"
        return ConditionUpdate("PodsFenced", "True", PODS_FENCED, message + others)
    if isinstance(outcome, Blocked) and outcome.reason == REFUSED:
        return ConditionUpdate("PodsFenced", "False", REFUSED, outcome.message + others)
    return ConditionUpdate(
        "PodsFenced", "False", FENCING, f"Not stopped yet: {', '.join(left)}{others}"
    )


def _others(cluster: OpenBaoCluster, effective: Collection[str]) -> str:
    """Name the fences that match no server, and the pattern of server names; "" for none."""
    names = [name for name in cluster.spec.fenced_pods if name not in effective]
    if not names:
        return ""
    pool = serving_pool(cluster).stateful_set
    return (
        f". {', '.join(names)} in spec.fencedPods matches no server: the servers are named "
        f"{pool}-<number>; correct or remove it"
    )


def maintenance(spec: ClusterSpec) -> ConditionUpdate | None:
    """Condition Maintenance: actions that can be postponed are on hold."""
    if not spec.in_maintenance:
        return None
    message = "spec.maintenance.enabled is true: no pod is replaced or removed, repairs continue"
    return ConditionUpdate("Maintenance", "True", MAINTENANCE, message)


def requested_stop(spec: ClusterSpec, observed: Observed, *, initialized: bool) -> Hold | None:
    """Return why servers are stopped on purpose; None when the spec requests all of them."""
    if spec.hibernate and initialized:
        left = len(observed.pods)
        message = f"{left} servers are still stopping" if left else "no server runs"
        return Hold(HIBERNATED, f"spec.hibernate is true: {message}")
    if not spec.fenced_pods:
        return None
    others = sum(pod.ready for pod in observed.pods if pod.name not in spec.fenced_pods)
    if others < spec.replicas - len(spec.fenced_pods):
        # A server that is not fenced is missing.
        return None
    return Hold(
        PODS_FENCED,
        f"{others} of {spec.replicas} servers are ready; fenced by spec.fencedPods: "
        f"{', '.join(spec.fenced_pods)}",
    )
