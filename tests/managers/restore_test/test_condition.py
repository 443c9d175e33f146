"""Condition BackupProven, by what the status of the cluster knows of tests."""

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
from tests.gen.executors import target
from tests.managers.restore_test.situations import EVERY_WEEK, NOW

WEEK = timedelta(days=7)


def known(outcome: str | None = None, reason: str = "Restored", **more: Any) -> RestoreTestStatus:
    last = None
    if outcome is not None:
        last = FinishedRestoreTest(
            run="r", outcome=outcome, reason=reason, message="so", key="a.snap", finished_at=NOW
        )
    return RestoreTestStatus(last=last, **more)


def told(
    test: Mapping[str, Any] | None, status: RestoreTestStatus | None, successful: int = 1
) -> OpenBaoCluster:
    backup = {"schedule": "0 3 * * *", "target": target().to_object()}
    asked = {**backup, "restoreTest": dict(test)} if test else backup
    known_too: dict[str, Any] = {"successfulBackups": successful}
    if status is not None:
        known_too["restoreTest"] = status.to_object()
    return OpenBaoCluster.from_object(
        cluster().wanting(backup=asked).having(backup=known_too).object()
    )


WEEKLY = {"schedule": EVERY_WEEK}
CASES: Mapping[str, tuple[OpenBaoCluster, str, str]] = {
    "nothing is known": (told(WEEKLY, None), "Unknown", "NeverTested"),
    "the first test runs": (
        told(WEEKLY, known(active=ActiveRestoreTest(run="r"))), "Unknown", "RestoreTestRunning",
    ),
    "a later test runs": (
        told(WEEKLY, known("Passed", active=ActiveRestoreTest(run="r"))),
        "True", "RestoreTestPassed",
    ),
    "it passed": (told(WEEKLY, known("Passed")), "True", "RestoreTestPassed"),
    "it failed": (told(WEEKLY, known("Failed", "SealDiffers")), "False", "RestoreTestFailed"),
    "it says nothing": (
        told(WEEKLY, known("Unknown", "JobGone")), "Unknown", "RestoreTestInconclusive",
    ),
    "the next one is late by less than a round": (
        told(WEEKLY, known("Passed", next_scheduled_test=NOW - timedelta(hours=7))),
        "True", "RestoreTestPassed",
    ),
    "the next one is late by a round": (
        told(WEEKLY, known("Passed", next_scheduled_test=NOW - timedelta(hours=7) - WEEK)),
        "False", "RestoreTestStale",
    ),
    "one snapshot more than is due": (
        told({"everySuccessfulBackups": 3}, known("Passed", last_backup_count=4), 9),
        "True", "RestoreTestPassed",
    ),
    "twice as many snapshots as are due": (
        told({"everySuccessfulBackups": 3}, known("Passed", last_backup_count=4), 10),
        "False", "RestoreTestStale",
    ),
    "only a person asks": (told(None, known("Passed"), 99), "True", "RestoreTestPassed"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_answer_follows_from_what_is_known(name: str) -> None:
    given, status, reason = CASES[name]
    finding = gen.present(backup_proven(given, NOW))
    assert (finding.status, finding.reason) == (status, reason)


def test_the_message_names_the_snapshot_and_the_reason() -> None:
    finding = gen.present(backup_proven(told(WEEKLY, known("Failed", "SealDiffers")), NOW))
    assert finding.message == "a.snap, tested at 2030-01-06T12:00:00Z: SealDiffers: so"


def test_a_cluster_without_backups_is_told_nothing() -> None:
    assert backup_proven(OpenBaoCluster.from_object(cluster().object()), NOW) is None
