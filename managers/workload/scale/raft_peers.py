"""Removal of a raft peer: the effect to send, and whether it was refused. Pure.

Called for voters (`managers.workload.scale.voters`) and for read replicas. The effect is executed
by `managers.workload.actions.raft_peers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from contracts.records.effects import Effect, RemovePeer
from contracts.records.observed import Observed, PodFacts, PvcFacts
from contracts.records.resolved import Resolved
from managers.workload.rollout.next_pod import endpoint_of

# No event reports that a user fixed a policy.
REFUSED_RECHECK = timedelta(minutes=10)
# An answer may be lost: the operator reads the members before it repeats the request.
ASK_AGAIN = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class LeavingPeer:
    """A server to remove: its raft node ID, and its pod and volume if they exist."""

    node_id: str
    pod: PodFacts | None = None
    claim: PvcFacts | None = None


def leader_of(observed: Observed) -> PodFacts | None:
    """Return the leader if exactly one ready pod reports that it is; else None."""
    leaders = [pod for pod in observed.leaders if pod.ip and pod.ready]
    return leaders[0] if len(leaders) == 1 else None


def removal(resolved: Resolved, observed: Observed, peer: LeavingPeer) -> tuple[Effect, ...]:
    """Ask the leader to remove a raft peer; nothing while the leader cannot be reached.

    The data volume of the server is annotated first, so that no server starts with it again.
    """
    leader, client_config = leader_of(observed), observed.client_config
    attempt = observed.last_attempt(RemovePeer.name, _attempt_uid(resolved, peer))
    if leader is None or client_config is None or refusal(resolved, observed):
        return ()
    if attempt is not None and observed.now - attempt.at < ASK_AGAIN:
        return ()
    # Do not write to a volume that is not owned.
    own = peer.claim if peer.claim and peer.claim.owner_uid == resolved.owner.uid else None
    return (
        RemovePeer(
            peer.node_id,
            peer.pod.uid if peer.pod else "",
            endpoint_of(leader, client_config),
            claim=own.name if own else "",
            claim_uid=own.uid if own else "",
        ),
    )


def refusal(resolved: Resolved, observed: Observed) -> str:
    """Return the reason of a recent refusal to remove a server; "" for none.

    It applies to the cluster, not to one server: the policy of the operator lacks the right.
    """
    attempt = observed.last_attempt(RemovePeer.name, resolved.owner.uid)
    if attempt is None or not attempt.refusal or observed.now - attempt.at >= REFUSED_RECHECK:
        return ""
    return attempt.refusal


def _attempt_uid(resolved: Resolved, peer: LeavingPeer) -> str:
    return peer.pod.uid if peer.pod else resolved.owner.uid
