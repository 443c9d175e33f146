"""The result of a restore test, and the summary in the status of its cluster."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.api.cluster.backup import RestoreTest
from contracts.api.cluster.status_backup import RestoreTestStatus
from contracts.conditions.reasons_restore_test import RESTORE_TEST_REASONS
from managers.restore_test.facts import RestoreTestFacts
from managers.restore_test.state_machine import decide
from managers.restore_test.status import next_record, result_of_report, summary
from tests.managers.restore_test.situations import (
    EVERY_WEEK,
    NOW,
    backup,
    proof,
    report,
    run,
    situation,
    weekly,
)

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("reason", RESTORE_TEST_REASONS)
def test_each_reason_of_a_report_has_its_outcome(reason: str) -> None:
    restore_test = result_of_report(report(reason, message="so it is"), run(uid="job-1"), NOW)
    assert (restore_test.outcome, restore_test.reason) == (
        RESTORE_TEST_REASONS[reason].outcome,
        reason,
    )
    assert restore_test.message == "so it is"


@pytest.mark.parametrize(
    "strange", [report("NoSuchReason"), report("Restored").model_copy(update={"outcome": "Failed"})]
)
def test_a_contradictory_report_is_inconclusive(strange: Any) -> None:
    restore_test = result_of_report(strange, run(uid="job-1"), NOW)
    assert (restore_test.outcome, restore_test.reason) == ("Unknown", "JobFailed")


# --- the summary of the cluster -----------------------------------------------------------------


def summarize(facts: RestoreTestFacts) -> RestoreTestStatus:
    """Return the summary, and check that computing it again does not change it."""
    first = summary(facts)
    assert summary(replace(facts, status=first)) == first
    return first


def test_a_run_is_counted_once_by_its_id() -> None:
    passed = summarize(situation(backup(proof=proof())))
    assert (passed.passed, passed.failed, passed.last_success_time) == (1, 0, NOW)
    assert passed.last_success_key == "ns/x/monday.snap"
    assert passed.last is not None
    assert (passed.last.outcome, passed.last.reason) == ("Passed", "Restored")
    bad = proof("Failed", "SealDiffers", run="9876543210", at=NOW + HOUR)
    failed = summarize(situation(backup(proof=proof()), backup("new", proof=bad), status=passed))
    assert (failed.passed, failed.failed, failed.last_success_time) == (1, 1, NOW)
    assert failed.last is not None
    assert failed.last.reason == "SealDiffers"


def test_the_summary_remains_when_the_backups_are_deleted() -> None:
    status = summarize(situation(backup(proof=proof())))
    assert summary(situation(status=status)) == status


def test_a_new_or_edited_schedule_is_due_after_now() -> None:
    first = summarize(situation(spec=RestoreTest(schedule=EVERY_WEEK)))
    assert first.next_scheduled_test == NOW + timedelta(days=6, hours=17)
    edited = summarize(situation(spec=RestoreTest(schedule="0 13 * * *"), status=first))
    assert (edited.schedule, edited.next_scheduled_test) == ("0 13 * * *", NOW + HOUR)
    removed = summarize(situation(spec=None, status=edited))
    assert (removed.schedule, removed.next_scheduled_test) == (None, None)


def test_a_time_from_a_clock_that_was_ahead_is_corrected() -> None:
    in_a_year = {"next_scheduled_test": NOW + timedelta(days=365)}
    after = summarize(situation(backup(), **weekly(**in_a_year)))
    assert after.next_scheduled_test == NOW + timedelta(days=6, hours=17)


def test_all_missed_times_cause_one_test() -> None:
    long_ago = {"next_scheduled_test": NOW - timedelta(days=40)}
    running = situation(backup(test=run("Scheduled")), **weekly(**long_ago))
    after = summarize(running)
    assert after.active is not None
    assert (after.active.run, after.active.key) == ("0123456789", "ns/x/monday.snap")
    assert after.next_scheduled_test == NOW + timedelta(days=6, hours=17)
    later = replace(running, candidates=(backup(),), status=after)
    assert next_record(later, decide(later)) is None


def test_a_requested_test_changes_neither_schedule_nor_count() -> None:
    status = {"next_scheduled_test": NOW - HOUR, "last_backup_count": 1}
    after = summarize(situation(backup(test=run("Requested")), successful=4, **weekly(**status)))
    assert (after.next_scheduled_test, after.last_backup_count) == (NOW - HOUR, 1)


def test_each_test_resets_the_count() -> None:
    after = summarize(situation(backup(test=run()), successful=4))
    assert after.last_backup_count == 4
    assert summarize(situation(backup(), successful=4, status=after)).active is None
