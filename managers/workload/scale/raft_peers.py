"""Taking a server out of the raft cluster: what is to be sent, and whether it was refused. Pure.

For voters (`managers.workload.scale.voters`) and for servers without a vote alike. What is sent is
done by `managers.workload.actions.raft_peers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from contracts.records.desired import Effect
from contracts.records.observed import ClaimFacts, Observed, PodFacts
from contracts.records.resolved import Resolved
from managers.workload.rollout.next_pod import where

REMOVE_PEER = "remove-peer"
# A policy is mended by a person, who tells nobody.
REFUSED_RECHECK = timedelta(minutes=10)
# An answer may be lost: the leader is asked for its members before it is told once more.
ASK_AGAIN = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class LeavingPeer:
    """A server that is to leave: its raft node id, and what it still has."""

    node_id: str
    pod: PodFacts | None = None
    claim: ClaimFacts | None = None


def leader_of(observed: Observed) -> PodFacts | None:
    """The one server that leads and can be asked; None when that is in doubt."""
    leaders = [pod for pod in observed.leaders if pod.ip and pod.ready]
    return leaders[0] if len(leaders) == 1 else None


def removal(resolved: Resolved, observed: Observed, peer: LeavingPeer) -> tuple[Effect, ...]:
    """Ask the leader to take a server out of the raft cluster; nothing while it cannot be asked.

    The intent is written on the data volume of the server first, so that its data is never taken
    for that of a member again.
    """
    leader, client_config = leader_of(observed), observed.reach
    attempt = observed.attempted(REMOVE_PEER, _attempt_uid(resolved, peer))
    if leader is None or client_config is None or refusal(resolved, observed):
        return ()
    if attempt is not None and observed.now - attempt.at < ASK_AGAIN:
        return ()
    # Somebody else's volume is not ours to write on.
    own = peer.claim if peer.claim and peer.claim.owner_uid == resolved.owner.uid else None
    body = {
        **where(leader, client_config),
        "claim": own.name if own else "",
        "claim_uid": own.uid if own else "",
    }
    return (Effect(REMOVE_PEER, peer.node_id, peer.pod.uid if peer.pod else "", body),)


def refusal(resolved: Resolved, observed: Observed) -> str:
    """Say what the leader answered lately when it refused to remove a server; "" if it did not.

    Kept for the cluster and not for one server: it is the operator's policy that lacks a right.
    """
    attempt = observed.attempted(REMOVE_PEER, resolved.owner.uid)
    if attempt is None or not attempt.refused or observed.now - attempt.at >= REFUSED_RECHECK:
        return ""
    return attempt.refused


def _attempt_uid(resolved: Resolved, peer: LeavingPeer) -> str:
    return peer.pod.uid if peer.pod else resolved.owner.uid
