"""managers.backup.state_machine: invariants over all transitions; test_reconcile.py tests each."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Any, get_args

import pytest

from contracts.api.backup import BackupObjectStatus, BackupPhase, OpenBaoBackup
from contracts.api.cluster.status_backup import Operation
from contracts.conditions.reasons_backup import FAILURES, RUN_REASONS
from contracts.state_machine import Transition
from managers.backup.inputs import BackupFacts
from managers.backup.state_machine import STATES, TRANSITIONS, Action, decide, state_of
from managers.backup.status import FIELDS_OF, next_status
from managers.jobs.status import JobObservation
from runtime.testing.clock import EPOCH as NOW
from tests import gen
from tests.managers.backup.bench import by_hand, cluster

# Reasons that actions return.
BY_ACTIONS = {"JobPrerequisiteMissing", "OperationLockBlocked", "JobRefused"}
STORED_AT = f"prod/{gen.NAMESPACE}/x/2030-01-01T00-00-00Z-0a0b0c0d.snap"
PREPARED = {"key": STORED_AT, "jobName": "j", "clusterUID": "uid-x"}
STATUSES: tuple[dict[str, Any], ...] = (
    {},
    PREPARED,
    {**PREPARED, "key": STORED_AT.removeprefix("prod/")},
    {**PREPARED, "jobUID": "u", "phase": "Running"},
)
JOBS: tuple[JobObservation | None, ...] = (
    None,
    JobObservation("u", "Active"),
    JobObservation("u", "Active", created_at=NOW - timedelta(hours=1)),
    JobObservation("u", "Failed"),
    JobObservation("u", "Succeeded"),
    JobObservation("v", "Active", foreign=True),
)
REPORTS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"jobUID": "u", "outcome": "Succeeded"},
    *({"jobUID": "u", "outcome": "Failed", "failure": failure} for failure in FAILURES),
    {"jobUID": "another", "outcome": "Succeeded"},
)
CLUSTERS = (
    None,
    cluster(),
    cluster().with_metadata(uid="uid-of-another"),
    cluster().with_spec(paused=True),
    cluster().with_spec(backup=None),
    cluster().with_spec(hibernate=True),
    cluster().with_status(initialized=False),
)
WAITING: tuple[frozenset[Operation], ...] = (
    frozenset(),
    frozenset({"Upgrade"}),
    frozenset({"Restore", "Upgrade"}),
)


def situations() -> Iterator[BackupFacts]:
    for status, job, report, of, waiting, changed in product(
        STATUSES, JOBS, REPORTS, CLUSTERS, WAITING, (1, 2)
    ):
        for origin in ("Manual", "PreUpgrade"):
            record = by_hand(generation=changed)
            record["spec"]["origin"] = origin
            record["status"] = {**status, **({"report": report} if report else {})}
            yield BackupFacts(
                OpenBaoBackup.from_object(record),
                NOW,
                of.read() if of else None,
                waiting,
                job,
                job_queried=True,
            )


@pytest.fixture(scope="module")
def decided() -> list[tuple[BackupFacts, Transition[BackupFacts], str]]:
    results = [(facts, decide(facts)) for facts in situations()]
    return [(facts, decision.transition, decision.reason) for facts, decision in results]


def test_every_situation_has_a_transition_and_every_transition_a_situation(
    decided: list[tuple[BackupFacts, Transition[BackupFacts], str]],
) -> None:
    assert {id(row) for _, row, _ in decided} == {id(row) for row in TRANSITIONS}


def test_every_reason_is_used_and_known(
    decided: list[tuple[BackupFacts, Transition[BackupFacts], str]],
) -> None:
    assert {reason for _, _, reason in decided} | BY_ACTIONS == RUN_REASONS.keys()


def test_an_existing_job_is_never_created_again(
    decided: list[tuple[BackupFacts, Transition[BackupFacts], str]],
) -> None:
    for facts, row, _ in decided:
        if facts.status.job_uid or (facts.job is not None and state_of(facts.status) != "Waiting"):
            assert row.action not in ("make-job", "take-lock", "release")


def test_only_the_report_of_its_own_job_completes_a_backup(
    decided: list[tuple[BackupFacts, Transition[BackupFacts], str]],
) -> None:
    for facts, row, _ in decided:
        if row.to == "Completed":
            assert gen.present(facts.report).outcome == "Succeeded"


def test_every_end_is_settled_first(
    decided: list[tuple[BackupFacts, Transition[BackupFacts], str]],
) -> None:
    ends = {row.action for _, row, _ in decided if row.to in ("Completed", "Failed", "Unknown")}
    assert ends == {"settle", "cancel"}


def test_a_finished_backup_has_no_transition() -> None:
    record = by_hand()
    record["status"] = {"phase": "Completed"}
    facts = BackupFacts(OpenBaoBackup.from_object(record), NOW, None)
    with pytest.raises(ValueError, match="in state Ended"):
        decide(facts)


def test_every_state_and_action_is_in_the_table() -> None:
    assert {row.at for row in TRANSITIONS} == set(STATES) - {"Ended"}
    assert {row.to for row in TRANSITIONS} - {None} == FIELDS_OF.keys()
    assert {row.action for row in TRANSITIONS} == set(get_args(Action))


@pytest.mark.parametrize("phase", get_args(BackupPhase))
def test_the_state_follows_from_the_status(phase: BackupPhase) -> None:
    ended = phase in ("Completed", "Failed", "Unknown")
    assert (state_of(BackupObjectStatus(phase=phase)) == "Ended") is ended


def test_an_unknown_reason_is_an_error() -> None:
    facts = next(situations())
    decision = decide(facts)
    wrong = type(decision)(decision.transition, "Whim", "")
    with pytest.raises(ValueError, match="not a reason of a backup"):
        next_status(facts, wrong, None)
