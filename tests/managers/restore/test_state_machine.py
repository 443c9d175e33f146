"""The state machine of a restore: an example for each transition, and invariants over all."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from contracts.conditions.reasons_restore import RESTORE_REASONS
from managers.restore.inputs import RestoreFacts, RestoreFailure
from managers.restore.state_machine import (
    DELETION_TABLE,
    TABLE,
    RestoreDecision,
    decide,
    refused,
    state_of,
)
from tests.managers.restore.cases_before import (
    BEFORE,
    LATER,
    OTHER_RESTORE,
    VALIDATING,
    Case,
    verdict,
)
from tests.managers.restore.cases_running import LATE, RUNNING
from tests.managers.restore.situations import (
    BACKUP,
    CLAIM,
    FAILED,
    LOCKED,
    MARKED,
    OURS,
    READY,
    RUNS,
    SUCCEEDED,
    at,
    facts,
    report,
)

CASES = {**BEFORE, **RUNNING}


def shown(decision: RestoreDecision) -> str:
    to = f"-> {decision.transition.to}" if decision.transition.to else ""
    return " ".join(filter(None, (decision.transition.action, to, decision.reason)))


@pytest.mark.parametrize(("situation", "expected"), CASES.values(), ids=CASES.keys())
def test_transition(situation: RestoreFacts, expected: str) -> None:
    assert shown(decide(situation)) == expected


def test_every_transition_has_an_example() -> None:
    """A transition without an example is not needed, or not tested."""
    used = [decide(case.facts).transition for case in CASES.values()]
    # Transitions that repeat a guard in another state, and those of states that do not last.
    ended = at("TerminalObserved")
    more = [
        facts(at("Committed"), replace(LOCKED, uid="x")),
        facts(at("Committed"), READY),
        facts(at("Committed"), now=LATER),
        facts(at("Committed"), source=RestoreFailure("SnapshotUnavailable", "no")),
        facts(at("Committed"), replace(LOCKED, failure=RestoreFailure("JobRefused", "no"))),
        facts(
            at("Committed"),
            replace(LOCKED, obstacle=RestoreFailure("JobPrerequisiteMissing", "no")),
        ),
        facts(at("Created"), replace(LOCKED, uid="x")),
        facts({**ended, "execution": {**ended["execution"], "terminalResult": "Succeeded"}}),
        facts(at("Recovering"), None),
        facts(at("Recovering"), replace(LOCKED, lock=BACKUP)),
        *(facts(at(stage), replace(MARKED, paused=True)) for stage in STAGES),
        facts({"phase": "Completed", "message": "done"}, replace(MARKED, paused=True)),
        facts(at("Unknown"), None),
        facts(at("Unknown"), READY),
    ]
    used += [decide(fact).transition for fact in more]
    missing = [(row.at, row.when.__name__) for row in TABLE if row not in used]
    assert missing == []


ALL = [case.facts for case in CASES.values()]
LOCKS = (None, OURS, BACKUP, OTHER_RESTORE)
JOBS = (None, RUNS, SUCCEEDED, FAILED)
STAGES = ("Prepared", "Committed", "Created", "TerminalObserved", "Recovering", "Unknown")


def crossed() -> "list[RestoreFacts]":
    """Return every stage with every lock, job, claim, report and answer of a user."""
    claims: tuple[dict[str, Any], ...] = ({}, {"submissionClaim": CLAIM})
    reports: tuple[dict[str, Any], ...] = (
        {},
        {"report": report("Succeeded")},
        {"report": report("Failed")},
        {"report": report("Failed", untouched=True)},
    )
    return [
        facts(
            at(stage, **claim, **reported),
            replace(READY, lock=lock),
            job=job,
            job_queried=True,
            answer=answer,
        )
        for stage, lock, job, claim, reported, answer in itertools.product(
            STAGES, LOCKS, JOBS, claims, reports, (None, "Resume", "Abandon")
        )
    ]


@pytest.mark.parametrize("deleting", [False, True])
def test_every_situation_has_a_transition(deleting: bool) -> None:
    for situation in (*ALL, *crossed()):
        assert decide(situation, deleting=deleting).transition.at == state_of(situation)


def test_after_a_claim_no_job_is_created_and_no_missing_report_means_failed() -> None:
    for situation in crossed():
        if not situation.claimed or state_of(situation) not in ("Created", "Unknown"):
            continue
        decision = decide(situation)
        assert decision.transition.action != "make-job"
        if situation.report is None and situation.answer is None:
            assert decision.transition.to in (None, "Unknown"), decision


def test_only_one_state_creates_a_job() -> None:
    makers = {row.at for row in (*TABLE, *DELETION_TABLE) if row.action == "make-job"}
    assert makers == {"Committed"}


def test_every_reason_is_in_the_table_of_reasons() -> None:
    assert {row.reason for row in (*TABLE, *DELETION_TABLE) if row.reason} <= set(RESTORE_REASONS)


DELETED = {
    "new": Case(facts({}, READY), ""),
    "holds the lock": Case(facts(VALIDATING), "release"),
    "no claim": Case(facts(at("Created"), job=RUNS, job_queried=True), "-> End"),
    "the job sends": Case(
        facts(at("Created", submissionClaim=CLAIM), job=RUNS, job_queried=True), ""
    ),
    "sent, and no report": Case(
        facts(at("Created", submissionClaim=CLAIM), job=FAILED, job_queried=True), "-> Unknown"
    ),
    "unknown": Case(facts(at("Unknown")), "release"),
    "recovering": Case(facts(at("Recovering"), MARKED), "release"),
    "all have the data": Case(
        facts(at("TerminalObserved"), recovery=verdict("Replicated")), "mark-target"
    ),
    "recovering, and all have the data": Case(
        facts(at("Recovering"), recovery=verdict("Replicated")), "mark-target"
    ),
    "not all have the data yet": Case(
        facts(at("TerminalObserved"), recovery=verdict("Replicating")), ""
    ),
    "one does not get the data in time": Case(
        facts(LATE, recovery=verdict("Replicating")), "release"
    ),
    "abandoned": Case(
        facts(at("Recovering"), recovery=verdict("Replicating"), answer="Abandon"), "release"
    ),
    "ended": Case(facts({"phase": "Failed"}, READY), ""),
}


@pytest.mark.parametrize(("situation", "expected"), DELETED.values(), ids=DELETED.keys())
def test_what_a_deleted_restore_releases(situation: RestoreFacts, expected: str) -> None:
    row = decide(situation, deleting=True).transition
    assert " ".join(filter(None, (row.action, row.to and f"-> {row.to}"))) == expected


def test_a_rejected_action_ends_the_restore() -> None:
    decision = refused(facts(at("Committed")), RestoreFailure("JobRefused", "no Jobs here"))
    assert (decision.transition.to, decision.reason, decision.message) == (
        "End",
        "JobRefused",
        "no Jobs here",
    )


def test_the_message_names_the_holder_of_the_lock() -> None:
    decision = decide(facts(VALIDATING, replace(READY, lock=BACKUP)))
    assert "Backup of openbaobackup/nightly (job x)" in decision.message
