"""Each fault during a backup has a reason, is counted once, and leaves nothing in the store.

A proxy in front of a real store injects faults of the store; pods, Jobs and servers are real, and
so are their faults. The snapshot has several parts, so that an upload can fail halfway. The errors
of stores are in tests/integration/test_stores.py and tests/baoctl/jobs/store.
"""

import base64
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from contracts.exit_codes import EXIT_CODES
from e2e.conftest import MakeNamespace
from e2e.harness.backups import (
    NAME,
    Reader,
    Run,
    backup_now,
    check_stored,
    make_backup_cluster,
    recorded,
)
from e2e.harness.clusters import Cluster
from e2e.harness.fault_proxy import Cut, FaultProxy, Request, Slow
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import Operator
from e2e.harness.server_process import server_pid
from e2e.harness.stores import Store
from e2e.harness.waiting import until
from runtime.builtin_kinds import POD

MIB = 1024 * 1024
PART = 5 * MIB
# More than two parts in total; each value fits into one request to the server.
VALUES, VALUE_BYTES = 18, 512 * 1024
# The limit of a run on a busy machine, including the retries of the library of the store.
SECONDS = 120.0
HOLD = "test.openbao.org/hold"


@pytest.fixture(scope="module")
def cluster(
    api: Api,
    store: Store,
    proxy: FaultProxy,
    reloading_operator: Operator,
    make_namespace: MakeNamespace,
) -> Cluster:
    """One server with some megabytes of incompressible data, and one completed snapshot."""
    target = {**proxy.target(), "partSize": PART, "concurrency": 1}
    spec: Object = {"backup": {"retention": {"maxCount": 1}}, "storage": {"size": "256Mi"}}
    cluster = make_backup_cluster(api, make_namespace(), target, store, **spec)
    reader = Reader.of(cluster)
    for number in range(VALUES):
        reader.write(f"ballast-{number}", base64.b64encode(os.urandom(VALUE_BYTES)).decode())
    status = backup_now(cluster, "good").await_phase("Completed", SECONDS)
    assert check_stored(store, status)["size"] > 2 * PART
    return cluster


def _part(request: Request) -> bool:
    return "partNumber" in request.parameters


@contextmanager
def _one_failure(store: Store, cluster: Cluster) -> Iterator[None]:
    """In the block one run fails: it is counted once, and the store is unchanged."""
    keys, before = store.keys(), recorded(cluster).get("consecutiveFailures") or 0
    yield

    def is_counted() -> bool:
        return bool((recorded(cluster).get("consecutiveFailures") or 0) == before + 1)

    until("the failure is counted", is_counted, 20.0)
    assert (store.keys(), store.pending()) == (keys, [])
    assert cluster.live()["status"].get("operationLock") is None


def test_a_cut_connection_leaves_no_parts_and_is_counted_once(
    store: Store, proxy: FaultProxy, cluster: Cluster
) -> None:
    """The connection ends after one and a half parts; each later one ends immediately."""
    with proxy.inject(Cut(after=PART + PART // 2)), _one_failure(store, cluster):
        run = backup_now(cluster, "cut")
        status = run.await_phase("Failed", SECONDS)
        assert status["reason"] == "StorageFailed", status["message"]
        assert run.exit_code() == EXIT_CODES["Storage"]


@contextmanager
def _during_the_upload(proxy: FaultProxy, cluster: Cluster, name: str) -> Iterator[Run]:
    """A run that uploads its parts to a slow store."""
    count = len(proxy.requests)
    with proxy.inject(Slow(MIB)):
        run = backup_now(cluster, name)
        until(
            "a part is sent", lambda: any(map(_part, proxy.requests[count:])), SECONDS, every=0.05
        )
        yield run


def test_an_evicted_pod_fails_its_backup_once(
    api: Api, store: Store, proxy: FaultProxy, cluster: Cluster
) -> None:
    with _one_failure(store, cluster):
        with _during_the_upload(proxy, cluster, "evicted") as run:
            pod = run.pods()[0]["metadata"]
            # An evicted pod is deleted when it ends, and its exit code with it: keep it.
            held = [*pod.get("finalizers", []), HOLD]
            api.patch(POD, cluster.namespace, pod["name"], {"metadata": {"finalizers": held}})
            api.evict(cluster.namespace, pod["name"])
            # The store stays slow until then: otherwise the upload would end before the pod does.
            status = run.await_phase("Failed", SECONDS)
        assert (status["reason"], run.exit_code()) == ("SnapshotFailed", EXIT_CODES["Snapshot"])
        assert "was stopped" in status["message"]
        # Only ours: the Job controller needs its own finalizer.
        left = api.get(POD, cluster.namespace, pod["name"])["metadata"]["finalizers"]
        left.remove(HOLD)
        api.patch(POD, cluster.namespace, pod["name"], {"metadata": {"finalizers": left}})
        assert len(run.pods()) <= 1, "the Job retried the pod"


def test_a_deleted_job_leaves_the_outcome_unknown(
    api: Api, store: Store, proxy: FaultProxy, cluster: Cluster
) -> None:
    before = recorded(cluster).get("consecutiveFailures") or 0
    with _during_the_upload(proxy, cluster, "vanished") as run:
        # The pod is killed and deleted with its Job, and reports nothing.
        api.rig.kubectl(
            "-n", cluster.namespace, "delete", "job", run.status["jobName"],
            "--cascade=foreground", "--wait=false",
        )  # fmt: skip
        api.rig.kubectl(
            "-n", cluster.namespace, "delete", "pod", run.pods()[0]["metadata"]["name"],
            "--grace-period=0", "--force",
        )  # fmt: skip
        status = run.await_end(SECONDS)
    assert status["phase"] == "Unknown", run.describe()
    assert status["reason"] == "OutcomeUnknown"
    until(
        "the failure is counted once",
        lambda: (recorded(cluster).get("consecutiveFailures") or 0) == before + 1,
        20.0,
    )


def test_a_server_that_does_not_respond_fails_the_backup_in_time(
    store: Store, cluster: Cluster
) -> None:
    pid = server_pid(cluster.namespace, f"{NAME}-0")
    assert pid is not None
    with _one_failure(store, cluster):
        os.kill(pid, signal.SIGSTOP)
        try:
            run = backup_now(cluster, "frozen")
            status = run.await_phase("Failed", SECONDS)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert status["reason"] == "LeaderDiscoveryFailed"
        assert run.exit_code() == EXIT_CODES["LeaderDiscovery"]
    cluster.await_available(60.0)


def test_after_all_faults_the_next_backup_completes(store: Store, cluster: Cluster) -> None:
    check_stored(store, backup_now(cluster, "at-last").await_phase("Completed", SECONDS))
    until("no failures are counted", lambda: not recorded(cluster).get("consecutiveFailures"), 20.0)
    cluster.await_condition("BackupHealthy", reason="LastBackupSucceeded", seconds=20.0)
