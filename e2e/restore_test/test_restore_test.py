"""A snapshot passes if a server was restored from it; bad snapshots are reported.

The store is minio. The tests change objects in the store directly, and restore them afterwards. The
cluster of the snapshots runs meanwhile and must not be disturbed. Other bad snapshots are in
tests/integration/test_restore_test_server.py.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import orjson
import pytest

from contracts.api.group import BACKUPS
from e2e.conftest import MakeNamespace
from e2e.harness.backups import NAME, Reader, Run, backup_now, make_backup_cluster, recorded
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import Operator
from e2e.harness.stores import Store
from e2e.harness.waiting import ExpectationError, Stopwatch, until
from runtime.builtin_kinds import JOB, POD, ROLE

CANARY, VALUE = "canary", "bird-0123456789"
TEST_SECONDS = 90.0
ASK = "openbao.org/test-restore"
GOOD = "good"


@pytest.fixture(scope="module")
def cluster(
    api: Api, store: Store, reloading_operator: Operator, make_namespace: MakeNamespace
) -> Cluster:
    """A cluster whose snapshots are tested."""
    test = {"everySuccessfulBackups": 1, "canaryPath": f"secret/{CANARY}"}
    target, backup = store.target(prefix=NAME), {"restoreTest": test}
    cluster = make_backup_cluster(api, make_namespace(), target, store, replicas=1, backup=backup)
    Reader.of(cluster).write(CANARY, VALUE)
    return cluster


@pytest.fixture(scope="module")
def snapshot(cluster: Cluster) -> Run:
    """The snapshot of the tested cluster."""
    run = backup_now(cluster, GOOD)
    run.await_phase("Completed")
    return run


def await_result(run: Run, request: str = "") -> Object:
    """Wait for the end of a restore test, and return its result."""

    def final_result() -> Object | None:
        status = run.status
        result: Object = status.get("proof") or {}
        over = result.get("request", "") == request and "test" not in status
        return result if result and over else None

    try:
        return until(f"{run.name} was tested", final_result, TEST_SECONDS, every=0.1)
    except ExpectationError as error:
        raise ExpectationError(f"{error}\n{describe(run)}") from None


def describe(run: Run) -> str:
    """Return the status, and the logs of the pod of the restore test."""
    lines = [run.describe()]
    for pod in run.api.list(POD, run.namespace, "openbao.org/component=restore-test"):
        lines.append(orjson.dumps(pod.get("status")).decode())
        for container in ("openbao", "executor"):
            try:
                name = pod["metadata"]["name"]
                output = run.api.rig.kubectl(
                    "-n", run.namespace, "logs", name, "-c", container, "--tail=40"
                )
            except Exception as error:  # noqa: BLE001  its text is part of the report
                output = str(error)
            lines.append(f"--- {container}\n{output}")
    return "\n".join(lines)


def request_test(run: Run, request: str) -> Object:
    """Request a restore test of a snapshot, and wait for its end."""
    change = {"metadata": {"annotations": {ASK: request}}}
    run.api.patch(BACKUPS, run.namespace, run.name, change)
    return await_result(run, request)


@contextmanager
def changed_objects(store: Store, **contents: bytes | None) -> Iterator[None]:
    """Replace contents of objects in the store, and restore them at the end; None deletes one."""
    before = {key: store.read(key) for key in contents}
    for key, content in contents.items():
        if content is None:
            store.delete(key)
        else:
            store.write(key, content)
    try:
        yield
    finally:
        for key, content in before.items():
            store.write(key, content)


def test_each_snapshot_is_restored_and_compared(
    cluster: Cluster, snapshot: Run, record_property: Callable[[str, object], None]
) -> None:
    watch = Stopwatch()
    result = await_result(snapshot)
    record_property("seconds to a result", round(watch.seconds, 2))
    assert (result["outcome"], result["reason"]) == ("Passed", "Restored"), describe(snapshot)
    checks = {line.partition(":")[0]: line for line in result["checks"]}
    assert checks["canary"] == f"canary: secret/{CANARY} is unchanged"
    assert checks["mounts"] == "mounts: sys/mounts is unchanged"
    assert checks["login"].startswith("login: with role openbao-operator-backup")
    assert f"as cluster {snapshot.status['snapshot']['clusterID']}" in checks["unsealed"]
    assert result["digest"] == snapshot.status["snapshot"]["digest"]


def test_the_cluster_reports_the_result_and_is_not_disturbed(
    cluster: Cluster, snapshot: Run
) -> None:
    await_result(snapshot)
    cluster.await_condition("BackupProven", "True", "RestoreTestPassed", seconds=20.0)
    known = recorded(cluster)["restoreTest"]
    assert (known["passed"], known["last"]["key"]) == (1, snapshot.status["key"])
    assert known["lastSuccessTime"] == snapshot.status["proof"]["at"]
    (pod,) = cluster.pods()
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
    assert Reader.of(cluster).read(CANARY) == VALUE
    assert cluster.cluster_ids() == {snapshot.status["snapshot"]["clusterID"]}


def test_a_restore_test_leaves_only_its_job_for_an_hour(cluster: Cluster, snapshot: Run) -> None:
    (job,) = cluster.api.list(JOB, cluster.namespace, "openbao.org/component=restore-test")
    assert job["spec"]["ttlSecondsAfterFinished"] == 3600
    names = {role["metadata"]["name"] for role in cluster.api.list(ROLE, cluster.namespace)}
    assert job["metadata"]["name"] not in names
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("OpenBaoBackup", snapshot.name)
    pod = job["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "kept-backup-serviceaccount"
    # It mounts no volume of the servers of the cluster.
    assert not any("persistentVolumeClaim" in volume for volume in pod["volumes"])


def test_a_changed_byte_is_reported(store: Store, cluster: Cluster, snapshot: Run) -> None:
    key = snapshot.status["key"]
    changed = bytearray(store.read(key))
    changed[len(changed) // 2] ^= 1
    with changed_objects(store, **{key: bytes(changed)}):
        result = request_test(snapshot, "changed")
    assert (result["outcome"], result["reason"]) == ("Failed", "SnapshotCorrupt")
    cluster.await_condition("BackupProven", "False", "RestoreTestFailed", seconds=20.0)


def test_the_unchanged_snapshot_still_passes(cluster: Cluster, snapshot: Run) -> None:
    result = request_test(snapshot, "again")
    assert (result["outcome"], result["reason"]) == ("Passed", "Restored")
    cluster.await_condition("BackupProven", "True", "RestoreTestPassed", seconds=20.0)
    known = recorded(cluster)["restoreTest"]
    # Each test is counted once, however often the operator reconciled.
    assert (known["passed"], known["failed"]) == (2, 1)
    assert Reader.of(cluster).read(CANARY) == VALUE
