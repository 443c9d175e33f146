"""Each trigger creates one snapshot: the schedule, an annotation, an OpenBaoBackup.

A schedule is due at most once in 15 minutes, too long to wait for. The scenario writes a time in
the past into `status.backup`, as an operator finds it after it was down.
"""

from datetime import UTC, datetime, timedelta

import pytest

from contracts.api.group import BACKUPS, CLUSTERS
from contracts.naming import labels, names
from e2e.conftest import MakeNamespace
from e2e.harness.backups import (
    SELDOM,
    Run,
    backups_of,
    check_stored,
    make_backup_cluster,
    recorded,
    trigger,
)
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import Operator
from e2e.harness.stores import Store
from e2e.harness.waiting import throughout, until
from runtime.builtin_kinds import JOB

MISSED = datetime(2026, 1, 1, 3, tzinfo=UTC)
"""A time of the schedule in the past; many more have passed since."""
DAILY = "0 3 * * *"


@pytest.fixture(scope="module")
def cluster(
    api: Api, store: Store, reloading_operator: Operator, make_namespace: MakeNamespace
) -> Cluster:
    """One server whose schedule is due once a year."""
    return make_backup_cluster(api, make_namespace(), store.target(), store, replicas=1)


def edit_schedule(cluster: Cluster, schedule: str) -> None:
    change = {"spec": {"backup": {"schedule": schedule}}}
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, change)


def condition(cluster: Cluster, kind: str) -> Object:
    return next(c for c in cluster.live()["status"]["conditions"] if c["type"] == kind)


def jobs_of(cluster: Cluster) -> list[str]:
    selector = f"{labels.COMPONENT}=backup"
    jobs = cluster.api.list(JOB, cluster.namespace, selector)
    return sorted(job["metadata"]["name"] for job in jobs)


def test_no_snapshot_is_taken_before_the_first_time(cluster: Cluster) -> None:
    until(
        "the status has the next time", lambda: recorded(cluster).get("nextScheduledBackup"), 10.0
    )
    assert recorded(cluster)["schedule"] == SELDOM
    assert backups_of(cluster) == []
    assert condition(cluster, "BackupHealthy")["reason"] == "NoBackupYet"


def test_an_edit_of_the_schedule_takes_effect_immediately(cluster: Cluster) -> None:
    now = datetime.now(UTC)
    edit_schedule(cluster, DAILY)
    until(
        "the status has the new schedule", lambda: recorded(cluster).get("schedule") == DAILY, 5.0
    )
    due = datetime.fromisoformat(recorded(cluster)["nextScheduledBackup"])
    assert now < due <= now + timedelta(days=1, minutes=1)
    assert (due.hour, due.minute) == (3, 0)
    assert backups_of(cluster) == []


def test_an_annotation_triggers_one_snapshot_and_is_removed(store: Store, cluster: Cluster) -> None:
    trigger(cluster, "before the change")
    (run,) = until("an OpenBaoBackup is created", lambda: backups_of(cluster), 10.0)
    check_stored(store, run.await_phase("Completed"))
    annotations = cluster.live()["metadata"]["annotations"]
    assert labels.TRIGGER_BACKUP not in annotations
    assert annotations[labels.BACKUP_TRIGGERED] == run.name
    until("the backup is counted", lambda: recorded(cluster).get("successfulBackups") == 1, 5.0)
    assert recorded(cluster)["lastHandledManualTrigger"] == "before the change"
    until(
        "BackupHealthy is True",
        lambda: condition(cluster, "BackupHealthy")["status"] == "True",
        10.0,
    )
    assert condition(cluster, "BackingUp")["status"] == "False"


def test_missed_times_lead_to_one_snapshot(store: Store, cluster: Cluster) -> None:
    before = len(backups_of(cluster))
    status = {**recorded(cluster), "nextScheduledBackup": MISSED.strftime("%Y-%m-%dT%H:%M:%SZ")}
    cluster.api.patch_status(
        CLUSTERS, cluster.namespace, cluster.name, {"status": {"backup": status}}
    )
    name = names.scheduled_backup(cluster.name, MISSED)
    run = Run(cluster.api, BACKUPS, cluster.namespace, name)
    check_stored(store, run.await_phase("Completed"))
    throughout("no other backup is created", lambda: len(backups_of(cluster)) == before + 1, 3.0)
    until(
        "the status has the attempt",
        lambda: recorded(cluster).get("lastAttemptScheduledTime") == "2026-01-01T03:00:00Z",
        5.0,
    )
    due = datetime.fromisoformat(recorded(cluster)["nextScheduledBackup"])
    assert due > datetime.now(UTC)
    assert f"backup-{name}" in jobs_of(cluster)
