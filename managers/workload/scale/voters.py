"""Scaling of the voters. Pure.

Up, all at once: they start in parallel, and raft gives each its vote. Down, one voter at a time,
the highest ordinal first: it steps down if it is the leader, is removed from the raft cluster, and
only then its pod is deleted. A removed server stays running and ready, so a removal that began is
finished, whatever the spec requests by then. The only stored state is the annotation on the volume
(`managers.workload.scale.leftover_pvcs`): raft members, StatefulSet, pods and volumes give the
rest. Called by `managers.workload.plan`.
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
from managers.workload.rollout.quorum import majority, unreached
from managers.workload.scale.leftover_pvcs import answered, claim_at, is_marked, member, room, tidy
from managers.workload.scale.raft_peers import LeavingPeer, refusal, removal
from managers.workload.scale.replicas import SCALE_RECHECK, SCALING, Size, standing
from runtime.outcome import Blocked, Wait

BLOCKED = "ScaleDownBlocked"
# A user grants a missing right, and no event reports it.
BLOCKED_RECHECK = 60.0
Held = Wait | Blocked


def scale(resolved: Resolved, observed: Observed) -> Size:
    """Decide the number of pods, and the effects that the next change needs first."""
    count, desired = standing(resolved, observed), resolved.replicas
    back = _stranded(resolved, observed, count)
    if observed.stateful_set is None or back > count:
        # Remove no server while the StatefulSet is re-created, or while there is no leader.
        return Size(max(count, desired, back))
    if count > 1 and (count > desired or _is_leaving(resolved, observed, count - 1)):
        return _leave(resolved, observed, count)
    if count < desired:
        return replace(room(resolved, observed, count), operation=_joining(resolved, observed))
    effects, stopping = tidy(resolved, observed, count), _stopping(observed, count)
    if stopping:
        waits = Wait(SCALING, f"spec.replicas is {desired}; {stopping} stops")
        return Size(desired, waits, effects, Operation("Scaling", 0, 0))
    return Size(desired, effects=effects, operation=_joining(resolved, observed))


def asks(spec: ClusterSpec, observed: Observed) -> bool:
    """Return whether the members have to be read: a server may have to leave, or has left.

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
    """Return whether the removal of a server began."""
    claim = claim_at(observed, resolved.voter_pool, ordinal)
    if claim is None or claim.terminating or observed.pod(ordinal) is None:
        return False
    return is_marked(resolved, claim, resolved.voter_pool.pod(ordinal))


def _stranded(resolved: Resolved, observed: Observed, count: int) -> int:
    """Return how many servers a majority may need: voters whose pods were deleted by others.

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
    quorum = answered(observed)
    assert quorum is not None
    server = member(quorum, name)
    if server is not None:
        waits = _unsafe(observed, server, pod, count)
        if waits:
            return Size(count, Wait(SCALING, f"{message}; {waits}", SCALE_RECHECK), operation=busy)
        if pod is not None and pod.ready and pod in observed.leaders:
            return _hand_over(observed, pod, count, message)
    elif claim is None or is_marked(resolved, claim, name) or claim.owner_uid != resolved.owner.uid:
        return Size(ordinal, Wait(SCALING, f"{message}; {name} stops"), operation=busy, alone=True)
    effects = removal(resolved, observed, LeavingPeer(name, pod, claim))
    waits = f"{message}; {name} leaves the raft cluster"
    return Size(count, Wait(SCALING, waits, SCALE_RECHECK), effects, busy, alone=True)


def _held(resolved: Resolved, observed: Observed, count: int, message: str) -> Held | None:
    """Return why no server may leave now; None when one may."""
    live, quorum, rest = observed.stateful_set, observed.quorum, hold(resolved)
    if rest is not None:
        return Wait(rest.reason, f"{message}; {rest.message}")
    stopping = _stopping(observed, count)
    if stopping:
        return Wait(SCALING, f"{message}; {stopping} stops")
    if live is None or not live.settled:
        return Wait(SCALING, f"{message}; the StatefulSet controller has not seen that yet")
    if quorum is None:
        return Blocked(
            BLOCKED,
            f"{message}: the operator may not ask the leader for its members, so it takes no voter "
            "away (condition OperatorLoginReady says why it cannot log in): set spec.replicas to "
            f"{count}",
            BLOCKED_RECHECK,
        )
    if quorum.refused:
        return Blocked(
            BLOCKED,
            f"{message}: the operator takes no voter away, because it may not ask the leader for "
            f"its members: {quorum.trouble}; or set spec.replicas to {count}",
            BLOCKED_RECHECK,
        )
    if quorum.trouble:
        why = f"{message}; the leader could not be asked for its members: {quorum.trouble}"
        return Wait(SCALING, why, SCALE_RECHECK)
    refused = refusal(resolved, observed)
    if refused:
        return Blocked(
            BLOCKED,
            f"{message}: OpenBao does not let the operator remove a member: {refused}. Set "
            f"spec.replicas to {count}, or give its policy the capability update on "
            "sys/storage/raft/remove-peer",
            BLOCKED_RECHECK,
        )
    return None


def _unsafe(observed: Observed, server: RaftServer, pod: PodFacts | None, count: int) -> str:
    """Return why the other members need this one now; "" when they do not.

    A ready server leaves only when all others are healthy, so that never two are missing. A server
    that is not ready is missing already: it may leave as soon as the others are a majority.
    """
    quorum = answered(observed)
    assert quorum is not None
    others = [one for one in quorum.servers if one.node_id != server.node_id]
    if pod is None or not pod.ready:
        voters = sum(one.voter for one in quorum.servers)
        healthy = sum(one.voter and one.healthy for one in others)
        if not server.voter or healthy >= majority(voters):
            return ""
        return (
            f"{server.node_id} is a voter that is not ready, and {healthy} others are healthy of "
            f"{majority(voters)} that are needed"
        )
    absent = [one.name for one in observed.pods if not one.ready]
    if absent or len(observed.pods) < count:
        return f"not ready: {', '.join(absent) or 'a pod that is missing'}"
    return _unwell(quorum, others)


def _unwell(quorum: Quorum, others: list[RaftServer]) -> str:
    unhealthy = [one.node_id for one in quorum.servers if one.voter and not one.healthy]
    if unhealthy:
        return f"the leader does not find these well: {', '.join(unhealthy)}"
    late = unreached(one for one in others if one.voter)
    if late:
        return late
    if not any(one.voter for one in others):
        return "no other server is a voter"
    return ""


def _hand_over(observed: Observed, leader: PodFacts, count: int, message: str) -> Size:
    """Have the leader step down before it leaves."""
    attempt, busy = observed.attempted(StepDown.name, leader.uid), Operation("Scaling", 0, 0)
    if attempt is not None and attempt.refused:
        blocked = Blocked(
            BLOCKED,
            f"{message}: {leader.name} leads, and OpenBao does not let the operator ask it to step "
            f"down: {attempt.refused}. Let it hand over (`bao operator step-down`), or "
            f"set spec.replicas to {count}",
            BLOCKED_RECHECK,
        )
        return Size(count, blocked, operation=busy)
    effects: tuple[Effect, ...] = ()
    if attempt is None or observed.now - attempt.at >= STEP_DOWN_AGAIN:
        effects = ask_leader(leader, observed.client_config)
    waits = Wait(SCALING, f"{message}; {leader.name} leads and steps down first", SCALE_RECHECK)
    return Size(count, waits, effects, busy, alone=True)


def _stopping(observed: Observed, count: int) -> str:
    """Name the pods that the StatefulSet removed and that still exist; "" for none."""
    return ", ".join(pod.name for pod in observed.pods if pod.ordinal >= count)


def _joining(resolved: Resolved, observed: Observed) -> Operation | None:
    """Count the voters while new servers join."""
    desired, voters = resolved.replicas, resolved.voters
    if voters is None or observed.members is None or voters >= desired:
        return None
    ready = sum(pod.ready for pod in observed.pods)
    if ready >= desired and observed.members < desired:
        # No server is joining: one runs and is no member.
        return None
    return Operation("Scaling", voters, desired)
