"""A snapshot is restored into a running cluster, once, and the servers are restarted and verified.

All clusters have the same unseal key, from a Secret of the user; the snapshot is of one of them.
The store is minio behind a proxy that slows it down, so that a job can be killed before it sends
its snapshot.
"""

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.api.group import CLUSTERS, RESTORES
from contracts.naming import labels
from e2e.conftest import MakeNamespace
from e2e.demo.objects import name_of
from e2e.harness.backups import SELDOM, Reader, Run, backup_now, make_backup_cluster, restore
from e2e.harness.clusters import Cluster
from e2e.harness.command_line import CommandLine
from e2e.harness.fault_proxy import FaultProxy, Slow, fault_proxy
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import STEADY, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.stores import ServerHost, s3_store
from e2e.harness.waiting import Stopwatch, until
from e2e.rig import Rig
from runtime.builtin_kinds import SECRET
from runtime.types import annotations_of, uid_of

pytestmark = pytest.mark.timeout(600)
SEAL = "the-seal"
UNSEAL = {"type": "static", "credentialsSecretRef": {"name": SEAL}}
RESTORED = 240.0
SOON = 60.0


@pytest.fixture(scope="module")
def proxy(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultProxy]:
    folder: Path = tmp_path_factory.mktemp("store")
    with (
        s3_store(ServerHost.of_rig(rig), folder) as store,
        fault_proxy(ServerHost.of_rig(rig), store, tmp_path_factory.mktemp("proxy")) as proxy,
    ):
        yield proxy


@pytest.fixture(scope="module")
def other(
    api: Api, proxy: FaultProxy, reloading_operator: Operator, make_namespace: MakeNamespace
) -> Cluster:
    """Three servers with the same seal, which start while `origin` is created."""
    namespace = make_namespace()
    key = base64.b64encode(os.urandom(32)).decode()
    api.create(SECRET, {"metadata": {"name": SEAL, "namespace": namespace}, "data": {"key": key}})
    spec: Object = {
        "replicas": 3,
        "unseal": UNSEAL,
        "configuration": STEADY,
        "backup": {"schedule": SELDOM, "target": proxy.target()},
        "selfInit": self_init(key_value_engine()),
    }
    api.create(CLUSTERS, manifest(namespace, "other", **spec))
    return Cluster(api, namespace, "other")


@pytest.fixture(scope="module")
def origin(api: Api, proxy: FaultProxy, other: Cluster) -> Cluster:
    """One server and a snapshot in which the greeting is `before`."""
    cluster = make_backup_cluster(
        api, other.namespace, proxy.target(), proxy.store, replicas=1, unseal=UNSEAL
    )
    Reader.of(cluster).write("greeting", "before")
    backup_now(cluster, "first").await_phase("Completed")
    return cluster


def test_a_restore_brings_back_the_data_and_restarts_the_server(origin: Cluster) -> None:
    Reader.of(origin).write("greeting", "after")
    (before,) = origin.pod_uids()
    watch = Stopwatch()
    verb = ("restore", origin.name, "-n", origin.namespace, "--from", "first")
    done = CommandLine(origin.api.rig).run(*verb, input=f"{origin.name}\n", seconds=RESTORED)
    print(f"\n{done.out}")
    assert done.status == 0, done.err
    (restored,) = origin.api.list(RESTORES, origin.namespace)
    run = Run(origin.api, RESTORES, origin.namespace, name_of(restored))
    status = run.status
    assert status["phase"] == "Completed"
    print(f"\nrestored and recovered after {watch.seconds:.1f} s")
    assert before not in origin.pod_uids()
    assert_of_restore(origin, run)
    assert status["execution"]["terminalResult"] == "Succeeded"
    assert status["submissionClaim"]["digest"] == status["report"]["snapshot"]["digest"]
    assert _reasons(status) == {
        "RestoreComplete": "RestoreSucceeded",
        "RecoveryReleased": "RecoveryReleased",
    }
    until("the operation lock is free", lambda: _lock(origin) is None, SOON)
    assert origin.live()["status"]["restore"]["restartCompletedAt"]
    assert Reader.of(origin).read("greeting") == "before"
    assert len(origin.cluster_ids()) == 1


def test_a_snapshot_of_another_cluster_is_restored_into_all_servers(
    origin: Cluster, other: Cluster
) -> None:
    """Its servers have other keys for raft connections: all restart with those of the data."""
    other.await_available(SOON)
    other.await_condition("RaftMembershipReady", seconds=SOON)
    before = other.pod_uids()
    (named,) = origin.cluster_ids()
    refused = restore(other, "unnamed", {"backup": "first"}).await_phase("Failed")
    assert _reasons(refused)["RestoreComplete"] == "SnapshotOfAnotherCluster"
    run = restore(other, "across", {"backup": "first", "expectedClusterID": named})
    # The data contain the login of the other cluster's operator: a user must acknowledge that.
    message = "the leader does not let the operator list its members"
    until(
        "the restore waits for a user",
        lambda: message in run.status.get("message", ""),
        RESTORED,
        every=0.1,
    )
    pods = other.pod_uids()
    assert not before & pods
    operation = run.status["execution"]["operationID"]
    change = {"metadata": {"annotations": {labels.RESTORE_ACKNOWLEDGE: f"{operation}/Resume"}}}
    run.api.patch(RESTORES, other.namespace, run.name, change)
    run.await_phase("Completed", SOON)
    assert other.cluster_ids() == origin.cluster_ids()
    for ordinal in range(3):
        assert Reader.of(other, ordinal).read("greeting") == "before"
    Reader.of(other).write("greeting", "across")
    assert Reader.of(origin).read("greeting") == "before", (
        "the cluster of the snapshot is unchanged"
    )
    assert other.pod_uids() == pods, "no pod was replaced a second time"
    assert_of_restore(other, run)


def test_a_job_killed_before_its_submission_permit_changes_nothing(
    origin: Cluster, proxy: FaultProxy
) -> None:
    """Another restore reports the holder of the operation lock."""
    Reader.of(origin).write("greeting", "kept")
    with proxy.inject(Slow(100.0, "down")):
        first = restore(origin, "tuesday", {"backup": "first"})
        until("its job runs", lambda: _is_ready(first), SOON, every=0.1)
        second = restore(origin, "wednesday", {"backup": "first"})
        until(
            "the second restore waits",
            lambda: "openbaorestore/tuesday" in second.status.get("message", ""),
            SOON,
            every=0.1,
        )
        second.api.delete(RESTORES, origin.namespace, second.name)
        _kill(first)
        status = first.await_phase("Failed")
    assert "submissionClaim" not in status
    assert status["execution"]["terminalResult"] == "Failed"
    until("the operation lock is free", lambda: _lock(origin) is None, SOON)
    assert Reader.of(origin).read("greeting") == "kept"


def test_a_job_killed_after_its_submission_permit_leaves_an_unknown_outcome(
    origin: Cluster,
) -> None:
    run = restore(origin, "thursday", {"backup": "first"})
    until(
        "its job has the submission permit",
        lambda: "submissionClaim" in run.status,
        SOON,
        every=0.02,
    )
    _kill(run)
    status = run.await_phase("Unknown")
    lock = _lock(origin)
    assert lock is not None
    assert lock["holder"] == "openbaorestore/thursday"
    operation = status["execution"]["operationID"]
    assert f"{operation}/Abandon" in status["message"]
    jobs = origin.api.rig.kubectl("-n", origin.namespace, "get", "jobs", "-o", "name").split()
    assert len([job for job in jobs if "restore-thursday" in job]) == 1
    change = {"metadata": {"annotations": {labels.RESTORE_ACKNOWLEDGE: f"{operation}/Abandon"}}}
    run.api.patch(RESTORES, origin.namespace, run.name, change)
    until("the restore is abandoned", lambda: run.status.get("phase") == "Failed", SOON)
    assert _reasons(run.status)["RestoreComplete"] == "RestoreAbandoned"
    until("the operation lock is free", lambda: _lock(origin) is None, SOON)


def create_in_new_cluster(origin: Cluster, name: str, cluster: str, **spec: object) -> Run:
    """Create an OpenBaoRestore that creates its cluster."""
    template = {"storage": {"size": "1Gi"}, "unseal": UNSEAL}
    fields = {"cluster": cluster, "source": {"backup": "first"}, "clusterTemplate": template}
    metadata = {"name": name, "namespace": origin.namespace}
    origin.api.create(RESTORES, {"metadata": metadata, "spec": {**fields, **spec}})
    return Run(origin.api, RESTORES, origin.namespace, name)


def test_a_disposable_cluster_has_the_data_and_is_deleted_after_its_time(origin: Cluster) -> None:
    run = create_in_new_cluster(
        origin, "look", "fresh", targetLifecycle="Disposable", cleanupAfterSeconds=20
    )
    status = run.await_phase("Completed", RESTORED)
    fresh = Cluster(origin.api, origin.namespace, "fresh")
    live = fresh.live()
    assert annotations_of(live)[labels.RESTORE_ORIGIN] == uid_of(run.live())
    assert status["target"]["uid"] == uid_of(live)
    assert fresh.cluster_ids() == origin.cluster_ids(), "it has the data of the snapshot"
    assert Reader.of(fresh).read("greeting") == "before"
    until("the disposable cluster is deleted", lambda: fresh.find() is None, RESTORED)
    until(
        "the restore reports the cleanup",
        lambda: (run.status.get("target") or {}).get("cleanup") == "Complete",
        SOON,
    )


def test_an_existing_cluster_is_never_changed(origin: Cluster) -> None:
    before = uid_of(origin.live())
    status = create_in_new_cluster(origin, "collides", origin.name).await_phase("Failed")
    assert {condition["reason"] for condition in status["conditions"]} == {"TargetCollision"}
    assert uid_of(origin.live()) == before


def assert_of_restore(cluster: Cluster, run: Run) -> None:
    """Assert that each pod was created after a restore."""
    revisions = {annotations_of(pod).get(labels.RESTORE_REVISION) for pod in cluster.pods()}
    assert revisions == {uid_of(run.live())}


def _kill(run: Run) -> None:
    """Delete the pod of its job without grace period."""
    job = run.status["execution"]["jobName"]
    run.api.rig.kubectl(
        "-n", run.namespace, "delete", "pod", "-l", f"job-name={job}", "--grace-period=0",
        "--force", "--wait=false",
    )  # fmt: skip


def _is_ready(run: Run) -> bool:
    job = run.job()
    return bool(job and (job.get("status") or {}).get("ready"))


def _lock(cluster: Cluster) -> Object | None:
    lock: Object | None = cluster.live()["status"].get("operationLock")
    return lock


def _reasons(status: Object) -> dict[str, str]:
    return {condition["type"]: condition["reason"] for condition in status["conditions"]}
