"""A cluster that may be upgraded, and a case for each preflight check."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contracts.records.observed import PvcFacts, Quorum, RaftServer
from contracts.records.upgrade import Release
from managers.upgrade.preflight.checks import PreflightResult, check
from tests import gen
from tests.gen.job_templates import target

OLD, NEW = "2.4.4", "2.5.5"
LOCK: Mapping[str, Any] = {"operation": "Backup", "holder": "openbaobackup/monday"}
BACKUP = {"schedule": "0 3 * * *", "target": target().to_object(), "jwtAuthRole": "backup"}
CLUSTER = (
    gen.cluster(version=NEW, upgrade={"preUpgradeSnapshot": True}, backup=BACKUP)
    .initialized(OLD)
    .with_login()
    .with_status(release={"version": OLD})
)
PODS = tuple(gen.pod(n).ready(leading=n == 0, version=OLD) for n in range(3))
WORLD = gen.world().with_set(gen.stateful_set().with_replicas(3)).with_pods(*PODS)
WELL = Quorum(tuple(RaftServer(f"x-{n}", voter=True, healthy=True) for n in range(3)), 1)
BOUND = tuple(
    PvcFacts(f"data-x-{n}", f"c{n}", "uid-x", False, "1Gi", "1Gi", phase="Bound") for n in range(3)
)
FINE = replace(WORLD.with_quorum(WELL), claims=BOUND)


def check_cluster(
    cluster: gen.Cluster, world: gen.World = FINE, *, resuming: bool = False
) -> PreflightResult:
    read = cluster.read()
    return check(read, world.facts(), Release.requested(read), resuming=resuming)


def quorum(*changes: Mapping[str, Any], error: str = "") -> gen.World:
    """A quorum whose first voters have these changes."""
    servers = list(WELL.servers)
    for n, change in enumerate(changes):
        servers[n] = replace(servers[n], **change)
    return FINE.with_quorum(Quorum(tuple(servers), 1, error))


def claim(**change: Any) -> gen.World:
    return replace(FINE, claims=(replace(BOUND[0], **change), *BOUND[1:]))


ILL = {"healthy": False}
REVISION = "0123456789abcdef"
READERS = {"replicas": 1}
GREEN = {"strategy": "BlueGreen", "jwtAuthRole": "up", "preUpgradeSnapshot": True}
# sentence: (cluster, world, "check state reason", what the message names)
ROWS: dict[str, tuple[gen.Cluster, gen.World, str, str]] = {
    "an older version": (
        CLUSTER.with_spec(version="2.4.3"), FINE, "downgrade stop DowngradeBlocked", OLD,
    ),
    "a pre-release of what runs": (
        CLUSTER.with_spec(version="2.4.4-rc1"), FINE, "downgrade stop DowngradeBlocked", OLD,
    ),
    "a tag of another version": (
        CLUSTER.with_spec(image="registry.example.com/openbao:2.5.4"),
        FINE, "image stop ImageVersionMismatch", "openbao:2.5.4",
    ),
    "a refused pair": (
        CLUSTER.with_spec(version="2.6.0", upgrade=GREEN),
        FINE, "pair stop VersionPairRefused", "2.4.4 to 2.6.0",
    ),
    "an unknown pair": (CLUSTER.with_spec(version="2.9.0"), FINE, "pair warn", "2.9.0"),
    "a field that the new version does not know": (
        CLUSTER.with_spec(
            configuration={"listener": {"tlsKeyExchangePreferences": ["X25519"]}}
        ),
        FINE, "spec stop InvalidSpec", "tlsKeyExchangePreferences",
    ),
    "a field that only the new version knows": (
        CLUSTER.with_spec(
            audit=[
                {"type": "http", "path": "far", "httpOptions": {"uri": "https://a.example.com"}}
            ]
        ),
        FINE, "spec stop InvalidSpec", "change the version first",
    ),
    "no data": (
        CLUSTER.with_status(initialized=False), FINE, "initialized wait NotInitialized", "status",
    ),
    "hibernation": (
        CLUSTER.with_spec(hibernate=True), FINE, "hibernation wait Hibernated", "spec.hibernate",
    ),
    "a fenced pod": (
        CLUSTER.with_spec(fencedPods=["x-2"]), FINE, "fences wait PodsFenced", "x-2",
    ),
    "a fenced pod of a pool with a revision": (
        CLUSTER.with_spec(fencedPods=[f"x-{REVISION}-2"]).with_status(
            blueGreen={"blueRevision": REVISION}
        ),
        FINE, "fences wait PodsFenced", f"keeps x-{REVISION}-2 from",
    ),
    "maintenance": (
        CLUSTER.with_spec(maintenance={"enabled": True}),
        FINE, "maintenance wait Maintenance", "spec.maintenance.enabled",
    ),
    "a restore": (
        CLUSTER.with_status(
            operationLock={"operation": "Restore", "holder": "openbaorestore/monday"}
        ),
        FINE, "restore wait RestoreInProgress", "openbaorestore/monday",
    ),
    "a backup that runs": (
        CLUSTER.with_status(operationLock=LOCK),
        FINE, "lock wait OperationLockBlocked", "openbaobackup/monday",
    ),
    "a server that is not ready": (
        CLUSTER, FINE.with_pods(*PODS[:2], gen.pod(2).waiting("CrashLoopBackOff")),
        "pods wait ClusterNotReady", "x-2 CrashLoopBackOff",
    ),
    "a terminating server": (
        CLUSTER, FINE.with_pods(*PODS[:2], PODS[2].terminating()),
        "pods wait ClusterNotReady", "x-2 is terminating",
    ),
    "a server that is missing": (
        CLUSTER, FINE.with_pods(*PODS[:2]), "pods wait ClusterNotReady", "2 of 3",
    ),
    "no StatefulSet": (CLUSTER, FINE.with_set(None), "pods wait ClusterNotReady", "3 of 3"),
    "a StatefulSet of another size": (
        CLUSTER, FINE.with_set(gen.stateful_set().with_replicas(5)),
        "pods wait ClusterNotReady", "3 of 3",
    ),
    "two servers that are not ready": (
        CLUSTER, FINE.with_pods(PODS[0], PODS[1].unready(), PODS[2].unready()),
        "pods wait QuorumLost", "1 of 3",
    ),
    "no leader": (
        CLUSTER, FINE.with_pods(PODS[0].with_server_labels(active="false"), *PODS[1:]),
        "leader wait LeaderUnknown", "no server",
    ),
    "two lead": (
        CLUSTER, FINE.with_pods(PODS[0], PODS[1].with_server_labels(active="true"), PODS[2]),
        "leader wait MultipleLeaders", "x-0, x-1",
    ),
    "a leader that does not answer": (
        CLUSTER, quorum(error="timed out"), "quorum wait LeaderUnknown", "timed out",
    ),
    "a refused quorum read": (
        CLUSTER, FINE.with_quorum(Quorum(error="give it the right", refused_path="sys/x")),
        "quorum wait QuorumQuestionRefused", "give it the right",
    ),
    "a server without a vote": (
        CLUSTER, quorum({"voter": False}), "quorum wait ClusterNotReady", "2 of 3",
    ),
    "an unhealthy voter": (CLUSTER, quorum(ILL), "quorum wait ClusterNotReady", "x-0"),
    "a voter that lags behind": (
        CLUSTER, quorum({"follows": False}), "quorum wait ClusterNotReady", "x-0",
    ),
    "two unhealthy voters": (CLUSTER, quorum(ILL, ILL), "quorum wait QuorumLost", "1 of 3"),
    "a lost volume": (
        CLUSTER, claim(phase="Lost"), "volumes wait ClusterNotReady", "data-x-0",
    ),
    "a terminating volume": (
        CLUSTER, claim(terminating=True), "volumes wait ClusterNotReady", "data-x-0",
    ),
    "a volume that grows": (
        CLUSTER, claim(requested="2Gi"), "volumes wait StorageResizing", "data-x-0",
    ),
    "a file system that grows": (
        CLUSTER, claim(resizing="FileSystemResizePending"),
        "volumes wait StorageResizing", "is being resized",
    ),
    "a volume that cannot grow": (
        CLUSTER, claim(requested="2Gi", resizing="NodeResizeError"), "volumes warn", "data-x-0",
    ),
    "a read replica that is missing": (
        CLUSTER.with_spec(readReplicas=READERS),
        FINE, "read-replicas wait ReadReplicasNotReady", "0 of 1",
    ),
    "a surplus read replica": (
        CLUSTER, FINE.with_readers(gen.read_set(), gen.read_pod().ready()),
        "read-replicas wait ReadReplicasNotReady", "1 of 0",
    ),
    "no snapshot first": (
        CLUSTER.with_spec(upgrade=None), FINE, "snapshot warn", "preUpgradeSnapshot",
    ),
}  # fmt: skip


def failed_messages(verdict: PreflightResult) -> list[str]:
    """The results of the failed checks, in order."""
    return [
        " ".join(filter(None, (result.check, result.state, result.reason)))
        for result in verdict.results
        if result.state != "ok"
    ]
