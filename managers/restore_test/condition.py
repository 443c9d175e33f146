"""Condition BackupProven: whether restore tests of a cluster pass. Pure.

Called through the table of `managers.cluster.status.conditions`.
"""

from __future__ import annotations

from datetime import datetime

from contracts.api.cluster.backup import RestoreTest
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import BackupStatus, FinishedRestoreTest, RestoreTestStatus
from contracts.api.values import cron
from contracts.conditions.condition import ConditionUpdate
from contracts.pause import counted_from, resumed_at
from contracts.rfc3339 import rfc3339

PROVEN = "BackupProven"


def backup_proven(cluster: OpenBaoCluster, now: datetime) -> ConditionUpdate | None:
    """Report the last restore test; None without spec.backup."""
    backup = cluster.spec.backup
    if backup is None:
        return None
    status = cluster.status.backup or BackupStatus()
    test_status = status.restore_test or RestoreTestStatus()
    if test_status.last is None:
        if test_status.active is not None:
            key = test_status.active.key or "an unknown snapshot"
            message = f"the first restore test is running; it tests {key}"
            return ConditionUpdate(PROVEN, "Unknown", "RestoreTestRunning", message)
        return ConditionUpdate(PROVEN, "Unknown", "NeverTested", "No restore test has run yet")
    message = _summary(test_status.last)
    if test_status.last.outcome == "Failed":
        return ConditionUpdate(PROVEN, "False", "RestoreTestFailed", message)
    if test_status.last.outcome != "Passed":
        return ConditionUpdate(PROVEN, "Unknown", "RestoreTestInconclusive", message)
    successful, resumed = status.successful_backups or 0, resumed_at(cluster, now)
    late = _late(backup.restore_test, test_status, successful, resumed, now)
    if late:
        return ConditionUpdate(PROVEN, "False", "RestoreTestStale", f"{message}; {late}")
    return ConditionUpdate(PROVEN, "True", "RestoreTestPassed", message)


def _summary(last: FinishedRestoreTest) -> str:
    at = rfc3339(last.finished_at) if last.finished_at else "an unknown time"
    return f"{last.key or 'No snapshot'}, tested at {at}: {last.reason}: {last.message or ''}"


def _late(
    spec: RestoreTest | None,
    test_status: RestoreTestStatus,
    successful: int,
    resumed: datetime | None,
    now: datetime,
) -> str:
    """Return why a passed test is outdated; "" if it is not.

    `successful` is the number of stored snapshots, `resumed` the end of the last pause. A test is
    outdated only if the next one is a whole interval late, because a due test may be running.
    """
    if spec is None:
        return ""
    scheduled = test_status.next_scheduled_test
    # The stored time is valid only for the stored schedule, and the current one may be invalid.
    if spec.schedule and spec.schedule == test_status.schedule and scheduled is not None:
        start = counted_from(scheduled, resumed)
        if scheduled <= now and cron.next_after(spec.schedule, start) <= now:
            return f"the test scheduled for {rfc3339(scheduled)} has not run"
    every = spec.every_successful_backups
    if every is not None:
        since = successful - (test_status.last_backup_count or 0)
        if since >= 2 * every:
            return (
                f"{since} snapshots were stored since the last test, and a test is due after "
                f"every {every}"
            )
    return ""
