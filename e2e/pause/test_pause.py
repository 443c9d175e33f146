"""spec.paused stops all writes immediately, also in an upgrade; maintenance keeps the pods."""

import pytest

from contracts.api.group import RESTORES
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.demo.objects import condition, status_of
from e2e.harness.backups import SELDOM, Run, backup_now, make_credentials, restore
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADFAST
from e2e.harness.operator import Operator
from e2e.harness.pauses import pause, resume
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.stopped_upgrade import POD_DEADLINE
from e2e.harness.stores import Store
from e2e.harness.upgrade_history import CLUSTERS, History
from e2e.harness.upgrades import Requests, change, record_events
from e2e.harness.waiting import throughout, until
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.builtin_kinds import EVENT, JOB, SERVICE

NAME = "held"
FIRST, SECOND = OPENBAO_UPGRADES[1:3]
PAUSED_SECONDS = 12.0
# The most status updates of a pause: one of the cluster, one of each object that waits for its end.
STATUS_UPDATES = 3


@pytest.fixture(scope="module")
def cluster(
    api: Api, make_namespace: MakeNamespace, short_deadline_operator: Operator, store: Store
) -> Cluster:
    """Three voters with a backup target."""
    namespace = make_namespace()
    make_credentials(api, namespace, store)
    backup = {"schedule": SELDOM, "target": store.target()}
    return steady_voters(
        api, namespace, NAME, version=FIRST, configuration=STEADFAST, backup=backup
    )


@pytest.fixture(scope="module")
def snapshot(cluster: Cluster) -> Run:
    """A snapshot that was taken before the pause."""
    run = backup_now(cluster, "before")
    run.await_phase("Completed", 120.0)
    return run


@pytest.mark.timeout(300)
def test_a_paused_cluster_gets_no_writes(
    cluster: Cluster, requests: Requests, snapshot: Run
) -> None:
    """A repair and a backup wait for the end of the pause, and a rollout until it is withdrawn."""
    requests.settle(cluster)
    pods, service = cluster.pod_uids(), names.public_service(NAME)
    held = pause(cluster, requests)
    cluster.api.delete(SERVICE, cluster.namespace, service)
    change(cluster, {"runtime": {"restartAt": "while-paused"}})
    backup = backup_now(cluster, "while-paused")
    cluster.await_condition("Paused", "True", seconds=10.0)
    throughout("no pod is replaced", lambda: cluster.pod_uids() == pods, PAUSED_SECONDS)
    assert not (writes := held.writes()), "\n".join(map(str, writes))
    assert len(held.status_updates()) <= STATUS_UPDATES, "\n".join(map(str, held.status_updates()))
    assert cluster.api.find(SERVICE, cluster.namespace, service) is None
    assert backup.job() is None
    mark = requests.mark()
    throughout(
        "the operator writes nothing", lambda: not requests.writes_since(mark), 5.0, every=1.0
    )

    change(cluster, {"runtime": None})
    resume(cluster)
    until(
        "the Service is recreated",
        lambda: cluster.api.find(SERVICE, cluster.namespace, service),
        20.0,
    )
    backup.await_phase("Completed", 180.0)
    cluster.await_available(120.0)
    assert cluster.pod_uids() == pods


@pytest.mark.timeout(200)
def test_a_restore_waits_for_the_end_of_the_pause(
    cluster: Cluster, requests: Requests, snapshot: Run
) -> None:
    requests.settle(cluster)
    held = pause(cluster, requests)
    cluster.await_condition("Paused", "True", seconds=10.0)
    run = restore(cluster, "while-paused", {"backup": snapshot.name})
    throughout("the restore does not start", lambda: run.job() is None, PAUSED_SECONDS, every=1.0)
    # The restore gets its finalizer, and events that report what it waits for.
    writes = [
        entry for entry in held.writes() if entry.resource not in ("openbaorestores", "events")
    ]
    assert not writes, "\n".join(map(str, writes))
    cluster.api.delete(RESTORES, cluster.namespace, run.name)
    resume(cluster)
    requests.settle(cluster)
    jobs = [job["metadata"]["name"] for job in cluster.api.list(JOB, cluster.namespace)]
    assert names.run_job("restore", run.name) not in jobs


@pytest.mark.timeout(400)
def test_an_upgrade_waits_for_maintenance_and_a_paused_one_resumes_with_its_full_timeout(
    cluster: Cluster, requests: Requests
) -> None:
    """The pause is longer than the timeout of a server, and does not count towards it."""
    requests.settle(cluster)
    pods = cluster.pod_uids()
    change(cluster, {"maintenance": {"enabled": True}})
    cluster.await_available(60.0)
    with record_events(cluster) as record, ServiceWriter(cluster, reads_back=True) as writer:
        change(cluster, {"version": SECOND})
        cluster.await_condition("Upgrading", "False", "Maintenance", seconds=20.0)
        throughout("no pod is replaced", lambda: cluster.pod_uids() == pods, PAUSED_SECONDS)
        change(cluster, {"maintenance": None})
        record.await_first_touch()
        # The event of a status update may be written during the pause.
        until("the missing server is reported", lambda: has_event(cluster, "NotReady"), 20.0)
        held = pause(cluster, requests)
        cluster.await_condition("Paused", "True", seconds=10.0)
        throughout(
            "no further pod is replaced",
            lambda: len(record.history.replaced()) == 1,
            POD_DEADLINE + 5.0,
        )
        assert not (writes := held.writes()), "\n".join(map(str, writes))
        assert record.history.step_downs() == []
        status = cluster.live()["status"]
        assert status["upgrade"]["targetVersion"] == SECOND
        assert status["release"]["version"] == SECOND
        resume(cluster)
        record.await_finished(SECOND)
        history = record.history
    print(f"\n  {writer.describe()}")
    assert_no_failure(history)
    assert sorted(history.replaced()) == [names.pod(NAME, number) for number in range(3)]
    assert len(history.leaders()) == 2
    assert writer.lost() == []
    assert writer.missed == []
    assert not cluster.pod_uids() & pods


def has_event(cluster: Cluster, reason: str) -> bool:
    """Whether an event of the namespace has that reason."""
    return any(event["reason"] == reason for event in cluster.api.list(EVENT, cluster.namespace))


def assert_no_failure(history: History) -> None:
    """Assert that no status reported a failed upgrade at any time."""
    for entry in history.entries:
        if entry.kind == CLUSTERS:
            assert not (status_of(entry.object).get("upgrade") or {}).get("failure")
            degraded = condition(entry.object, "Degraded") or {}
            assert degraded.get("reason") not in ("PodNotReady", "StepDownTimeout")
