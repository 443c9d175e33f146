"""Number of read replicas, and the removal of one of them. Pure.

They have no vote, so a removal never affects the quorum and needs no step-down: the raft peer is
removed first, then the pod, then the volume by the deletion policy of the cluster. The highest
ordinal goes first, one at a time. A replica that a user promoted is not removed.
"""

from __future__ import annotations

from contracts.api.cluster.spec import ClusterSpec
from contracts.naming import names
from contracts.records.desired import Operation
from contracts.records.effects import Effect
from contracts.records.observed import Observed, PoolFacts, PvcFacts, Quorum
from contracts.records.resolved import Resolved
from managers.workload.rollout.holds import hold
from managers.workload.rollout.quorum import wait_for_answer
from managers.workload.scale.leftover_pvcs import (
    STALE,
    discard,
    is_disposable,
    is_marked,
    member,
    reported_quorum,
)
from managers.workload.scale.raft_peers import LeavingPeer, leader_of, refusal, removal
from managers.workload.scale.replicas import Size
from runtime.outcome import Blocked, Wait

LEAVING = "ReadReplicasLeaving"
VOTES = "ReadReplicaVotes"
REMOVAL_REFUSED = "ReadReplicaRemovalRefused"
NO_LEADER = "LeaderUnknown"
# The members that a leader reports change without any event.
RECHECK = 2.0


def desired_replicas(spec: ClusterSpec) -> int:
    """Return the number of read replicas of a spec."""
    return spec.read_replicas.replicas if spec.read_replicas else 0


def current_replicas(pool: PoolFacts) -> int:
    """Return the current number of replicas, whether or not the StatefulSet exists."""
    if pool.stateful_set is not None:
        return pool.stateful_set.replicas
    return max((pod.ordinal for pod in pool.pods), default=-1) + 1


def needs_members(spec: ClusterSpec, observed: Observed) -> bool:
    """Return whether the members must be read: a replica must be removed, or was removed.

    Not in a cluster that matches its spec: volumes that are retained on purpose do not count.
    """
    if spec.hibernate:
        return False
    desired, pool = desired_replicas(spec), observed.read
    current = current_replicas(pool)
    if not desired and pool.stateful_set is None and not pool.pods:
        # There is no plan for read replicas: the remaining volumes are retained on purpose.
        return False
    if desired < current or (desired > current and pool.claims):
        return True
    keeps = spec.deletion_policy == "Retain"
    return any(not (keeps and claim.removed_peer) for _, claim in _leftover_volumes(pool, desired))


def _leftover_volumes(pool: PoolFacts, count: int) -> tuple[tuple[int, PvcFacts], ...]:
    """Return the volumes of read replicas that are not among the first `count`, last first."""
    # The name of each of these PVCs ends with the ordinal of its pod.
    by_ordinal = ((int(claim.name.rpartition("-")[2]), claim) for claim in pool.claims)
    beyond = (
        (ordinal, claim)
        for ordinal, claim in by_ordinal
        if ordinal >= count and not claim.terminating
    )
    return tuple(sorted(beyond, key=lambda entry: -entry[0]))


def needs_votes(spec: ClusterSpec, observed: Observed) -> bool:
    """Return whether the voters must be read: a read replica must be replaced."""
    del spec
    live = observed.read.stateful_set
    return live is not None and any(pod.template != live.template for pod in observed.read.pods)


def read_size(resolved: Resolved, observed: Observed, desired: int) -> Size:
    """Decide the number of pods now; `desired` is the final number."""
    if resolved.hibernate:
        # Hibernated replicas stay members, and their volumes are retained.
        return Size(0)
    current = current_replicas(observed.read)
    if desired > current:
        return _scale_up(resolved, observed, desired, current)
    if desired < current:
        return _scale_down(resolved, observed, desired, current)
    return _clean_up(resolved, observed, desired)


def _scale_up(resolved: Resolved, observed: Observed, desired: int, current: int) -> Size:
    """Scale up in one step, as soon as there is a leader and no volume blocks it."""
    if leader_of(observed) is None:
        message = f"{desired - current} more read replicas wait for a leader to join"
        return Size(current, Wait(NO_LEADER, message, RECHECK))
    volumes = {claim.name: claim for claim in observed.read.claims}
    for ordinal in range(current, desired):
        claim = volumes.get(names.read_data_claim(resolved.name, ordinal))
        step = None if claim is None else _blocking_volume(resolved, observed, ordinal, claim)
        if step is not None:
            return step
    return Size(desired)


def _blocking_volume(
    resolved: Resolved, observed: Observed, ordinal: int, claim: PvcFacts
) -> Size | None:
    """Decide about the volume that a read replica would start with; None if it may use it.

    As for a voter (managers.workload.scale.leftover_pvcs), the volume of a removed server is
    deleted first.
    """
    name, quorum = names.read_pod(resolved.name, ordinal), observed.quorum
    message = f"{name} starts with an empty volume after its former one ({claim.name}) is deleted"
    marked = is_marked(resolved, claim, name)
    if claim.terminating:
        return Size(ordinal, Wait(LEAVING, message, RECHECK))
    if quorum is None:
        # The members are unknown: a server whose volume has no annotation may be one, and starts.
        return Size(ordinal, _stale_volume(name, claim, ordinal)) if marked else None
    if quorum.error:
        why = "the leader did not report the members"
        return Size(ordinal, wait_for_answer(quorum, NO_LEADER, why, RECHECK))
    joined = member(quorum, name)
    if marked:
        peer = LeavingPeer(name, claim=claim)
        effects = removal(resolved, observed, peer) if joined else discard((claim,))
        return Size(ordinal, Wait(LEAVING, message, RECHECK), effects)
    return None if joined else Size(ordinal, _stale_volume(name, claim, ordinal))


def _scale_down(resolved: Resolved, observed: Observed, desired: int, current: int) -> Size:
    """Remove the highest ordinal; wait while its membership is not known."""
    name = names.read_pod(resolved.name, current - 1)
    message = f"{current - desired} read replicas are being removed, {name} first"
    count = Operation("Draining", 0, current - desired)
    on_hold = hold(resolved)
    if on_hold is not None:
        return Size(current, Wait(on_hold.reason, f"{message}; {on_hold.message}"))
    stopping = [pod.name for pod in observed.read.pods if pod.ordinal >= current]
    if stopping:
        stops = f"{message}; waiting for {', '.join(stopping)} to stop"
        return Size(current, Wait(LEAVING, stops), (), count)
    if (
        observed.stateful_set is None
        or observed.client_config is None
        or leader_of(observed) is None
    ):
        return Size(
            current, Wait(NO_LEADER, f"{message}; no leader is available", RECHECK), (), count
        )
    if observed.quorum is None:
        # Without a login the members can neither be read nor changed. The server stays a member
        # and keeps its volume: it may start again, and has no vote that would affect the quorum.
        return Size(current - 1, Wait(LEAVING, message, RECHECK), (), count)
    if observed.quorum.error:
        why = f"{message}; the leader did not report the members"
        waits = wait_for_answer(observed.quorum, NO_LEADER, why, RECHECK)
        return Size(current, waits, (), count)
    step = _removal_step(resolved, observed, observed.quorum, current - 1)
    if step is None:
        return Size(current - 1, Wait(LEAVING, message, RECHECK), (), count)
    if isinstance(step, Blocked):
        return Size(current, step, (), count)
    return Size(current, Wait(LEAVING, message, RECHECK), step, count)


def _clean_up(resolved: Resolved, observed: Observed, desired: int) -> Size:
    """Clean up after removed read replicas: their membership, then their volume.

    A replica that was removed while hibernated has no pod and no ordinal in the StatefulSet: only
    its volume shows that it existed.
    """
    volumes = _leftover_volumes(observed.read, desired)
    quorum = reported_quorum(observed)
    if volumes and observed.quorum is not None and (quorum is None or not leader_of(observed)):
        message = "the leader must report its members before leftover volumes can be deleted"
        return Size(desired, wait_for_answer(observed.quorum, NO_LEADER, message, RECHECK))
    if quorum is None or hold(resolved):
        return Size(desired)
    pods = {pod.ordinal for pod in observed.read.pods}
    for ordinal, claim in volumes:
        if ordinal in pods:
            continue
        step = _removal_step(resolved, observed, quorum, ordinal)
        if isinstance(step, Blocked):
            return Size(desired, step)
        name = names.read_pod(resolved.name, ordinal)
        if step is not None:
            return Size(
                desired, Wait(LEAVING, f"removing {name} from the raft cluster", RECHECK), step
            )
        if not resolved.keeps_volumes and is_disposable(resolved, observed, claim, name):
            message = f"deleting volume {claim.name}: its server left the raft cluster"
            return Size(desired, Wait(LEAVING, message, RECHECK), discard((claim,)))
    return Size(desired)


def _removal_step(
    resolved: Resolved, observed: Observed, quorum: Quorum, ordinal: int
) -> tuple[Effect, ...] | Blocked | None:
    """Return how to remove a read replica from raft; None when that is done and annotated."""
    name = names.read_pod(resolved.name, ordinal)
    volume = names.read_data_claim(resolved.name, ordinal)
    joined = member(quorum, name)
    pod = next((pod for pod in observed.read.pods if pod.name == name), None)
    claim = next((pvc for pvc in observed.read.claims if pvc.name == volume), None)
    owned = claim is not None and claim.owner_uid == resolved.owner.uid
    noted = claim is None or not owned or claim.terminating or bool(claim.removed_peer)
    if joined is None and noted:
        return None
    if joined is not None and joined.voter:
        return _voter_refusal(name, ordinal)
    refused = refusal(resolved, observed)
    if refused:
        return _removal_refusal(name, refused)
    return removal(resolved, observed, LeavingPeer(name, pod, claim))


def _stale_volume(name: str, claim: PvcFacts, count: int) -> Blocked:
    return Blocked(
        STALE,
        f"{name} is not known to be a member of the raft cluster, and volume {claim.name} holds "
        "the data of an earlier server: a server that starts with it never joins. If that data is "
        f"not needed, `kubectl delete pvc {claim.name}`; otherwise set "
        f"spec.readReplicas.replicas to {count}",
    )


def _voter_refusal(name: str, desired: int) -> Blocked:
    return Blocked(
        VOTES,
        f"spec.readReplicas.replicas is {desired}, and {name} is a voter: a user promoted it, and "
        "only read replicas without a vote are removed. Demote it (`bao write "
        f"sys/storage/raft/demote server_id={name}`), and the operator removes it",
        recheck_after=30.0,
    )


def _removal_refusal(name: str, why: str) -> Blocked:
    return Blocked(
        REMOVAL_REFUSED,
        f"OpenBao does not let the operator remove {name} from the raft cluster: {why}. Grant its "
        "policy update on sys/storage/raft/remove-peer, or remove the peer yourself: "
        f"`bao operator raft remove-peer {name}`",
        recheck_after=30.0,
    )
