"""Condition BackupProven, for each status of the restore tests."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import (
    ActiveRestoreTest,
    FinishedRestoreTest,
    RestoreTestStatus,
)
from managers.restore_test.condition import backup_proven
from tests import gen
from tests.gen.clusters import cluster
from tests.gen.job_templates import target
from tests.managers.restore_test.situations import EVERY_WEEK, NOW

WEEK = timedelta(days=7)


def result(outcome: str | None = None, reason: str = "Restored", **more: Any) -> RestoreTestStatus:
    last = None
    if outcome is not None:
        last = FinishedRestoreTest(
            run="r", outcome=outcome, reason=reason, message="so", key="a.snap", finished_at=NOW
        )
    return RestoreTestStatus(last=last, **more)


def after(
    test: Mapping[str, Any] | None, status: RestoreTestStatus | None, successful: int = 1
) -> OpenBaoCluster:
    backup = {"schedule": "0 3 * * *", "target": target().to_object()}
    spec = {**backup, "restoreTest": dict(test)} if test else backup
    backup_status: dict[str, Any] = {"successfulBackups": successful}
    if status is not None:
        backup_status["restoreTest"] = status.to_object()
    return OpenBaoCluster.from_object(
        cluster().with_spec(backup=spec).with_status(backup=backup_status).object()
    )


WEEKLY = {"schedule": EVERY_WEEK}


def passed_and_due(before: timedelta) -> RestoreTestStatus:
    """Return the status when the next test of the weekly schedule was due long ago."""
    return result("Passed", schedule=EVERY_WEEK, next_scheduled_test=NOW - before)


CASES: Mapping[str, tuple[OpenBaoCluster, str, str]] = {
    "no status": (after(WEEKLY, None), "Unknown", "NeverTested"),
    "the first test runs": (
        after(WEEKLY, result(active=ActiveRestoreTest(run="r"))), "Unknown", "RestoreTestRunning",
    ),
    "a later test runs": (
        after(WEEKLY, result("Passed", active=ActiveRestoreTest(run="r"))),
        "True", "RestoreTestPassed",
    ),
    "it passed": (after(WEEKLY, result("Passed")), "True", "RestoreTestPassed"),
    "it failed": (after(WEEKLY, result("Failed", "SealDiffers")), "False", "RestoreTestFailed"),
    "it was inconclusive": (
        after(WEEKLY, result("Unknown", "JobGone")), "Unknown", "RestoreTestInconclusive",
    ),
    "the next one is late by less than an interval": (
        after(WEEKLY, passed_and_due(timedelta(hours=7))),
        "True", "RestoreTestPassed",
    ),
    "the next one is late by an interval": (
        after(WEEKLY, passed_and_due(timedelta(hours=7) + WEEK)), "False", "RestoreTestStale",
    ),
    "the next one of a former schedule is late": (
        after({"schedule": "0 6 * * *"}, passed_and_due(2 * WEEK)), "True", "RestoreTestPassed",
    ),
    "the schedule was replaced by one that is never due": (
        after({"schedule": "0 0 31 2 *"}, passed_and_due(2 * WEEK)), "True", "RestoreTestPassed",
    ),
    "fewer snapshots than twice the interval": (
        after({"everySuccessfulBackups": 3}, result("Passed", last_backup_count=4), 9),
        "True", "RestoreTestPassed",
    ),
    "twice as many snapshots as the interval": (
        after({"everySuccessfulBackups": 3}, result("Passed", last_backup_count=4), 10),
        "False", "RestoreTestStale",
    ),
    "only tests on request": (after(None, result("Passed"), 99), "True", "RestoreTestPassed"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_condition(name: str) -> None:
    subject, status, reason = CASES[name]
    condition = gen.present(backup_proven(subject, NOW))
    assert (condition.status, condition.reason) == (status, reason)


def test_the_message_names_the_snapshot_and_the_reason() -> None:
    subject = after(WEEKLY, result("Failed", "SealDiffers"))
    condition = gen.present(backup_proven(subject, NOW))
    assert condition.message == "a.snap, tested at 2030-01-06T12:00:00Z: SealDiffers: so"


def test_a_cluster_without_backups_has_no_condition() -> None:
    assert backup_proven(OpenBaoCluster.from_object(cluster().object()), NOW) is None
