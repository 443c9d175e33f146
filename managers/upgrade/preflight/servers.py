"""Checks before an upgrade of the servers themselves: pods, leader, raft, volumes. Pure.

Each is one check of the table in managers.upgrade.preflight.checks.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.conditions.reasons_workload import QUESTION_REFUSED
from contracts.records.observed import PodFacts
from managers.upgrade.preflight.inputs import Answer, PreflightInput, Warnings, wait
from runtime import quantity

_ERRORS = frozenset({"ControllerResizeError", "NodeResizeError"})


def are_ready(inputs: PreflightInput) -> Answer:
    pods = inputs.observed.pods
    ready = [pod for pod in pods if pod.ready and not pod.terminating]
    if len(ready) < inputs.majority:
        message = (
            f"{len(ready)} of {inputs.size} servers are ready, and {inputs.majority} have to be"
        )
        return wait("QuorumLost", f"{message}{_which(pods)}")
    if inputs.resuming or (len(ready) == len(pods) == inputs.size and _is_whole(inputs)):
        return None
    message = f"{len(ready)} of {inputs.size} servers are ready; all have to be before it begins"
    return wait("ClusterNotReady", f"{message}{_which(pods)}")


def _is_whole(inputs: PreflightInput) -> bool:
    live = inputs.observed.stateful_set
    return live is not None and live.replicas == inputs.size


def _which(pods: Sequence[PodFacts]) -> str:
    unhealthy = [
        f"{pod.name} {'ends' if pod.terminating else pod.waiting or 'is not ready'}"
        for pod in pods
        if pod.terminating or not pod.ready
    ]
    return f": {', '.join(unhealthy)}" if unhealthy else ""


def has_one_leader(inputs: PreflightInput) -> Answer:
    leaders = inputs.observed.leaders
    if len(leaders) == 1:
        return None
    if not leaders:
        return wait("LeaderUnknown", "no server says that it leads; one has to")
    message = f"{', '.join(pod.name for pod in leaders)} all say that they lead; one has to be left"
    return wait("MultipleLeaders", message)


def quorum_is_well(inputs: PreflightInput) -> Answer:
    quorum = inputs.observed.quorum
    if quorum is None:
        return None
    if quorum.trouble:
        reason = QUESTION_REFUSED if quorum.refused else "LeaderUnknown"
        return wait(reason, quorum.unanswered)
    voters = [server for server in quorum.servers if server.voter]
    healthy = [server for server in voters if server.healthy]
    if len(healthy) < inputs.majority:
        message = f"the leader finds {len(healthy)} of {len(voters)} voters well"
        return wait("QuorumLost", f"{message}, and {inputs.majority} have to be")
    if inputs.resuming:
        return None
    if len(voters) != inputs.size:
        message = (
            f"{len(voters)} of {inputs.size} servers are voters; all have to be before it begins"
        )
        return wait("ClusterNotReady", message)
    unhealthy = sorted(one.node_id for one in voters if not (one.healthy and one.follows))
    if unhealthy:
        message = f"the leader does not find these well and caught up: {', '.join(unhealthy)}"
        return wait("ClusterNotReady", message)
    return None


def volumes_are_bound(inputs: PreflightInput) -> Answer:
    if inputs.resuming:
        return None
    claims = inputs.observed.claims
    unbound = [one.name for one in claims if one.phase not in ("", "Bound") or one.terminating]
    if unbound:
        message = f"PersistentVolumeClaim {', '.join(unbound)}: not bound, or about to go"
        return wait("ClusterNotReady", message)
    growing = [
        one.name
        for one in claims
        if one.resizing not in _ERRORS and (one.resizing or _below(one.capacity, one.requested))
    ]
    if growing:
        message = f"PersistentVolumeClaim {', '.join(growing)} grows; it waits until it has"
        return wait("StorageResizing", message)
    failed = [one for one in claims if one.resizing in _ERRORS]
    messages = tuple(f"{one.name} could not grow ({one.resizing})" for one in failed)
    return Warnings(messages) if messages else None


def _below(capacity: str, requested: str) -> bool:
    return bool(capacity and requested) and quantity.parse(capacity) < quantity.parse(requested)


def read_replicas_are_ready(inputs: PreflightInput) -> Answer:
    spec = inputs.cluster.spec.read_replicas
    requested = spec.replicas if spec else 0
    pods = inputs.observed.read.pods
    ready = sum(pod.ready and not pod.terminating for pod in pods)
    if inputs.resuming or (ready == requested and len(pods) == requested):
        return None
    message = (
        f"spec.readReplicas.replicas: {ready} of {requested} read replicas are ready; "
        "all have to be"
    )
    return wait("ReadReplicasNotReady", f"{message}{_which(pods)}")
