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
        message = f"{len(ready)} of {inputs.size} servers are ready, and {inputs.majority} must be"
        return wait("QuorumLost", f"{message}{_which(pods)}")
    if inputs.resuming or (len(ready) == len(pods) == inputs.size and _is_whole(inputs)):
        return None
    message = f"{len(ready)} of {inputs.size} servers are ready; the upgrade begins when all are"
    return wait("ClusterNotReady", f"{message}{_which(pods)}")


def _is_whole(inputs: PreflightInput) -> bool:
    live = inputs.observed.stateful_set
    return live is not None and live.replicas == inputs.size


def _which(pods: Sequence[PodFacts]) -> str:
    unhealthy = [
        f"{pod.name} {'is terminating' if pod.terminating else pod.waiting or 'is not ready'}"
        for pod in pods
        if pod.terminating or not pod.ready
    ]
    return f": {', '.join(unhealthy)}" if unhealthy else ""


def has_one_leader(inputs: PreflightInput) -> Answer:
    leaders = inputs.observed.leaders
    if len(leaders) == 1:
        return None
    if not leaders:
        return wait("LeaderUnknown", "no server reports itself as the leader")
    message = f"{', '.join(pod.name for pod in leaders)} report themselves as the leader"
    return wait("MultipleLeaders", f"{message}; only one may be")


def quorum_is_healthy(inputs: PreflightInput) -> Answer:
    quorum = inputs.observed.quorum
    if quorum is None:
        return None
    if quorum.error:
        reason = QUESTION_REFUSED if quorum.refused_path else "LeaderUnknown"
        return wait(reason, quorum.error_message)
    voters = [server for server in quorum.servers if server.voter]
    healthy = [server for server in voters if server.healthy]
    if len(healthy) < inputs.majority:
        message = f"the leader reports {len(healthy)} of {len(voters)} voters as healthy"
        return wait("QuorumLost", f"{message}, and {inputs.majority} must be")
    if inputs.resuming:
        return None
    if len(voters) != inputs.size:
        message = (
            f"{len(voters)} of {inputs.size} servers are voters; the upgrade begins when all are"
        )
        return wait("ClusterNotReady", message)
    unhealthy = sorted(voter.node_id for voter in voters if not (voter.healthy and voter.follows))
    if unhealthy:
        message = f"the leader reports these as unhealthy or behind: {', '.join(unhealthy)}"
        return wait("ClusterNotReady", message)
    return None


def volumes_are_bound(inputs: PreflightInput) -> Answer:
    if inputs.resuming:
        return None
    claims = inputs.observed.claims
    unbound = [pvc.name for pvc in claims if pvc.phase not in ("", "Bound") or pvc.terminating]
    if unbound:
        message = f"PersistentVolumeClaim {', '.join(unbound)}: not bound, or being deleted"
        return wait("ClusterNotReady", message)
    growing = [
        pvc.name
        for pvc in claims
        if pvc.resizing not in _ERRORS and (pvc.resizing or _below(pvc.capacity, pvc.requested))
    ]
    if growing:
        message = f"PersistentVolumeClaim {', '.join(growing)} is being resized"
        return wait("StorageResizing", f"{message}; the upgrade begins after that")
    failed = [pvc for pvc in claims if pvc.resizing in _ERRORS]
    messages = tuple(f"{pvc.name} could not be resized ({pvc.resizing})" for pvc in failed)
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
        f"spec.readReplicas.replicas: {ready} of {requested} read replicas are ready; all must be"
    )
    return wait("ReadReplicasNotReady", f"{message}{_which(pods)}")
