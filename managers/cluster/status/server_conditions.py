"""What is said of the servers: initialised, sealed, led, ready. Pure.

Called through the table of `managers.cluster.status.conditions`, which also takes its words from
here.
"""

from __future__ import annotations

from contracts.conditions.condition import Finding
from managers.bootstrap.seal.condition import why_sealed
from managers.cluster.status.inputs import Facts
from runtime.outcome import Blocked


def initialized(facts: Facts) -> Finding:
    if facts.initialized:
        return Finding("OpenBaoInitialized", "True", "Initialized", "OpenBao is initialised")
    if isinstance(facts.outcome, Blocked) and facts.outcome.reason == "SelfInitFailed":
        return Finding("OpenBaoInitialized", "False", "SelfInitFailed", facts.outcome.message)
    return Finding(
        "OpenBaoInitialized",
        "False",
        "NotInitialized",
        "The first server has not initialised the cluster yet"
        + why_not_ready(facts)
        + _earlier_end(facts),
    )


def sealed(facts: Facts) -> Finding:
    why = why_sealed(facts.cluster, facts.observed) if facts.cluster else ""
    # Servers over data of an earlier cluster have never been ready here.
    if not facts.initialized and not why:
        return Finding("OpenBaoSealed", "Unknown", "NotInitialized", "There is nothing to unseal")
    if facts.asleep:
        return Finding(
            "OpenBaoSealed", "Unknown", "Hibernated", "No server runs: it was put to sleep"
        )
    pods = [pod for pod in facts.observed.servers if not pod.terminating and not pod.fence_gate]
    sealed = [pod.name for pod in pods if pod.registration.sealed]
    if sealed:
        return Finding(
            "OpenBaoSealed", "True", "Sealed", f"Sealed: {', '.join(sealed)}{why and '. '}{why}"
        )
    unknown = [pod.name for pod in pods if pod.registration.sealed is None]
    if unknown or not pods:
        message = f"Not heard from: {', '.join(unknown)}" if pods else "No server runs"
        return Finding("OpenBaoSealed", "Unknown", "Unknown", message)
    return Finding("OpenBaoSealed", "False", "Unsealed", "Every server is unsealed")


def leader(facts: Facts) -> Finding:
    match len(facts.observed.leaders):
        # The first server says that it leads before it serves; when it does is told a moment later.
        case 0 | 1 if not facts.initialized:
            return Finding("OpenBaoLeader", "False", "NotInitialized", "The first boot is not done")
        case 0 if facts.asleep:
            return Finding("OpenBaoLeader", "Unknown", "Hibernated", "No server runs")
        case 0:
            return Finding("OpenBaoLeader", "Unknown", "LeaderUnknown", "No server says it leads")
        case 1:
            name = facts.observed.leaders[0].name
            return Finding("OpenBaoLeader", "True", "LeaderFound", f"{name} leads")
        case _:
            return Finding("OpenBaoLeader", "False", "MultipleLeaders", leaders(facts))


def count(facts: Facts) -> str:
    return f"{facts.ready} of {facts.spec.replicas} servers are ready"


def why_not_ready(facts: Facts) -> str:
    """Name the first pod that cannot run and why, in the kubelet's or the scheduler's words."""
    for pod in facts.observed.pods:
        if not pod.ready and pod.waiting:
            return f"; {pod.name} waits: {pod.waiting}"
    return ""


def _earlier_end(facts: Facts) -> str:
    """Point at the log of a first server that ends again and again, where the reason is told.

    From OpenBao 2.5.3 on a server whose first boot failed refuses every further start, so it never
    becomes ready and nothing else would tell.
    """
    for pod in facts.observed.pods:
        if not pod.ready and pod.restarts and pod.last_exit is not None:
            return (
                f"; {pod.name} ended {pod.restarts} times, last with code {pod.last_exit.code}: "
                f"read `kubectl logs {pod.name} --previous`"
            )
    return ""


def leaders(facts: Facts) -> str:
    return f"These say that they lead: {', '.join(p.name for p in facts.observed.leaders)}"
