"""When a snapshot is tested, what the end of a test means, and what is counted."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.api.cluster.backup import RestoreTest
from contracts.api.cluster.status_backup import RestoreTestStatus
from contracts.conditions.reasons_restore_test import PROOF_REASONS
from managers.restore_test.facts import RestoreTestFacts
from managers.restore_test.plan import (
    Begin,
    Conclude,
    Idle,
    Launch,
    WatchJob,
    decide,
    of_report,
    summary,
)
from tests.managers.restore_test.situations import (
    EVERY_WEEK,
    NOW,
    job,
    proof,
    report,
    run,
    situation,
    taken,
    weekly,
)

HOUR = timedelta(hours=1)
DUE = {"next_scheduled_test": NOW - HOUR}
LATER = {"next_scheduled_test": NOW + HOUR}

BEGINS: Mapping[str, tuple[RestoreTestFacts, str | None, str | None]] = {
    # name: situation, the snapshot that is tested, why; None, None for none
    "the first snapshot of all": (situation(taken()), "monday", "Counted"),
    "the newest of several": (
        situation(taken("old", 5), taken("new", 1), taken("older", 9)), "new", "Counted",
    ),
    "too few since the last test": (
        situation(
            taken(), spec=RestoreTest(every_successful_backups=3), successful=5,
            status=RestoreTestStatus(last_backup_count=3),
        ), None, None,
    ),
    "enough since the last test": (
        situation(
            taken(), spec=RestoreTest(every_successful_backups=3), successful=6,
            status=RestoreTestStatus(last_backup_count=3),
        ), "monday", "Counted",
    ),
    "nobody asks": (situation(taken(), spec=None), None, None),
    "the time has come": (situation(taken(), **weekly(**DUE)), "monday", "Scheduled"),
    "the time has not come": (situation(taken(), **weekly(**LATER)), None, None),
    "the time has come, and nothing is there": (situation(**weekly(**DUE)), None, None),
    "the time is that of a former schedule": (
        situation(
            taken(), spec=RestoreTest(schedule="0 6 * * *"),
            status=RestoreTestStatus(schedule=EVERY_WEEK, **DUE),
        ), None, None,
    ),
    "a snapshot without a digest cannot be compared": (
        situation(taken(snapshot=None)), None, None,
    ),
    "the snapshot of an earlier cluster of this name": (
        situation(taken(cluster_uid="uid-former")), None, None,
    ),
    "a backup that is being deleted": (situation(taken(leaving=True)), None, None),
    "a person asks": (
        situation(taken("old", 5, request="now"), taken("new"), spec=None), "old", "Requested",
    ),
    "a person has asked": (
        situation(taken(request="now", proof=proof(request="now")), spec=None), None, None,
    ),
    "a person asks again": (
        situation(taken(request="again", proof=proof(request="now")), spec=None),
        "monday", "Requested",
    ),
    "a person asks before there is a snapshot": (
        situation(taken(request="now", snapshot=None, ended=False), spec=None), None, None,
    ),
    "a person goes before the schedule": (
        situation(taken("old", 5, request="now"), taken("new"), **weekly(**DUE)),
        "old", "Requested",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BEGINS)
def test_a_test_begins_when_it_is_due(name: str) -> None:
    given, snapshot, cause = BEGINS[name]
    decision = decide(given)
    if snapshot is None:
        assert isinstance(decision, Idle)
        return
    assert isinstance(decision, Begin)
    assert (decision.candidate.name, decision.run.cause) == (snapshot, cause)
    assert decision.run.job_name == f"test-{snapshot}-{decision.run.run}"
    assert decision.run.request == (decision.candidate.request if cause == "Requested" else "")


def test_a_test_that_is_asked_for_again_is_another_run() -> None:
    first, second = (
        decide(situation(taken(request="now"), now=moment)) for moment in (NOW, NOW + HOUR)
    )
    assert isinstance(first, Begin)
    assert isinstance(second, Begin)
    assert first.run.run != second.run.run


def test_an_idle_cluster_waits_for_its_next_test() -> None:
    assert decide(situation(taken(), **weekly(**LATER))) == Idle(NOW + HOUR)


def test_what_cannot_be_tested_is_refused_once() -> None:
    asked = taken(request="now", snapshot=None)
    decision = decide(situation(asked, spec=None))
    assert isinstance(decision, Conclude)
    assert (decision.proof.reason, decision.proof.request) == ("NothingToTest", "now")
    assert isinstance(decide(situation(replace(asked, proof=decision.proof), spec=None)), Idle)


RUNS: Mapping[str, tuple[RestoreTestFacts, type[Any], str]] = {
    # name: situation, what is done, the reason that is written down
    "no Job was made": (situation(taken(test=run())), Launch, ""),
    "the Job works": (situation(taken(test=run(uid="job-1")), job=job()), WatchJob, ""),
    "the Job has said that all is well": (
        situation(taken(test=run(uid="job-1"), report=report()), job=job()), Conclude, "Restored",
    ),
    "the Job has said that it is not": (
        situation(taken(test=run(uid="job-1"), report=report("SealDiffers"))),
        Conclude, "SealDiffers",
    ),
    "the word of an earlier Job counts not": (
        situation(taken(test=run(uid="job-1"), report=report(uid="job-0")), job=job()),
        WatchJob, "",
    ),
    "the Job failed without a word": (
        situation(taken(test=run(uid="job-1")), job=job("Failed", reason="DeadlineExceeded")),
        Conclude, "JobFailed",
    ),
    "the Job succeeded without a word": (
        situation(taken(test=run(uid="job-1")), job=job("Succeeded")), Conclude, "JobFailed",
    ),
    "the Job is gone": (situation(taken(test=run(uid="job-1"))), Conclude, "JobGone"),
    "the pod never starts": (
        situation(
            taken(test=run(uid="job-1")), job=job(ready=False), now=NOW + timedelta(minutes=11)
        ), Conclude, "JobNotStarted",
    ),
    "the field was taken out meanwhile": (
        situation(taken(test=run(uid="job-1")), job=job(), spec=None), WatchJob, "",
    ),
    "another is due meanwhile": (
        situation(taken("old", 5, test=run(uid="job-1")), taken("new", request="now"), job=job()),
        WatchJob, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_run_goes_on_from_what_was_written(name: str) -> None:
    given, step, reason = RUNS[name]
    decision = decide(given)
    assert type(decision) is step
    if isinstance(decision, Conclude):
        assert decision.proof.reason == reason
        assert decision.proof.outcome == PROOF_REASONS[reason].outcome
        assert decision.proof.run == "0123456789"


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
    assert isinstance(decide(replace(begun, candidates=(taken(),), status=after)), Idle)


def test_a_test_that_a_person_asks_for_consumes_nothing() -> None:
    known = {"next_scheduled_test": NOW - HOUR, "last_backup_count": 1}
    after = settled(situation(taken(test=run("Requested")), successful=4, **weekly(**known)))
    assert (after.next_scheduled_test, after.last_backup_count) == (NOW - HOUR, 1)


def test_the_count_begins_anew_with_each_test() -> None:
    after = settled(situation(taken(test=run()), successful=4))
    assert after.last_backup_count == 4
    assert settled(situation(taken(), successful=4, status=after)).active is None
