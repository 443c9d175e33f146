"""What is told of the read replicas, in conditions and in status.readReplicas. Pure.

Each judge returns None when the spec asks for no read replicas. Called through the table of
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
from managers.workload.scale.read_replicas import standing, wanted

READY = "ReadReplicasReady"
SERVING = "ReadServingAvailable"
STANDBY_READS = "standby-reads"


def read_replicas_ready(
    spec: ClusterSpec, observed: Observed, *, initialized: bool
) -> ConditionUpdate | None:
    """Condition ReadReplicasReady: whether every read replica that is asked for is ready."""
    asked = wanted(spec)
    if not asked:
        return None
    if not initialized:
        told = "They join when the first server has initialised the cluster"
        return ConditionUpdate(READY, "False", "NotInitialized", told)
    if spec.hibernate:
        return ConditionUpdate(READY, "False", HIBERNATED, "spec.hibernate is true: no server runs")
    pods = observed.read.pods
    ready = sum(pod.ready for pod in pods)
    told = f"{ready} of {asked} read replicas are ready"
    if ready == asked == len(pods):
        return ConditionUpdate(READY, "True", "AllReadReplicasReady", told)
    reason = "ReadReplicasNotReady" if ready else "NoReadyReadReplicas"
    more = f"; {len(pods) - asked} more are to go" if len(pods) > asked else stuck(pods)
    return ConditionUpdate(READY, "False", reason, told + more)


def read_serving(
    spec: ClusterSpec, observed: Observed, *, initialized: bool
) -> ConditionUpdate | None:
    """Condition ReadServingAvailable: whether read replicas answer reads themselves."""
    if not wanted(spec):
        return None
    if not offers(spec.version, STANDBY_READS):
        return ConditionUpdate(
            SERVING,
            "False",
            "StandbyReadsNotServed",
            f"OpenBao {spec.version.removeprefix('v')}: a server that does not lead forwards every "
            f"request to the leader; from {since(STANDBY_READS)} on it answers reads itself. "
            "Until then the read replicas hold copies of the data and take no load off the leader",
        )
    ready = sum(pod.ready for pod in observed.read.pods)
    if not initialized or not ready:
        return ConditionUpdate(SERVING, "False", "PodsNotServingReads", "No read replica is ready")
    told = f"{ready} read replicas answer reads"
    return ConditionUpdate(SERVING, "True", "ReadServingAvailable", told)


def read_status(
    spec: ClusterSpec, observed: Observed, raft: RaftStatus | None
) -> ReadReplicasStatus | None:
    """Return status.readReplicas; None when none are asked for and none are left.

    What the raft cluster knows is left out as long as nobody could ask it.
    """
    asked, pool = wanted(spec), observed.read
    if not asked and not standing(pool) and not pool.pods:
        return None
    within = [claim for claim in pool.claims if not claim.terminating]
    mine = spec.read_replicas.storage if spec.read_replicas else None
    chosen = (mine.storage_class_name if mine else None) or spec.storage.storage_class_name
    return ReadReplicasStatus(
        desired_replicas=asked,
        ready_replicas=sum(pod.ready for pod in pool.pods),
        registered_replicas=raft.read_replicas if raft else None,
        healthy_replicas=raft.healthy_read_replicas if raft else None,
        storage=ReadStorageStatus(
            desired_pvcs=asked,
            bound_pvcs=sum(claim.phase == "Bound" for claim in within),
            storage_class_name=chosen,
        ),
    )
