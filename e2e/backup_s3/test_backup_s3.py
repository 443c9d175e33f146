"""A snapshot is in the store a few seconds after the request, and errors are reported.

The store is minio: it checks signatures, and serves TLS with a CA that is only in the Secret. The
error is corrected again, and the next snapshot resets the counter of failures. The other errors are
in tests/integration/test_backup_job.py.
"""

import io
import tarfile
import time
from collections.abc import Callable

import orjson
import pytest

from contracts.exit_codes import EXIT_CODES
from contracts.naming import snapshot_keys
from e2e.conftest import MakeNamespace
from e2e.harness.backups import (
    NAME,
    Reader,
    Run,
    backup_now,
    backups_of,
    check_stored,
    make_backup_cluster,
    recorded,
)
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import Operator
from e2e.harness.stores import Store
from e2e.harness.targets import with_credentials
from e2e.harness.waiting import Stopwatch, until
from runtime.builtin_kinds import JOB
from runtime.types import key_of

PREFIX = "prod/bao"
# From the request to Completed, on a busy machine; it takes about 8 on an idle one.
ALL_SECONDS = 20.0
# From the end of the Job to the status: the operator watches the Job and does not poll.
RECORDED_SECONDS = 2.0
VALUE = "the-secret-of-the-application-0123456789"


@pytest.fixture(scope="module")
def cluster(
    api: Api, store: Store, reloading_operator: Operator, make_namespace: MakeNamespace
) -> Cluster:
    """One server."""
    target = store.target(prefix=PREFIX)
    cluster = make_backup_cluster(api, make_namespace(), target, store)
    Reader.of(cluster).write("greeting", VALUE)
    return cluster


def _follow(api: Api, run: Run) -> "tuple[Object, float, float]":
    """Wait until a run is Completed; return its status, when its Job ended, and when it did."""
    ended = done = 0.0
    deadline = time.monotonic() + 90.0
    while not (ended and done):
        assert time.monotonic() < deadline, run.describe()
        job = run.job()
        if not ended and job and (job.get("status") or {}).get("completionTime"):
            ended = time.monotonic()
        if not done and run.status.get("phase") == "Completed":
            done = time.monotonic()
        assert run.status.get("phase") not in ("Failed", "Unknown"), run.describe()
        time.sleep(0.02)
    return run.status, ended, done


def test_a_snapshot_is_stored_and_recorded_within_seconds(
    api: Api, store: Store, cluster: Cluster, record_property: Callable[[str, object], None]
) -> None:
    watch, began = Stopwatch(), time.monotonic()
    run = backup_now(cluster, "first")
    status, ended, done = _follow(api, run)
    budget("snapshot: from the request to Completed", watch.seconds, ALL_SECONDS, "s")
    budget("snapshot: from the end of the Job to its record", done - ended, RECORDED_SECONDS, "s")
    record_property("seconds to Completed", round(done - began, 2))
    record_property("seconds from the end of the Job to the record", round(done - ended, 2))

    manifest = check_stored(store, status)
    key = snapshot_keys.parse(status["key"])
    assert key is not None
    assert (key.prefix, key.namespace, key.cluster) == (PREFIX, cluster.namespace, NAME)
    live = cluster.live()
    assert manifest["clusterUID"] == live["metadata"]["uid"]
    assert {manifest["clusterID"]} == cluster.cluster_ids()
    assert manifest["backup"] == "first"
    # The snapshot and its manifest, and no incomplete upload.
    assert store.keys() == [key.text, key.manifest]
    assert store.pending() == []


def test_the_snapshot_is_complete_and_has_index_and_term(store: Store, cluster: Cluster) -> None:
    snapshot = backups_of(cluster)[0].status["snapshot"]
    with tarfile.open(fileobj=io.BytesIO(store.read(snapshot["key"])), mode="r:gz") as tar:
        members = {member.name: tar.extractfile(member) for member in tar}
        meta = members["meta.json"]
        assert meta is not None
        raft = orjson.loads(meta.read())
    assert (raft["Index"], raft["Term"]) == (snapshot["index"], snapshot["term"])
    assert {"meta.json", "state.bin", "SHA256SUMS"} <= members.keys()


def test_no_secret_is_in_clear_text_in_the_store(store: Store) -> None:
    stored = store.keys()
    for key in stored:
        content = store.read(key)
        if key.endswith(snapshot_keys.SUFFIX):
            with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
                state = tar.extractfile("state.bin")
                assert state is not None
                content = state.read()
        assert VALUE.encode() not in content


def test_the_cluster_reports_its_last_snapshot(cluster: Cluster) -> None:
    run = backups_of(cluster)[0]

    def is_reported() -> bool:
        return bool(recorded(cluster).get("lastBackupName") == run.status["key"])

    until("status.backup names the snapshot", is_reported, 20.0)
    backup, status = recorded(cluster), run.status
    assert backup["lastBackupSize"] == status["snapshot"]["size"]
    assert backup["lastBackupTime"] == status["completedAt"]
    assert (backup["successfulBackups"], backup.get("consecutiveFailures", 0)) == (1, 0)
    assert backup["latestSnapshot"]["digest"] == status["snapshot"]["digest"]
    assert backup["nextScheduledBackup"].endswith("-01-01T03:00:00Z")
    cluster.await_condition("BackupHealthy", reason="LastBackupSucceeded", seconds=20.0)


def test_the_run_owns_its_job_and_the_pod_is_no_server(cluster: Cluster) -> None:
    run = backups_of(cluster)[0]
    job = run.job()
    assert job is not None, "the Job was deleted within an hour"
    assert job["spec"]["ttlSecondsAfterFinished"] == 3600
    assert job["spec"]["backoffLimit"] == 0
    owner = job["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "OpenBaoBackup", run.live()["metadata"]["uid"], True,
    )  # fmt: skip
    pod = run.pods()[0]
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["metadata"]["name"] not in {obj["metadata"]["name"] for obj in cluster.pods()}


def test_a_wrong_secret_key_is_reported_and_counted_once(store: Store, cluster: Cluster) -> None:
    keys = store.keys()
    failures = recorded(cluster).get("consecutiveFailures") or 0
    with with_credentials(cluster, store.secret(secretAccessKey="x" * 40)):
        run = backup_now(cluster, "wrong-key")
        status = run.await_phase("Failed")
    assert status["reason"] == "StorageFailed", status["message"]
    assert status["report"]["failure"] == "Storage"
    assert "the secret key is wrong" in status["message"].lower(), status["message"]
    assert "snapshot" not in status
    assert run.exit_code() == EXIT_CODES["Storage"]
    assert (store.keys(), store.pending()) == (keys, [])

    def is_counted() -> bool:
        return bool(recorded(cluster).get("consecutiveFailures") == failures + 1)

    until("the failure is counted", is_counted, 20.0)
    assert recorded(cluster)["lastFailureReason"] == "StorageFailed"
    cluster.await_condition("BackupHealthy", "False", "BackupFailed", seconds=20.0)


def test_the_next_completed_snapshot_resets_the_failures(store: Store, cluster: Cluster) -> None:
    check_stored(store, backup_now(cluster, "good-again").await_phase("Completed"))
    until("the failures are reset", lambda: not recorded(cluster)["consecutiveFailures"], 20.0)
    backup = recorded(cluster)
    for name in ("lastFailureReason", "lastFailureMessage", "lastFailureTime"):
        assert not backup.get(name), name
    cluster.await_condition("BackupHealthy", reason="LastBackupSucceeded", seconds=20.0)


def test_the_server_was_not_restarted(api: Api, cluster: Cluster) -> None:
    restarts = [
        status["restartCount"]
        for pod in cluster.pods()
        for status in pod["status"]["containerStatuses"]
    ]
    assert restarts == [0]
    assert cluster.live()["status"].get("operationLock") is None, "the lock is still held"

    def active() -> list[str]:
        jobs = api.list(JOB, cluster.namespace)
        return [str(key_of(job)) for job in jobs if job["status"].get("active")]

    # The status has the end of a backup before the pod that reported it ends.
    until("no Job is active", lambda: not active(), 60.0)
    assert Reader.of(cluster).read("greeting") == VALUE
