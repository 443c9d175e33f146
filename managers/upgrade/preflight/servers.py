"""Checks before an upgrade of the servers themselves: pods, leader, raft, volumes. Pure.

Each answers one question of the table in managers.upgrade.preflight.checks.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.conditions.reasons_workload import QUESTION_REFUSED
from contracts.records.observed import PodFacts
from managers.upgrade.preflight.inputs import Answer, PreflightInput, Warnings, wait
from runtime import quantity

_ERRORS = frozenset({"ControllerResizeError", "NodeResizeError"})


def are_ready(ask: PreflightInput) -> Answer:
    pods = ask.observed.pods
    ready = [pod for pod in pods if pod.ready and not pod.terminating]
    if len(ready) < ask.majority:
        told = f"{len(ready)} of {ask.size} servers are ready, and {ask.majority} have to be"
        return wait("QuorumLost", f"{told}{_which(pods)}")
    if ask.resuming or (len(ready) == len(pods) == ask.size and _is_whole(ask)):
        return None
    told = f"{len(ready)} of {ask.size} servers are ready; all have to be before it begins"
    return wait("ClusterNotReady", f"{told}{_which(pods)}")


def _is_whole(ask: PreflightInput) -> bool:
    live = ask.observed.stateful_set
    return live is not None and live.replicas == ask.size


def _which(pods: Sequence[PodFacts]) -> str:
    ill = [
        f"{pod.name} {'ends' if pod.terminating else pod.waiting or 'is not ready'}"
        for pod in pods
        if pod.terminating or not pod.ready
    ]
    return f": {', '.join(ill)}" if ill else ""


def one_leads(ask: PreflightInput) -> Answer:
    leaders = ask.observed.leaders
    if len(leaders) == 1:
        return None
    if not leaders:
        return wait("LeaderUnknown", "no server says that it leads; one has to")
    told = f"{', '.join(pod.name for pod in leaders)} all say that they lead; one has to be left"
    return wait("MultipleLeaders", told)


def quorum_is_well(ask: PreflightInput) -> Answer:
    quorum = ask.observed.quorum
    if quorum is None:
        return None
    if quorum.trouble:
        reason = QUESTION_REFUSED if quorum.refused else "LeaderUnknown"
        return wait(reason, quorum.unanswered)
    voters = [server for server in quorum.servers if server.voter]
    healthy = [server for server in voters if server.healthy]
    if len(healthy) < ask.majority:
        told = f"the leader finds {len(healthy)} of {len(voters)} voters well"
        return wait("QuorumLost", f"{told}, and {ask.majority} have to be")
    if ask.resuming:
        return None
    if len(voters) != ask.size:
        told = f"{len(voters)} of {ask.size} servers are voters; all have to be before it begins"
        return wait("ClusterNotReady", told)
    ill = sorted(one.node_id for one in voters if not (one.healthy and one.follows))
    if ill:
        told = f"the leader does not find these well and caught up: {', '.join(ill)}"
        return wait("ClusterNotReady", told)
    return None


def volumes_are_bound(ask: PreflightInput) -> Answer:
    if ask.resuming:
        return None
    claims = ask.observed.claims
    loose = [one.name for one in claims if one.phase not in ("", "Bound") or one.terminating]
    if loose:
        told = f"PersistentVolumeClaim {', '.join(loose)}: not bound, or about to go"
        return wait("ClusterNotReady", told)
    growing = [
        one.name
        for one in claims
        if one.resizing not in _ERRORS and (one.resizing or _below(one.capacity, one.requested))
    ]
    if growing:
        told = f"PersistentVolumeClaim {', '.join(growing)} grows; it waits until it has"
        return wait("StorageResizing", told)
    failed = [one for one in claims if one.resizing in _ERRORS]
    told_of = tuple(f"{one.name} could not grow ({one.resizing})" for one in failed)
    return Warnings(told_of) if told_of else None


def _below(has: str, asked: str) -> bool:
    return bool(has and asked) and quantity.parse(has) < quantity.parse(asked)


def read_replicas_are_ready(ask: PreflightInput) -> Answer:
    wish = ask.cluster.spec.read_replicas
    asked = wish.replicas if wish else 0
    pods = ask.observed.read.pods
    ready = sum(pod.ready and not pod.terminating for pod in pods)
    if ask.resuming or (ready == asked and len(pods) == asked):
        return None
    told = f"spec.readReplicas.replicas: {ready} of {asked} read replicas are ready; all have to be"
    return wait("ReadReplicasNotReady", f"{told}{_which(pods)}")
