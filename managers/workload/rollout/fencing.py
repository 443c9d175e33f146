"""Fencing: the server of a pod stops and stays stopped, and its volume is kept. Pure.

While spec.fencedPods is set the pod template has a scheduling gate, so that a new pod stays
unscheduled and its volume is mounted nowhere. A fenced pod is deleted once, by UID, and is created
again behind the gate; the operator removes the gate from every other new pod
(docs/adr/20261122-fence-by-scheduling-gate.md). Pod and template are the only state.
Called by `managers.workload.plan`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from contracts.api.cluster.spec import ClusterSpec
from contracts.records.desired import Operation
from contracts.records.effects import Effect, FencePod, StepDown, UngatePod
from contracts.records.observed import Observed, PodFacts
from contracts.records.resolved import Resolved
from managers.workload.rollout.holds import restore_hold
from managers.workload.rollout.next_pod import STEP_DOWN_AGAIN, ask_leader
from managers.workload.rollout.quorum import QUESTION_RECHECK, majority
from runtime.outcome import Blocked, Done, Outcome, Wait

FENCING = "Fencing"
REFUSED = "FencingRefused"
# The leader's view of its followers changes without any event.
ASK_AGAIN = 3.0
REFUSED_RECHECK = 15.0
CONTENT = Done()


@dataclass(frozen=True, slots=True)
class Fence:
    """Effects and outcome of fencing in one reconcile."""

    effects: tuple[Effect, ...] = ()
    outcome: Outcome = CONTENT
    operation: Operation | None = None


REST = Fence()


def fence(resolved: Resolved, observed: Observed) -> Fence:
    """Ungate the pods that are not fenced, and stop the next one that is."""
    opened = tuple(
        UngatePod(pod.name, pod.uid)
        for pod in observed.pods
        if pod.fence_gate and pod.name not in resolved.fenced and not pod.terminating
    )
    if not resolved.fenced or resolved.hibernate:
        return Fence(opened) if opened else REST
    stopped = [pod for pod in observed.pods if _is_fenced(pod, resolved.fenced)]
    total = len(resolved.fenced)
    if len(stopped) == total:
        return Fence(opened)
    effects, outcome = _next_step(resolved, observed)
    return Fence((*opened, *effects), outcome, Operation("Fencing", len(stopped), total))


def needs_quorum(spec: ClusterSpec, observed: Observed) -> bool:
    """Return whether a pod is about to be stopped, so that the quorum must be read."""
    live = observed.stateful_set
    if live is None or not live.fence_gate or spec.hibernate or live.replicas < 2:
        return False
    return bool(_pods_to_stop(observed, spec.fenced_pods))


def fenced_pods(observed: Observed, names: Collection[str]) -> tuple[PodFacts, ...]:
    """Return the pods of these names whose server has stopped and cannot start."""
    return tuple(pod for pod in observed.pods if _is_fenced(pod, names))


def _is_fenced(pod: PodFacts, names: Collection[str]) -> bool:
    return pod.name in names and pod.fence_gate and not pod.terminating


def _pods_to_stop(observed: Observed, names: Collection[str]) -> tuple[PodFacts, ...]:
    """Return the pods to stop that still run."""
    return tuple(
        pod
        for pod in observed.pods
        if pod.name in names and not pod.fence_gate and not pod.terminating
    )


def _next_step(resolved: Resolved, observed: Observed) -> tuple[tuple[Effect, ...], Outcome]:
    live = observed.stateful_set
    running = _pods_to_stop(observed, resolved.fenced)
    message = f"to be stopped: {', '.join(pod.name for pod in running)}"
    if live is None or not live.fence_gate or not live.generation_observed:
        return (), Wait(FENCING, f"{message}; the template has no scheduling gate yet")
    leaving = [pod.name for pod in observed.pods if pod.terminating]
    if leaving or not running:
        return (), Wait(FENCING, f"waiting for {', '.join(leaving or resolved.fenced)}")
    hold = restore_hold(resolved)
    if hold is not None:
        # A server that does not run receives no data either way.
        running = tuple(pod for pod in running if pod.is_down)
        if not running:
            return (), Wait(hold.reason, f"{message}; {hold.message}")
    leaders = {pod.uid for pod in observed.leaders}
    target = min(running, key=lambda pod: (pod.uid in leaders, -pod.ordinal))
    blocked = _blocking_reason(observed, target, live.replicas)
    if blocked:
        return (), blocked
    if target.uid in leaders and observed.quorum is not None:
        return _hand_over(observed, target)
    return (FencePod(target.name, target.uid),), Wait(FENCING, message)


def _hand_over(observed: Observed, leader: PodFacts) -> tuple[tuple[Effect, ...], Outcome]:
    attempt, client_config = (
        observed.last_attempt(StepDown.name, leader.uid),
        observed.client_config,
    )
    if (attempt is not None and attempt.refusal) or client_config is None:
        # The server gives up leadership on SIGTERM.
        return (FencePod(leader.name, leader.uid),), Wait(FENCING, f"stopping {leader.name}")
    waiting = Wait(
        FENCING, f"{leader.name} is the leader and was asked to step down first", ASK_AGAIN
    )
    if attempt is not None and observed.now - attempt.at < STEP_DOWN_AGAIN:
        return (), waiting
    return ask_leader(leader, client_config), waiting


def _blocking_reason(observed: Observed, target: PodFacts, size: int) -> Wait | Blocked | None:
    """Return why the target may not stop now: without it there would be no quorum."""
    quorum = observed.quorum
    if target.is_down:
        return None
    if quorum is None:
        others = sum(pod.ready for pod in observed.pods if pod.uid != target.uid)
        return None if others >= majority(size) else _quorum_refusal(target, others, majority(size))
    if quorum.error:
        message = f"{target.name} keeps running: {quorum.error_message}"
        return Wait(FENCING, message, QUESTION_RECHECK if quorum.refused_path else ASK_AGAIN)
    voters = [server for server in quorum.servers if server.voter]
    others = sum(
        server.healthy and server.follows for server in voters if server.node_id != target.name
    )
    needed = majority(len(voters))
    return None if others >= needed else _quorum_refusal(target, others, needed)


def _quorum_refusal(target: PodFacts, others: int, needed: int) -> Blocked:
    return Blocked(
        REFUSED,
        f"spec.fencedPods: {target.name} keeps running, because {others} healthy voters would be "
        f"left and {needed} are needed: repair the other servers, or remove {target.name} from "
        "the list",
        REFUSED_RECHECK,
    )
