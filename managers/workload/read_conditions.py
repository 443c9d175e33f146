"""Conditions of the read replicas, and status.readReplicas. Pure.

Each function returns None when the spec requests no read replicas. Called through the table of
`managers.cluster.status.conditions`, and by `managers.cluster.status.cluster_status`.
"""

from __future__ import annotations

from contracts.api.cluster.spec import ClusterSpec
from contracts.api.cluster.status import RaftStatus
from contracts.api.cluster.status_replicas import ReadReplicasStatus, ReadStorageStatus
from contracts.conditions.condition import ConditionUpdate
from contracts.records.observed import Observed
from contracts.server_features import offers, since
from managers.workload.read_pool import stuck
from managers.workload.scale.hibernate import HIBERNATED
from managers.workload.scale.read_replicas import current_replicas, desired_replicas

READY = "ReadReplicasReady"
SERVING = "ReadServingAvailable"
STANDBY_READS = "standby-reads"


def read_replicas_ready(
    spec: ClusterSpec, observed: Observed, *, initialized: bool
) -> ConditionUpdate | None:
    """Condition ReadReplicasReady: whether every requested read replica is ready."""
    desired = desired_replicas(spec)
    if not desired:
        return None
    if not initialized:
        message = "Read replicas join after the first server has initialized the cluster"
        return ConditionUpdate(READY, "False", "NotInitialized", message)
    if spec.hibernate:
        return ConditionUpdate(READY, "False", HIBERNATED, "spec.hibernate is true: no server runs")
    pods = observed.read.pods
    ready = sum(pod.ready for pod in pods)
    message = f"{ready} of {desired} read replicas are ready"
    if ready == desired == len(pods):
        return ConditionUpdate(READY, "True", "AllReadReplicasReady", message)
    reason = "ReadReplicasNotReady" if ready else "NoReadyReadReplicas"
    more = f"; {len(pods) - desired} more will be removed" if len(pods) > desired else stuck(pods)
    return ConditionUpdate(READY, "False", reason, message + more)


def read_serving(
    spec: ClusterSpec, observed: Observed, *, initialized: bool
) -> ConditionUpdate | None:
    """Condition ReadServingAvailable: whether read replicas serve reads."""
    if not desired_replicas(spec):
        return None
    if not offers(spec.version, STANDBY_READS):
        return ConditionUpdate(
            SERVING,
            "False",
            "StandbyReadsNotServed",
            f"OpenBao {spec.version.removeprefix('v')}: standbys forward every request to the "
            f"leader; from {since(STANDBY_READS)} on they serve reads. Until then the read "
            "replicas hold copies of the data, but do not reduce the load of the leader",
        )
    ready = sum(pod.ready for pod in observed.read.pods)
    if not initialized or not ready:
        return ConditionUpdate(SERVING, "False", "PodsNotServingReads", "No read replica is ready")
    message = f"{ready} read replicas serve reads"
    return ConditionUpdate(SERVING, "True", "ReadServingAvailable", message)


def read_status(
    spec: ClusterSpec, observed: Observed, raft: RaftStatus | None
) -> ReadReplicasStatus | None:
    """Return status.readReplicas; None when none are requested and none exist.

    Raft counts are omitted until a leader has answered.
    """
    desired, pool = desired_replicas(spec), observed.read
    if not desired and not current_replicas(pool) and not pool.pods:
        return None
    within = [claim for claim in pool.claims if not claim.terminating]
    storage = spec.read_replicas.storage if spec.read_replicas else None
    chosen = (storage.storage_class_name if storage else None) or spec.storage.storage_class_name
    return ReadReplicasStatus(
        desired_replicas=desired,
        ready_replicas=sum(pod.ready for pod in pool.pods),
        registered_replicas=raft.read_replicas if raft else None,
        healthy_replicas=raft.healthy_read_replicas if raft else None,
        storage=ReadStorageStatus(
            desired_pvcs=desired,
            bound_pvcs=sum(claim.phase == "Bound" for claim in within),
            storage_class_name=chosen,
        ),
    )
