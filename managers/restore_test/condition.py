"""Condition BackupProven: whether the snapshots of a cluster are known to be good. Pure.

Called through the table of `managers.cluster.status.conditions`.
"""

from __future__ import annotations

from datetime import datetime

from contracts.api.cluster.backup import RestoreTest
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import BackupStatus, FinishedRestoreTest, RestoreTestStatus
from contracts.api.meta import rfc3339
from contracts.api.values import cron
from contracts.conditions.condition import ConditionUpdate
from contracts.pause import counted_from, resumed_at

PROVEN = "BackupProven"


def backup_proven(cluster: OpenBaoCluster, now: datetime) -> ConditionUpdate | None:
    """Judge what is known; None when the spec asks for no backups."""
    backup = cluster.spec.backup
    if backup is None:
        return None
    status = cluster.status.backup or BackupStatus()
    known = status.restore_test or RestoreTestStatus()
    if known.last is None:
        if known.active is not None:
            told = (
                f"{known.active.key or 'A snapshot'} is being restored to see, for the first time"
            )
            return ConditionUpdate(PROVEN, "Unknown", "RestoreTestRunning", told)
        return ConditionUpdate(
            PROVEN, "Unknown", "NeverTested", "No snapshot was ever restored to see"
        )
    told = _told(known.last)
    if known.last.outcome == "Failed":
        return ConditionUpdate(PROVEN, "False", "RestoreTestFailed", told)
    if known.last.outcome != "Passed":
        return ConditionUpdate(PROVEN, "Unknown", "RestoreTestInconclusive", told)
    counting = (status.successful_backups or 0, resumed_at(cluster, now))
    late = _late(backup.restore_test, known, counting, now)
    if late:
        return ConditionUpdate(PROVEN, "False", "ProofOutdated", f"{told}; {late}")
    return ConditionUpdate(PROVEN, "True", "RestoreTestPassed", told)


def _told(last: FinishedRestoreTest) -> str:
    at = rfc3339(last.finished_at) if last.finished_at else "an unknown time"
    return f"{last.key or 'No snapshot'}, tested at {at}: {last.reason}: {last.message or ''}"


def _late(
    wishes: RestoreTest | None,
    known: RestoreTestStatus,
    counting: tuple[int, datetime | None],
    now: datetime,
) -> str:
    """Why a test that passed says no longer enough; "" when it does.

    `counting`: how many snapshots were stored, and when the last pause ended.

    A whole round late: the one that is due may be on its way.
    """
    if wishes is None:
        return ""
    successful, resumed = counting
    if wishes.schedule and known.next_scheduled_test is not None:
        due = known.next_scheduled_test
        round_of = counted_from(due, resumed)
        if due <= now and cron.next_after(wishes.schedule, round_of) <= now:
            return f"the test of {rfc3339(due)} has not been run"
    every = wishes.every_successful_backups
    if every is not None:
        since = successful - (known.last_backup_count or 0)
        if since >= 2 * every:
            return f"{since} snapshots were taken since the last test, and one in {every} is due"
    return ""
