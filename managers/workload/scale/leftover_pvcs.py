"""PVCs of removed servers: which can be deleted, and which block the start of a server. Pure.

A server that starts with the data of a removed member never joins again (OpenBao 2.4.0:
retry_join acts on empty storage only): it runs and is ready, but is not a member. So the volume of
a removed server is deleted before its ordinal starts again. Deletion requires two facts: an
annotation that the operator set before it requested the removal, and a member list of the leader
without that server (docs/adr/20261122-volumes-of-removed-servers.md).
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts.pools.voter_pool import ServerPool
from contracts.records.effects import DeleteClaim, Effect
from contracts.records.observed import Observed, PvcFacts, Quorum, RaftServer
from contracts.records.resolved import Resolved
from managers.workload.rollout.quorum import wait_for_answer
from managers.workload.scale.raft_peers import LeavingPeer, leader_of, removal
from managers.workload.scale.replicas import SCALE_RECHECK, SCALING, Size
from runtime.outcome import Blocked, Wait

STALE = "StaleVolume"


def reported_quorum(observed: Observed) -> Quorum | None:
    """Return the members that the leader reported; None without an answer."""
    quorum = observed.quorum
    return None if quorum is None or quorum.error else quorum


def member(quorum: Quorum, node_id: str) -> RaftServer | None:
    """Return a member by its node ID; None when there is no such member."""
    return next((server for server in quorum.servers if server.node_id == node_id), None)


def claim_at(observed: Observed, voters: ServerPool, ordinal: int) -> PvcFacts | None:
    """Return the data volume of a voter."""
    name = voters.data_claim(ordinal)
    return next((claim for claim in observed.claims if claim.name == name), None)


def is_marked(resolved: Resolved, claim: PvcFacts | None, node_id: str) -> bool:
    """Return whether the operator annotated an owned volume for the removal of this server."""
    return (
        claim is not None
        and claim.owner_uid == resolved.owner.uid
        and claim.removed_peer == node_id
    )


def is_disposable(resolved: Resolved, observed: Observed, claim: PvcFacts, node_id: str) -> bool:
    """Return whether the data on a volume without a pod is certainly not needed."""
    quorum = reported_quorum(observed)
    return (
        quorum is not None
        and not claim.terminating
        and is_marked(resolved, claim, node_id)
        and member(quorum, node_id) is None
    )


def discard(claims: Iterable[PvcFacts]) -> tuple[Effect, ...]:
    """Delete volumes, each by its UID."""
    return tuple(DeleteClaim(claim.name, claim.uid) for claim in claims)


def unused_pvcs(
    resolved: Resolved, observed: Observed, first: int
) -> tuple[tuple[int, PvcFacts], ...]:
    """Return the volumes of ordinals from `first` on that no pod uses."""
    voters = resolved.voter_pool
    by_ordinal = ((voters.claim_ordinal_of(claim.name), claim) for claim in observed.claims)
    return tuple(
        (ordinal, claim)
        for ordinal, claim in by_ordinal
        if ordinal is not None and ordinal >= first and observed.pod(ordinal) is None
    )


def cleanup_effects(resolved: Resolved, observed: Observed, count: int) -> tuple[Effect, ...]:
    """Clean up after removed servers: at most one member, and volumes by the deletion policy.

    `count`: the current number of replicas of the StatefulSet; the spec requests no fewer.
    """
    quorum = reported_quorum(observed)
    if quorum is None or leader_of(observed) is None:
        return ()
    volumes = dict(unused_pvcs(resolved, observed, count))
    for server in quorum.servers:
        ordinal = resolved.voter_pool.ordinal_of(server.node_id)
        # The operator did not create a server with any other name.
        if ordinal is not None and ordinal >= count and observed.pod(ordinal) is None:
            return removal(
                resolved, observed, LeavingPeer(server.node_id, claim=volumes.get(ordinal))
            )
    if resolved.keeps_volumes:
        return ()
    return discard(
        claim
        for ordinal, claim in volumes.items()
        if is_disposable(resolved, observed, claim, resolved.voter_pool.pod(ordinal))
    )


def startable_replicas(resolved: Resolved, observed: Observed, count: int) -> Size:
    """Decide how many of the desired servers may start; `count` exist."""
    for ordinal in range(count, resolved.replicas):
        claim = claim_at(observed, resolved.voter_pool, ordinal)
        if claim is None or observed.pod(ordinal) is not None:
            continue
        blocked = _blocking_volume(resolved, observed, ordinal, claim)
        if blocked is not None:
            return blocked
    return Size(resolved.replicas)


def _blocking_volume(
    resolved: Resolved, observed: Observed, ordinal: int, claim: PvcFacts
) -> Size | None:
    node_id = resolved.voter_pool.pod(ordinal)
    quorum, message = reported_quorum(observed), f"spec.replicas is {resolved.replicas}: {node_id}"
    if claim.terminating:
        return Size(
            ordinal, Wait(SCALING, f"{message} starts after volume {claim.name} is deleted")
        )
    if quorum is None:
        return _unknown_members(resolved, observed, ordinal, claim)
    if is_marked(resolved, claim, node_id):
        if member(quorum, node_id) is not None:
            effects = removal(resolved, observed, LeavingPeer(node_id, claim=claim))
        else:
            effects = discard((claim,))
        message += " starts with an empty volume after its former one is deleted"
        return Size(ordinal, Wait(SCALING, message, SCALE_RECHECK), effects)
    if member(quorum, node_id) is not None:
        return None
    return Size(
        ordinal,
        Blocked(
            STALE,
            f"{message} is not a member of the raft cluster, and volume {claim.name} holds the "
            "data of an earlier server: a server that starts with it never joins. If that data is "
            f"not needed, `kubectl delete pvc {claim.name}`; otherwise set spec.replicas to "
            f"{ordinal}",
        ),
    )


def _unknown_members(
    resolved: Resolved, observed: Observed, ordinal: int, claim: PvcFacts
) -> Size | None:
    """Decide while the members are unknown: a possible member must start to elect a leader."""
    node_id = resolved.voter_pool.pod(ordinal)
    marked = is_marked(resolved, claim, node_id)
    if observed.quorum is None:
        return _no_login(resolved, ordinal, claim) if marked else None
    if not marked and leader_of(observed) is None:
        return None
    message = (
        f"spec.replicas is {resolved.replicas}: the leader must report its members before "
        f"{node_id} starts with volume {claim.name}"
    )
    return Size(ordinal, wait_for_answer(observed.quorum, SCALING, message, SCALE_RECHECK))


def _no_login(resolved: Resolved, ordinal: int, claim: PvcFacts) -> Size:
    return Size(
        ordinal,
        Blocked(
            STALE,
            f"spec.replicas is {resolved.replicas}: volume {claim.name} is that of a removed "
            "server, and without a login the operator cannot check whether it may be deleted: "
            f"`kubectl delete pvc {claim.name}`, or set spec.replicas to {ordinal}",
        ),
    )
