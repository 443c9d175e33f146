"""Every way to lose the lease; never two processes that may write."""

import asyncio

import pytest

from runtime.errors import Conflict, ServerError, StatusInfo, TransportError, api_error
from runtime.testing.clock import ManualClock
from tests.runtime.lease_world import (
    Candidate,
    Fault,
    LeaseServer,
    PausedClock,
    awake,
    end,
    hang,
    leader,
    raising,
)

GUARD_WINDOW = 7.0
"""Renew deadline minus write timeout, of the default options."""


def html() -> Exception:
    return api_error(502, {}, b"<html><body>bad gateway</body></html>")


FAULTS: dict[str, Fault] = {
    "a hanging call": hang,
    "a connection reset": raising(lambda: TransportError("reset by peer")),
    "conflicts only": raising(lambda: Conflict(StatusInfo(409))),
    "an internal error": raising(lambda: ServerError(StatusInfo(500))),
    "an HTML page instead of a status": raising(html),
    "an unexpected exception": raising(lambda: UnicodeError("codec")),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_t21_without_renewals_leadership_ends_at_the_renew_deadline(
    fault: Fault, server: LeaseServer, clock: ManualClock
) -> None:
    candidate = await leader(server, clock)
    await clock.advance(4.0)
    candidate.line.before = fault
    await clock.advance(GUARD_WINDOW)
    assert candidate.may_write()
    await clock.advance(0.125)
    assert not candidate.may_write(), "writes end a request timeout before leadership does"
    await clock.advance(2.75)
    assert candidate.leads()
    await clock.advance(0.125)
    assert not candidate.leads()
    assert candidate.ends == ["work cancelled while a holds"]
    await candidate.loses()
    assert candidate.status() == 0
    assert server.spec["holderIdentity"] == "a", "a Lease that may be lost is not released"


async def test_t21_a_call_that_ignores_its_cancellation_does_not_delay_the_loss(
    server: LeaseServer, clock: ManualClock
) -> None:
    stubborn = asyncio.Event()

    async def ignore() -> None:
        while not stubborn.is_set():
            try:
                await stubborn.wait()
            except asyncio.CancelledError:
                continue

    candidate = await leader(server, clock)
    candidate.line.before = ignore
    await clock.advance(10.0)
    await candidate.loses()
    stubborn.set()
    await clock.settle()


async def test_after_a_short_outage_the_guard_permits_writes_again(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = await leader(server, clock)
    candidate.line.before = raising(lambda: TransportError("reset"))
    await clock.advance(7.5)
    assert not candidate.may_write()
    candidate.line.before = None
    await clock.advance(0.5)
    assert candidate.may_write()
    await end(candidate)


async def test_t21_a_renewal_counts_from_when_it_was_sent(
    server: LeaseServer, clock: ManualClock
) -> None:
    """Candidates may have observed it that early."""
    candidate = await leader(server, clock)

    async def slow_then_none() -> None:
        candidate.line.before = hang
        await clock.sleep(4.0)

    candidate.line.after = slow_then_none
    await clock.advance(2.0 + GUARD_WINDOW)
    assert candidate.may_write()
    await clock.advance(0.125)
    assert not candidate.may_write()
    candidate.line.before = candidate.line.after = None
    await end(candidate)


@pytest.mark.parametrize("holder", ["usurper", ""])
async def test_t21_another_or_no_holder_ends_leadership_at_the_next_renewal(
    holder: str, server: LeaseServer, clock: ManualClock
) -> None:
    """If it is released, others may have led before our next read."""
    candidate = await leader(server, clock)
    server.hand_to(holder)
    await clock.advance(2.0)
    assert candidate.task is not None
    assert candidate.task.done()
    await candidate.loses()
    assert server.spec["holderIdentity"] == holder


async def test_t20_after_a_pause_the_guard_refuses_before_any_task_has_run(
    server: LeaseServer, clock: ManualClock
) -> None:
    process = PausedClock(clock)
    candidate = Candidate(server, process)
    candidate.start()
    await clock.settle()
    process.running.clear()
    await clock.advance(60.0)
    assert candidate.leads(), "it has not been notified yet"
    assert not candidate.may_write()
    server.calls.clear()
    process.running.set()
    await clock.advance(0.0)
    assert not candidate.may_write()
    assert server.calls == [], "a lease that ran out is not renewed"
    await candidate.loses()


async def test_t20_a_renewal_with_a_response_during_a_pause_is_ignored(
    server: LeaseServer, clock: ManualClock
) -> None:
    """The write succeeded, but when we get the response another process may lead."""
    process = PausedClock(clock)
    candidate = Candidate(server, process)
    candidate.start()
    await clock.settle()
    candidate.line.after = awake(process)
    await clock.advance(1.9)
    process.running.clear()
    await clock.advance(12.0)
    process.running.set()
    await clock.settle()
    assert not candidate.may_write()
    await candidate.loses()


async def test_t20_a_takeover_with_a_response_after_a_pause_is_ignored(
    server: LeaseServer, clock: ManualClock
) -> None:
    process = PausedClock(clock)
    candidate = Candidate(server, process)
    candidate.line.after = awake(process)
    process.running.clear()
    candidate.start()
    await clock.advance(30.0)
    assert server.spec["holderIdentity"] == "a"
    process.running.set()
    await clock.settle()
    assert not candidate.leads()
    await clock.advance(5.0)
    assert candidate.leads(), "the next try counts"
    await end(candidate)


async def test_t21_a_loss_during_a_stop_is_raised_and_nothing_is_released(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = await leader(server, clock)
    candidate.wind_down = 60.0
    assert candidate.task is not None
    candidate.task.cancel()
    await clock.settle()
    candidate.line.before = hang
    await clock.advance(10.0)
    await clock.advance(5.0)
    await candidate.loses()
    assert server.spec["holderIdentity"] == "a"
    await clock.advance(60.0)


async def test_t20_a_candidate_that_observed_the_lease_waits_after_its_deletion(
    server: LeaseServer, clock: ManualClock
) -> None:
    first = await leader(server, clock)
    second = Candidate(server, clock, "b")
    second.start()
    await clock.advance(5.0)
    first.line.before = hang
    server.lease = None
    writers: list[tuple[bool, bool]] = []
    for _ in range(200):
        await clock.advance(0.125)
        writers.append((first.may_write(), second.may_write()))
    assert (True, True) not in writers
    assert writers[-1] == (False, True)
    assert server.spec["leaseTransitions"] == 1, "the history goes on"
    await end(first, second)


async def test_a_second_cancellation_does_not_orphan_the_work(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = Candidate(server, clock)

    async def work() -> None:
        while not candidate.finish.is_set():
            try:
                await candidate.finish.wait()
            except asyncio.CancelledError:
                candidate.ends.append("cancelled")

    task = asyncio.create_task(candidate.elector.run(work))
    await clock.settle()
    for _ in range(3):
        task.cancel()
        await clock.advance(20.0)
    assert candidate.ends == ["cancelled"] * 3
    assert not task.done()
    assert candidate.may_write(), "the lease is renewed as long as the work goes on"
    candidate.finish.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.spec["holderIdentity"] == ""


async def test_health_fails_for_a_leader_that_should_have_ended(
    server: LeaseServer, clock: ManualClock
) -> None:
    process = PausedClock(clock)
    candidate = Candidate(server, process)
    assert candidate.elector.health() is None
    candidate.start()
    await clock.advance(2.0)
    process.running.clear()
    await clock.advance(19.0)
    assert candidate.elector.health() is None
    await clock.advance(2.0)
    assert "21 s ago" in (candidate.elector.health() or "")
    process.running.set()
    await candidate.loses()
    assert candidate.elector.health() is None
