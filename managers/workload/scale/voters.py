"""Scaling of the voters. Pure.

A scale-up starts all new servers in parallel, and the autopilot promotes each. A scale-down removes
one voter at a time, the highest ordinal first: it steps down if it is the leader, is removed from
the raft cluster, and then its pod is deleted. A removed server stays running and ready, so a
removal that began is completed, even if the spec changes meanwhile. The only stored state is the
annotation on the volume (`managers.workload.scale.leftover_pvcs`): the rest is derived from raft
members, StatefulSet, pods and volumes. Called by `managers.workload.plan`.
"""

from __future__ import annotations

from dataclasses import replace

from contracts.api.cluster.spec import ClusterSpec
from contracts.records.desired import Operation
from contracts.records.effects import Effect, StepDown
from contracts.records.observed import Observed, PodFacts, Quorum, RaftServer
from contracts.records.resolved import Resolved
from managers.workload.rollout.holds import hold
from managers.workload.rollout.next_pod import STEP_DOWN_AGAIN, ask_leader
from managers.workload.rollout.quorum import majority, name_unreachable
from managers.workload.scale.leftover_pvcs import (
    claim_at,
    cleanup_effects,
    is_marked,
    member,
    reported_quorum,
    startable_replicas,
)
from managers.workload.scale.raft_peers import LeavingPeer, refusal, removal
from managers.workload.scale.replicas import SCALE_RECHECK, SCALING, Size, current_replicas
from runtime.outcome import Blocked, Wait

BLOCKED = "ScaleDownBlocked"
# No event reports that a user granted a missing right.
BLOCKED_RECHECK = 60.0
Held = Wait | Blocked


def scale(resolved: Resolved, observed: Observed) -> Size:
    """Decide the number of pods, and the effects that must precede the next change."""
    count, desired = current_replicas(resolved, observed), resolved.replicas
    back = _size_for_majority(resolved, observed, count)
    if observed.stateful_set is None or back > count:
        # Remove no server while the StatefulSet is re-created, or while there is no leader.
        return Size(max(count, desired, back))
    if count > 1 and (count > desired or _is_leaving(resolved, observed, count - 1)):
        return _leave(resolved, observed, count)
    if count < desired:
        return replace(
            startable_replicas(resolved, observed, count),
            operation=_join_operation(resolved, observed),
        )
    effects, stopping = cleanup_effects(resolved, observed, count), _stopping_pods(observed, count)
    if stopping:
        waits = Wait(SCALING, f"spec.replicas is {desired}; waiting for {stopping} to stop")
        return Size(desired, waits, effects, Operation("Scaling", 0, 0))
    return Size(desired, effects=effects, operation=_join_operation(resolved, observed))


def needs_quorum(spec: ClusterSpec, observed: Observed) -> bool:
    """Return whether the members must be read: a server may be removed, or was removed.

    Not in a cluster that matches its spec: volumes that are retained on purpose do not count.
    """
    live = observed.stateful_set
    if live is None or spec.hibernate:
        return False
    if spec.replicas != live.replicas and (spec.replicas < live.replicas or observed.claims):
        return True
    if observed.members is not None and observed.members > live.replicas:
        return True
    keeps = spec.deletion_policy == "Retain"
    pods = {pod.ordinal for pod in observed.pods}
    return any(
        claim.removed_peer and not claim.terminating and (not keeps or _ordinal(claim.name) in pods)
        for claim in observed.claims
    )


def _ordinal(claim: str) -> int:
    # The name of each of these PVCs ends with the ordinal of its pod.
    return int(claim.rpartition("-")[2])


def _is_leaving(resolved: Resolved, observed: Observed, ordinal: int) -> bool:
    """Return whether the removal of a server began, and OpenBao did not refuse it."""
    claim = claim_at(observed, resolved.voter_pool, ordinal)
    if claim is None or claim.terminating or observed.pod(ordinal) is None:
        return False
    name = resolved.voter_pool.pod(ordinal)
    if not is_marked(resolved, claim, name):
        return False
    quorum = reported_quorum(observed)
    is_member = quorum is not None and member(quorum, name) is not None
    return not (is_member and refusal(resolved, observed))


def _size_for_majority(resolved: Resolved, observed: Observed, count: int) -> int:
    """Return how many servers a majority may need, including voters whose pods others deleted.

    Only while there is no leader, and only voters whose volumes exist and are not annotated as
    removed.
    """
    if observed.leaders or not resolved.voters:
        return 0
    back = count
    while back < resolved.voters:
        claim = claim_at(observed, resolved.voter_pool, back)
        if claim is None or claim.terminating or claim.removed_peer:
            break
        if claim.owner_uid != resolved.owner.uid:
            break
        back += 1
    return back if back > count else 0


def _leave(resolved: Resolved, observed: Observed, count: int) -> Size:
    """Remove the highest ordinal, or report what that waits for."""
    ordinal = count - 1
    name, pod = resolved.voter_pool.pod(ordinal), observed.pod(ordinal)
    claim = claim_at(observed, resolved.voter_pool, ordinal)
    message = f"spec.replicas is {resolved.replicas} and {count} servers run"
    busy = Operation("Scaling", 0, 0)
    held = _held(resolved, observed, count, message)
    if held is not None:
        return Size(count, held, operation=busy)
    quorum = reported_quorum(observed)
    assert quorum is not None
    server = member(quorum, name)
    if server is not None:
        waits = _unsafe(observed, server, pod, count)
        if waits:
            return Size(count, Wait(SCALING, f"{message}; {waits}", SCALE_RECHECK), operation=busy)
        if pod is not None and pod.ready and pod in observed.leaders:
            return _hand_over(observed, pod, count, message)
    elif claim is None or is_marked(resolved, claim, name) or claim.owner_uid != resolved.owner.uid:
        wait = Wait(SCALING, f"{message}; stopping {name}")
        return Size(ordinal, wait, operation=busy, alone=True)
    effects = removal(resolved, observed, LeavingPeer(name, pod, claim))
    waits = f"{message}; removing {name} from the raft cluster"
    return Size(count, Wait(SCALING, waits, SCALE_RECHECK), effects, busy, alone=True)


def _held(resolved: Resolved, observed: Observed, count: int, message: str) -> Held | None:
    """Return why no server may leave now; None when one may."""
    live, quorum, on_hold = observed.stateful_set, observed.quorum, hold(resolved)
    if on_hold is not None:
        return Wait(on_hold.reason, f"{message}; {on_hold.message}")
    stopping = _stopping_pods(observed, count)
    if stopping:
        return Wait(SCALING, f"{message}; waiting for {stopping} to stop")
    if live is None or not live.generation_observed:
        return Wait(SCALING, f"{message}; the StatefulSet controller has not observed it yet")
    if quorum is None:
        return Blocked(
            BLOCKED,
            f"{message}: the operator cannot read the raft members, so it removes no voter "
            "(condition OperatorLoginReady reports why it cannot log in): set spec.replicas to "
            f"{count}",
            BLOCKED_RECHECK,
        )
    if quorum.refused_path:
        return Blocked(
            BLOCKED,
            f"{message}: the operator removes no voter, because it may not read the raft "
            f"members: {quorum.error}; or set spec.replicas to {count}",
            BLOCKED_RECHECK,
        )
    if quorum.error:
        why = f"{message}; the leader did not report its members: {quorum.error}"
        return Wait(SCALING, why, SCALE_RECHECK)
    refused = refusal(resolved, observed)
    if refused:
        return Blocked(
            BLOCKED,
            f"{message}: OpenBao does not let the operator remove a member: {refused}. Set "
            f"spec.replicas to {count}, or grant its policy the capability update on "
            "sys/storage/raft/remove-peer",
            BLOCKED_RECHECK,
        )
    return None


def _unsafe(observed: Observed, server: RaftServer, pod: PodFacts | None, count: int) -> str:
    """Return why the other members need this one now; "" when they do not.

    A ready server is removed only when all others are healthy, so that never two are missing. A
    server that is not ready is already missing: it may be removed when the others are a majority.
    """
    quorum = reported_quorum(observed)
    assert quorum is not None
    others = [peer for peer in quorum.servers if peer.node_id != server.node_id]
    if pod is None or not pod.ready:
        voters = sum(peer.voter for peer in quorum.servers)
        healthy = sum(peer.voter and peer.healthy for peer in others)
        if not server.voter or healthy >= majority(voters):
            return ""
        return (
            f"{server.node_id} is a voter that is not ready, and {healthy} of {majority(voters)} "
            "required others are healthy"
        )
    unready = [other.name for other in observed.pods if not other.ready]
    if unready or len(observed.pods) < count:
        return f"not ready: {', '.join(unready) or 'a missing pod'}"
    return _unhealthy(quorum, others)


def _unhealthy(quorum: Quorum, others: list[RaftServer]) -> str:
    unhealthy = [peer.node_id for peer in quorum.servers if peer.voter and not peer.healthy]
    if unhealthy:
        return f"the leader reports these as unhealthy: {', '.join(unhealthy)}"
    late = name_unreachable(peer for peer in others if peer.voter)
    if late:
        return late
    if not any(peer.voter for peer in others):
        return "no other server is a voter"
    return ""


def _hand_over(observed: Observed, leader: PodFacts, count: int, message: str) -> Size:
    """Have the leader step down before it is removed."""
    attempt, busy = observed.last_attempt(StepDown.name, leader.uid), Operation("Scaling", 0, 0)
    if attempt is not None and attempt.refusal:
        blocked = Blocked(
            BLOCKED,
            f"{message}: {leader.name} is the leader, and OpenBao does not let the operator ask it "
            f"to step down: {attempt.refusal}. Step it down yourself (`bao operator step-down`), "
            f"or set spec.replicas to {count}",
            BLOCKED_RECHECK,
        )
        return Size(count, blocked, operation=busy)
    effects: tuple[Effect, ...] = ()
    if attempt is None or observed.now - attempt.at >= STEP_DOWN_AGAIN:
        effects = ask_leader(leader, observed.client_config)
    waits = Wait(SCALING, f"{message}; the leader {leader.name} steps down first", SCALE_RECHECK)
    return Size(count, waits, effects, busy, alone=True)


def _stopping_pods(observed: Observed, count: int) -> str:
    """Name the pods that the StatefulSet removed and that still exist; "" for none."""
    return ", ".join(pod.name for pod in observed.pods if pod.ordinal >= count)


def _join_operation(resolved: Resolved, observed: Observed) -> Operation | None:
    """Count the voters while new servers join."""
    desired, voters = resolved.replicas, resolved.voters
    if voters is None or observed.members is None or voters >= desired:
        return None
    ready = sum(pod.ready for pod in observed.pods)
    if ready >= desired and observed.members < desired:
        # No server is joining: one runs, but is not a member.
        return None
    return Operation("Scaling", voters, desired)
