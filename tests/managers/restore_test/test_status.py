"""What the end of a test means, and what the status of its cluster counts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.api.cluster.backup import RestoreTest
from contracts.api.cluster.status_backup import RestoreTestStatus
from contracts.conditions.reasons_restore_test import PROOF_REASONS
from managers.restore_test.facts import RestoreTestFacts
from managers.restore_test.state_machine import decide
from managers.restore_test.status import next_record, of_report, summary
from tests.managers.restore_test.situations import (
    EVERY_WEEK,
    NOW,
    proof,
    report,
    run,
    situation,
    taken,
    weekly,
)

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("reason", PROOF_REASONS)
def test_a_report_means_what_the_table_says(reason: str) -> None:
    found = of_report(report(reason, message="so it is"), run(uid="job-1"), NOW)
    assert (found.outcome, found.reason) == (PROOF_REASONS[reason].outcome, reason)
    assert found.message == "so it is"


@pytest.mark.parametrize(
    "strange", [report("NoSuchReason"), report("Restored").model_copy(update={"outcome": "Failed"})]
)
def test_a_report_that_contradicts_itself_proves_nothing(strange: Any) -> None:
    found = of_report(strange, run(uid="job-1"), NOW)
    assert (found.outcome, found.reason) == ("Unknown", "JobFailed")


# --- what the status of the cluster says --------------------------------------------------------


def settled(given: RestoreTestFacts) -> RestoreTestStatus:
    """The summary, which has to be the same when it is made once more."""
    first = summary(given)
    assert summary(replace(given, status=first)) == first
    return first


def test_a_run_is_counted_once_by_its_id() -> None:
    passed = settled(situation(taken(proof=proof())))
    assert (passed.passed, passed.failed, passed.last_success_time) == (1, 0, NOW)
    assert passed.last_success_key == "ns/x/monday.snap"
    assert passed.last is not None
    assert (passed.last.outcome, passed.last.reason) == ("Passed", "Restored")
    bad = proof("Failed", "SealDiffers", run="9876543210", at=NOW + HOUR)
    failed = settled(situation(taken(proof=proof()), taken("new", proof=bad), status=passed))
    assert (failed.passed, failed.failed, failed.last_success_time) == (1, 1, NOW)
    assert failed.last is not None
    assert failed.last.reason == "SealDiffers"


def test_the_objects_may_go_and_the_summary_stays() -> None:
    known = settled(situation(taken(proof=proof())))
    assert summary(situation(status=known)) == known


def test_a_schedule_is_first_due_after_now_and_follows_an_edit() -> None:
    wishes = RestoreTest(schedule=EVERY_WEEK)
    first = settled(situation(spec=wishes))
    assert first.next_scheduled_test == NOW + timedelta(days=6, hours=17)
    edited = settled(situation(spec=RestoreTest(schedule="0 13 * * *"), status=first))
    assert (edited.schedule, edited.next_scheduled_test) == ("0 13 * * *", NOW + HOUR)
    gone = settled(situation(spec=None, status=edited))
    assert (gone.schedule, gone.next_scheduled_test) == (None, None)


def test_however_many_times_were_missed_one_test_is_run() -> None:
    long_ago = {"next_scheduled_test": NOW - timedelta(days=40)}
    begun = situation(taken(test=run("Scheduled")), **weekly(**long_ago))
    after = settled(begun)
    assert after.active is not None
    assert (after.active.run, after.active.key) == ("0123456789", "ns/x/monday.snap")
    assert after.next_scheduled_test == NOW + timedelta(days=6, hours=17)
    later = replace(begun, candidates=(taken(),), status=after)
    assert next_record(later, decide(later)) is None


def test_a_test_that_a_person_asks_for_consumes_nothing() -> None:
    known = {"next_scheduled_test": NOW - HOUR, "last_backup_count": 1}
    after = settled(situation(taken(test=run("Requested")), successful=4, **weekly(**known)))
    assert (after.next_scheduled_test, after.last_backup_count) == (NOW - HOUR, 1)


def test_the_count_begins_anew_with_each_test() -> None:
    after = settled(situation(taken(test=run()), successful=4))
    assert after.last_backup_count == 4
    assert settled(situation(taken(), successful=4, status=after)).active is None
