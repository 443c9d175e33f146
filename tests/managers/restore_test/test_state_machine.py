"""The state machine of a restore test: when a snapshot is tested, and the steps of a test."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import get_args

import pytest

from contracts.api.backup import Cause
from contracts.api.cluster.backup import RestoreTest
from contracts.api.cluster.status_backup import RestoreTestStatus
from contracts.conditions.reasons_restore_test import RESTORE_TEST_REASONS
from managers.restore_test.facts import RestoreTestFacts
from managers.restore_test.state_machine import (
    POLL_SECONDS,
    TRANSITIONS,
    Action,
    State,
    decide,
    recheck_after,
    refuse_job,
    state_of,
    wait_decision,
)
from managers.restore_test.status import RestoreTestRecord, next_record
from tests import gen
from tests.managers.restore_test.situations import (
    EVERY_WEEK,
    NOW,
    backup,
    job,
    proof,
    report,
    run,
    situation,
    weekly,
)

HOUR = timedelta(hours=1)
DUE = {"next_scheduled_test": NOW - HOUR}
LATER = {"next_scheduled_test": NOW + HOUR}

STARTS: Mapping[str, tuple[RestoreTestFacts, str | None, str | None]] = {
    # name: situation, the snapshot that is tested, the cause; None, None for no test
    "the first snapshot of all": (situation(backup()), "monday", "Counted"),
    "the newest of several": (
        situation(backup("old", 5), backup("new", 1), backup("older", 9)), "new", "Counted",
    ),
    "too few since the last test": (
        situation(
            backup(), spec=RestoreTest(every_successful_backups=3), successful=5,
            status=RestoreTestStatus(last_backup_count=3),
        ), None, None,
    ),
    "enough since the last test": (
        situation(
            backup(), spec=RestoreTest(every_successful_backups=3), successful=6,
            status=RestoreTestStatus(last_backup_count=3),
        ), "monday", "Counted",
    ),
    "no schedule and no request": (situation(backup(), spec=None), None, None),
    "the scheduled time has passed": (situation(backup(), **weekly(**DUE)), "monday", "Scheduled"),
    "the scheduled time is later": (situation(backup(), **weekly(**LATER)), None, None),
    "the scheduled time has passed without a snapshot": (
        situation(**weekly(**DUE)), None, None,
    ),
    "the time is that of a former schedule": (
        situation(
            backup(), spec=RestoreTest(schedule="0 6 * * *"),
            status=RestoreTestStatus(schedule=EVERY_WEEK, **DUE),
        ), None, None,
    ),
    "a snapshot without a digest cannot be compared": (
        situation(backup(snapshot=None)), None, None,
    ),
    "the snapshot of an earlier cluster of this name": (
        situation(backup(cluster_uid="uid-former")), None, None,
    ),
    "a backup that is being deleted": (situation(backup(terminating=True)), None, None),
    "a user requests a test": (
        situation(backup("old", 5, request="now"), backup("new"), spec=None), "old", "Requested",
    ),
    "the request of a user was tested": (
        situation(backup(request="now", proof=proof(request="now")), spec=None), None, None,
    ),
    "a user requests another test": (
        situation(backup(request="again", proof=proof(request="now")), spec=None),
        "monday", "Requested",
    ),
    "a user requests a test before there is a snapshot": (
        situation(backup(request="now", snapshot=None, ended=False), spec=None), None, None,
    ),
    "a request has precedence over the schedule": (
        situation(backup("old", 5, request="now"), backup("new"), **weekly(**DUE)),
        "old", "Requested",
    ),
}  # fmt: skip


def decided_record(facts: RestoreTestFacts) -> RestoreTestRecord:
    """Return the record after the decision about a situation."""
    return gen.present(next_record(facts, decide(facts)))


@pytest.mark.parametrize("name", STARTS)
def test_a_test_starts_when_it_is_due(name: str) -> None:
    given, snapshot, cause = STARTS[name]
    record = next_record(given, decide(given))
    if snapshot is None:
        assert record is None
        return
    assert record is not None
    assert record.run is not None
    assert (record.candidate.name, record.run.cause) == (snapshot, cause)
    assert record.proof == record.candidate.proof
    assert record.run.job_name == f"test-{snapshot}-{record.run.run}"
    assert record.run.request == (record.candidate.request if cause == "Requested" else "")


def test_a_repeated_request_is_another_run() -> None:
    situations = [situation(backup(request="now"), now=moment) for moment in (NOW, NOW + HOUR)]
    first, second = (decided_record(world).run for world in situations)
    assert first is not None
    assert first.run != gen.present(second).run


@pytest.mark.parametrize(
    ("known", "after"), [(LATER, 3600.0), (DUE, None), ({}, None)], ids=["later", "past", "none"]
)
def test_an_idle_cluster_waits_for_its_next_test(
    known: dict[str, datetime], after: float | None
) -> None:
    facts = situation(**weekly(**known))
    assert recheck_after(facts, decide(facts), NOW) == after


def test_a_job_that_runs_is_read_again_soon_whatever_is_due_later() -> None:
    facts = situation(backup(test=run(uid="job-1")), job=job(), **weekly(**LATER))
    assert recheck_after(facts, decide(facts), NOW) == POLL_SECONDS


def test_a_request_without_a_snapshot_is_refused_once() -> None:
    obj = backup(request="now", snapshot=None)
    restore_test = gen.present(decided_record(situation(obj, spec=None)).proof)
    assert (restore_test.reason, restore_test.request) == ("NothingToTest", "now")
    again = situation(replace(obj, proof=restore_test), spec=None)
    assert next_record(again, decide(again)) is None


RUNS: Mapping[str, tuple[RestoreTestFacts, str, str]] = {
    # name: situation, the action, the recorded reason
    "no Job was created": (situation(backup(test=run())), "make-job", ""),
    "the Job is running": (situation(backup(test=run(uid="job-1")), job=job()), "", ""),
    "the Job reported success": (
        situation(backup(test=run(uid="job-1"), report=report()), job=job()), "settle", "Restored",
    ),
    "the Job reported a failure": (
        situation(backup(test=run(uid="job-1"), report=report("SealDiffers"))),
        "settle", "SealDiffers",
    ),
    "the report of an earlier Job is ignored": (
        situation(backup(test=run(uid="job-1"), report=report(uid="job-0")), job=job()),
        "", "",
    ),
    "the Job failed without a report": (
        situation(backup(test=run(uid="job-1")), job=job("Failed", reason="DeadlineExceeded")),
        "settle", "JobFailed",
    ),
    "the Job succeeded without a report": (
        situation(backup(test=run(uid="job-1")), job=job("Succeeded")), "settle", "JobFailed",
    ),
    "the Job was deleted": (situation(backup(test=run(uid="job-1"))), "settle", "JobGone"),
    "the pod never starts": (
        situation(
            backup(test=run(uid="job-1")), job=job(ready=False), now=NOW + timedelta(minutes=11)
        ), "cancel", "JobNotStarted",
    ),
    "the field was removed meanwhile": (
        situation(backup(test=run(uid="job-1")), job=job(), spec=None), "", "",
    ),
    "another is due meanwhile": (
        situation(backup("old", 5, test=run(uid="job-1")), backup("new", request="now"), job=job()),
        "", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_transition_of_a_recorded_run(name: str) -> None:
    given, act, reason = RUNS[name]
    decision = decide(given)
    assert decision.transition.action == act
    if reason:
        record = decided_record(given)
        assert record.run is None
        assert record.proof is not None
        assert record.proof.reason == reason
        assert record.proof.outcome == RESTORE_TEST_REASONS[reason].outcome
        assert record.proof.run == "0123456789"


def test_every_transition_has_an_example() -> None:
    used = [decide(given).transition for given, *_ in (*STARTS.values(), *RUNS.values())]
    used.append(decide(situation(backup(request="now", snapshot=None))).transition)
    assert [row for row in TRANSITIONS if row not in used] == []


def test_every_state_action_and_reason_is_one_of_the_table() -> None:
    assert {row.at for row in TRANSITIONS} == set(get_args(State))
    assert {row.action for row in TRANSITIONS} == set(get_args(Action))
    causes = {row.reason for row in TRANSITIONS if row.to == "Prepared"}
    assert causes == set(get_args(Cause))
    results = {row.reason for row in TRANSITIONS if row.to == "Idle" and row.reason}
    assert results <= RESTORE_TEST_REASONS.keys()


def test_a_created_job_is_recorded_with_its_uid() -> None:
    facts = situation(backup(test=run()))
    assert state_of(facts) == "Prepared"
    record = gen.present(next_record(replace(facts, job=job()), decide(facts)))
    assert record.run == run(uid="job-1")


def test_a_job_that_cannot_be_created_yet_changes_nothing_recorded() -> None:
    facts = situation(backup(test=run()))
    waiting = wait_decision(decide(facts), "no image yet", 7.0)
    assert waiting.transition.after == 7.0
    assert next_record(facts, waiting) is None


def test_a_rejected_job_ends_the_test() -> None:
    facts = situation(backup(test=run()))
    record = gen.present(next_record(facts, refuse_job(decide(facts), "no Jobs here")))
    assert record.proof is not None
    assert (record.proof.reason, record.proof.message) == ("PreparationFailed", "no Jobs here")


def test_a_lost_count_of_snapshots_does_not_suspend_the_tests() -> None:
    spec = RestoreTest(every_successful_backups=5)
    lost = situation(backup(), spec=spec, status=RestoreTestStatus(last_backup_count=100))
    assert decide(lost).reason == "Counted"
