"""The conditions of the servers: initialized, sealed, leader. Pure.

Called through the table of `managers.cluster.status.conditions`, which also uses the messages from
here.
"""

from __future__ import annotations

from contracts.conditions.condition import ConditionUpdate
from contracts.pools.voter_pool import serving_pool
from managers.bootstrap.seal.condition import why_sealed
from managers.cluster.status.inputs import ConditionFacts
from runtime.outcome import Blocked


def initialized_condition(facts: ConditionFacts) -> ConditionUpdate:
    if facts.initialized:
        return ConditionUpdate(
            "OpenBaoInitialized", "True", "Initialized", "OpenBao is initialized"
        )
    if isinstance(facts.outcome, Blocked) and facts.outcome.reason == "SelfInitFailed":
        return ConditionUpdate(
            "OpenBaoInitialized", "False", "SelfInitFailed", facts.outcome.message
        )
    return ConditionUpdate(
        "OpenBaoInitialized",
        "False",
        "NotInitialized",
        "The first server has not initialized the cluster yet"
        + why_not_ready(facts)
        + _earlier_end(facts),
    )


def sealed_condition(facts: ConditionFacts) -> ConditionUpdate:
    reason = why_sealed(facts.cluster, facts.observed) if facts.cluster else ""
    # Servers over data of an earlier cluster have never been ready here.
    if not facts.initialized and not reason:
        return ConditionUpdate(
            "OpenBaoSealed", "Unknown", "NotInitialized", "There is nothing to unseal"
        )
    if facts.hibernated:
        return ConditionUpdate(
            "OpenBaoSealed", "Unknown", "Hibernated", "No server runs: the cluster is hibernated"
        )
    pods = [pod for pod in facts.observed.servers if not pod.terminating and not pod.fence_gate]
    sealed = [pod.name for pod in pods if pod.registration.sealed]
    if sealed:
        return ConditionUpdate(
            "OpenBaoSealed",
            "True",
            "Sealed",
            f"Sealed: {', '.join(sealed)}{reason and '. '}{reason}",
        )
    unknown = [pod.name for pod in pods if pod.registration.sealed is None]
    if unknown or not pods:
        message = f"No seal status from: {', '.join(unknown)}" if pods else "No server runs"
        return ConditionUpdate("OpenBaoSealed", "Unknown", "Unknown", message)
    return ConditionUpdate("OpenBaoSealed", "False", "Unsealed", "Every server is unsealed")


def leader(facts: ConditionFacts) -> ConditionUpdate:
    match len(facts.observed.leaders):
        # The first server reports to be the leader before it serves, and to be ready even later.
        case 0 | 1 if not facts.initialized:
            return ConditionUpdate(
                "OpenBaoLeader", "False", "NotInitialized", "The first boot is not complete"
            )
        case 0 if facts.hibernated:
            return ConditionUpdate("OpenBaoLeader", "Unknown", "Hibernated", "No server runs")
        case 0:
            return ConditionUpdate(
                "OpenBaoLeader", "Unknown", "LeaderUnknown", "No server reports to be the leader"
            )
        case 1:
            name = facts.observed.leaders[0].name
            return ConditionUpdate("OpenBaoLeader", "True", "LeaderFound", f"{name} leads")
        case _:
            return ConditionUpdate("OpenBaoLeader", "False", "MultipleLeaders", leaders(facts))


def count(facts: ConditionFacts) -> str:
    return f"{facts.ready} of {facts.spec.replicas} servers are ready"


def why_not_ready(facts: ConditionFacts) -> str:
    """Name the first pod that cannot run and why, with the kubelet's or the scheduler's message.

    The operator may not read the events of a StatefulSet, so the user has to.
    """
    for pod in facts.observed.pods:
        if not pod.ready and pod.waiting:
            return f"; {pod.name} waits: {pod.waiting}"
    live = facts.observed.stateful_set
    if live is None or facts.cluster is None:
        return ""
    # The status of the StatefulSet counts a pod later than the watch of pods reports it.
    missing = min(live.missing_pods, live.replicas - len(facts.observed.pods))
    if missing > 0:
        name = serving_pool(facts.cluster).stateful_set
        return (
            f"; StatefulSet {name} has not created {missing} of its pods: the events of "
            f"`kubectl describe statefulset {name}` have the cause"
        )
    return ""


def _earlier_end(facts: ConditionFacts) -> str:
    """Refer to the log of a first server that crashes repeatedly.

    From OpenBao 2.5.3 on, a server whose self-init failed refuses every further start: it never
    becomes ready, and only its log has the cause.
    """
    for pod in facts.observed.pods:
        if not pod.ready and pod.restarts and pod.last_exit is not None:
            return (
                f"; {pod.name} exited {pod.restarts} times, last with code {pod.last_exit.code}: "
                f"read `kubectl logs {pod.name} --previous`"
            )
    return ""


def leaders(facts: ConditionFacts) -> str:
    pods = ", ".join(pod.name for pod in facts.observed.leaders)
    return f"Several servers report to be the leader: {pods}"
