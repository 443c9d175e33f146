"""managers.datacenter.backoff: the schedule, what resets it, and what is terminal."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from contracts.datacenter.workload_records import Failure, ServiceProgress
from managers.datacenter.backoff import (
    RETIRE,
    after_failure,
    after_success,
    delay,
    due,
    failure_of,
    goal_of,
)
from managers.datacenter.interfaces import ProviderError
from tests.managers.datacenter.bodies import desired_service, record, service

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
MIDDLE = 0.5
"""Chance that neither adds nor takes."""
BUSY = ProviderError("Unavailable", "the server is busy")
BROKEN = ProviderError("Rejected", "spec.image is no image", terminal=True)
NO_RIGHT = ProviderError("Forbidden", "no right to create Deployments", terminal=True)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


@pytest.mark.parametrize(
    ("attempts", "after"),
    [*enumerate((5, 10, 20, 40, 80, 160, 320, 600, 600), start=1), (999, 600)],
)
def test_delays_double_up_to_ten_minutes(attempts: int, after: int) -> None:
    assert delay(attempts, MIDDLE) == seconds(after)
    assert delay(attempts, 0.0) == seconds(after) * 0.8
    assert delay(attempts, 0.75) == seconds(after) * 1.1


def test_the_first_failure_is_recorded_completely() -> None:
    known = after_failure(ServiceProgress(ready="0/1"), "d1", BUSY, NOW, MIDDLE)
    assert known == ServiceProgress(
        state="Failed",
        message="the server is busy",
        digest="d1",
        attempts=1,
        next_retry=NOW + seconds(5),
        failure=Failure("Unavailable", "the server is busy", NOW),
        ready="0/1",
    )


def test_repeated_failures_are_counted_and_keep_their_start() -> None:
    known, moment = ServiceProgress(), NOW
    waited = []
    for _ in range(4):
        known = after_failure(known, "d1", BUSY, moment, MIDDLE)
        assert known.next_retry is not None
        waited.append((known.next_retry - moment).total_seconds())
        moment = known.next_retry
    assert waited == [5.0, 10.0, 20.0, 40.0]
    assert known.attempts == 4
    assert known.failure == Failure("Unavailable", "the server is busy", NOW)


def test_another_reason_has_its_own_start_and_continues_the_count() -> None:
    first = after_failure(ServiceProgress(), "d1", BUSY, NOW, MIDDLE)
    other = ProviderError("QuotaExceeded", "pods: 10 of 10")
    known = after_failure(first, "d1", other, NOW + seconds(5), MIDDLE)
    assert known.attempts == 2
    assert known.failure == Failure("QuotaExceeded", "pods: 10 of 10", NOW + seconds(5))


def test_another_digest_resets_the_count() -> None:
    known = ServiceProgress(digest="d1", attempts=7, failure=Failure("Unavailable", "x", NOW))
    again = after_failure(known, "d2", BUSY, NOW, MIDDLE)
    assert (again.attempts, again.next_retry, again.digest) == (1, NOW + seconds(5), "d2")


@pytest.mark.parametrize(("ran", "attempts"), [(599, 8), (600, 1)])
def test_ten_minutes_of_running_reset_the_count(ran: int, attempts: int) -> None:
    known = ServiceProgress("Running", digest="d1", attempts=7, running_since=NOW - seconds(ran))
    again = after_failure(known, "d1", BUSY, NOW, MIDDLE)
    assert again.attempts == attempts
    assert again.running_since is None


def test_a_terminal_failure_waits_for_a_change() -> None:
    known = after_failure(ServiceProgress(), "d1", BROKEN, NOW, MIDDLE)
    assert known.next_retry is None
    assert not due(known, "d1", NOW + timedelta(days=365))
    assert due(known, "d2", NOW)


@pytest.mark.parametrize("attempts", [0, 3, 20])
def test_missing_permissions_are_retried_every_ten_minutes(attempts: int) -> None:
    before = ServiceProgress(digest="d1", attempts=attempts)
    known = after_failure(before, "d1", NO_RIGHT, NOW, MIDDLE)
    assert known.next_retry == NOW + seconds(600)


@pytest.mark.parametrize(("late", "is_due"), [(-1, False), (0, True), (1, True)])
def test_an_attempt_is_due_at_its_retry_time(late: int, is_due: bool) -> None:
    known = after_failure(ServiceProgress(), "d1", BUSY, NOW, MIDDLE)
    assert due(known, "d1", NOW + seconds(5 + late)) is is_due


def test_a_failure_applies_to_one_digest() -> None:
    known = after_failure(ServiceProgress(), "d1", BUSY, NOW, MIDDLE)
    assert failure_of(known, "d1") == Failure("Unavailable", "the server is busy", NOW)
    assert failure_of(known, "d2") is None
    assert failure_of(ServiceProgress(digest="d1"), "d1") is None
    assert due(ServiceProgress(), "d1", NOW), "it never failed"


def test_a_failed_deletion_stays_a_deletion() -> None:
    before = ServiceProgress("Running", digest="d1", attempts=5)
    known = after_failure(before, RETIRE, BUSY, NOW, MIDDLE)
    assert (known.state, known.digest, known.attempts) == ("Retiring", RETIRE, 1)


def test_retry_times_are_rounded_up_to_seconds() -> None:
    now = NOW + timedelta(milliseconds=300)
    known = after_failure(ServiceProgress(), "d1", BUSY, now, MIDDLE)
    assert known.next_retry == NOW + seconds(6)
    assert known.failure is not None
    assert known.failure.at == NOW


def test_messages_of_a_provider_are_one_line() -> None:
    known = after_failure(ServiceProgress(), "d1", ProviderError("X" * 200, "a\nb"), NOW, MIDDLE)
    assert known.message == "a\\nb"
    assert known.failure == Failure("X" * 128, "a\\nb", NOW)


def test_a_success_clears_the_failure_and_keeps_the_count() -> None:
    known = after_failure(ServiceProgress(digest="d1", attempts=2), "d1", BUSY, NOW, MIDDLE)
    healthy = after_success(known, "d1")
    assert (healthy.failure, healthy.next_retry, healthy.attempts) == (None, None, 3)
    assert healthy == replace(known, failure=None, next_retry=None)
    other = after_success(ServiceProgress(digest="d1", attempts=3), "d2")
    assert (other.digest, other.attempts) == ("d2", 0), "a new digest has no count"


def test_the_goal_is_the_desired_digest_unless_the_record_is_retiring() -> None:
    service_record = record(desired_service(service("shipper")))
    assert goal_of(service_record) == service_record.desired.digest
    assert goal_of(replace(service_record, retiring=True)) == RETIRE
