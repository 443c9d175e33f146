"""Every way to lose the lease, and never two processes that may write."""

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import (
    Conflict,
    LeaseLost,
    ServerError,
    StatusInfo,
    TransportError,
    api_error,
)
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
"""Renew deadline less write timeout, of the default options."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


def html() -> Exception:
    return api_error(502, {}, b"<html><body>bad gateway</body></html>")


FAULTS: dict[str, Fault] = {
    "the call hangs": hang,
    "the connection is reset": raising(lambda: TransportError("reset by peer")),
    "a conflict every time": raising(lambda: Conflict(StatusInfo(409))),
    "an internal error": raising(lambda: ServerError(StatusInfo(500))),
    "an HTML page instead of a status": raising(html),
    "something the client never meant to raise": raising(lambda: UnicodeError("codec")),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_without_renewals_leadership_ends_at_the_renew_deadline(
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
    assert candidate.task is not None
    with pytest.raises(LeaseLost):
        await candidate.task
    assert candidate.status() == 0
    assert server.spec["holderIdentity"] == "a", "what may not be ours any more is not released"


async def test_a_call_that_even_ignores_its_cancellation_does_not_hold_up_the_loss(
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
    assert candidate.task is not None
    with pytest.raises(LeaseLost):
        await candidate.task
    stubborn.set()
    await clock.settle()


async def test_a_short_outage_is_survived_and_the_guard_opens_again(
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


async def test_a_renewal_counts_from_when_it_was_sent(
    server: LeaseServer, clock: ManualClock
) -> None:
    """The others may have seen it as early as that."""
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


async def test_a_foreign_holder_ends_leadership_at_the_next_renewal(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = await leader(server, clock)
    assert server.lease is not None
    server.store({**server.lease, "spec": {**server.spec, "holderIdentity": "usurper"}})
    await clock.advance(2.0)
    assert candidate.task is not None
    with pytest.raises(LeaseLost):
        await candidate.task
    assert server.spec["holderIdentity"] == "usurper"


async def test_after_a_pause_the_guard_refuses_before_any_task_has_run(
    server: LeaseServer, clock: ManualClock
) -> None:
    process = PausedClock(clock)
    candidate = Candidate(server, process)
    candidate.start()
    await clock.settle()
    process.running.clear()
    await clock.advance(60.0)
    assert candidate.leads(), "nobody has told it yet"
    assert not candidate.may_write()
    server.calls.clear()
    process.running.set()
    await clock.advance(0.0)
    assert not candidate.may_write()
    assert server.calls == [], "a lease that ran out is not renewed"
    assert candidate.task is not None
    with pytest.raises(LeaseLost):
        await candidate.task


async def test_a_renewal_answered_during_a_pause_does_not_count(
    server: LeaseServer, clock: ManualClock
) -> None:
    """The write went through, but by the time we learn of it somebody else may lead."""
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
    assert candidate.task is not None
    with pytest.raises(LeaseLost):
        await candidate.task


async def test_a_takeover_answered_after_a_pause_does_not_count(
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


async def test_losing_the_lease_while_winding_down_is_told_and_nothing_is_released(
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
    with pytest.raises(LeaseLost):
        await candidate.task
    assert server.spec["holderIdentity"] == "a"
    await clock.advance(60.0)


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
    assert candidate.task is not None
    with pytest.raises(LeaseLost):
        await candidate.task
    assert candidate.elector.health() is None


@dataclass(frozen=True)
class Step:
    """What troubles the two processes, by their index, during some seconds."""

    seconds: float
    paused: frozenset[int]
    cut_off: frozenset[int]
    lost_replies: frozenset[int]


class Pair:
    """Two processes that are candidates for one lease; who loses it is started anew."""

    def __init__(self, rates: tuple[float, float]) -> None:
        self.base = ManualClock()
        self.server = LeaseServer()
        self.clocks = [PausedClock(self.base, rate) for rate in rates]
        self.started = 0
        self.candidates = [self.start(n) for n in (0, 1)]

    def start(self, n: int) -> Candidate:
        self.started += 1
        candidate = Candidate(self.server, self.clocks[n], f"{n}-{self.started}", self.started)
        candidate.line.before = candidate.line.after = awake(self.clocks[n])
        candidate.start()
        return candidate

    def trouble(self, step: Step) -> None:
        for n, (candidate, process) in enumerate(zip(self.candidates, self.clocks, strict=True)):
            (process.running.clear if n in step.paused else process.running.set)()
            candidate.line.before = hang if n in step.cut_off else awake(process)
            lost = raising(lambda: TransportError("lost"))
            candidate.line.after = lost if n in step.lost_replies else awake(process)

    def restart_losers(self) -> None:
        for n, candidate in enumerate(self.candidates):
            assert candidate.task is not None
            if candidate.task.done():
                assert isinstance(candidate.task.exception(), LeaseLost)
                self.candidates[n] = self.start(n)

    async def play(self, steps: list[Step]) -> None:
        for step in steps:
            self.trouble(step)
            for _ in range(7):
                await self.base.advance(step.seconds / 7)
                # A paused process cannot ask its guard, but it may wake up at any moment.
                writers = [candidate.may_write() for candidate in self.candidates]
                assert sum(writers) <= 1, "two processes may write at once"
                self.restart_losers()
        self.trouble(Step(0, frozenset(), frozenset(), frozenset()))
        await self.base.advance(40.0)
        assert sum(candidate.may_write() for candidate in self.candidates) == 1, "nobody leads"
        await end(*self.candidates)


WHO = st.frozensets(st.integers(0, 1), max_size=2)
STEPS = st.lists(
    st.builds(Step, st.sampled_from([0.7, 2.0, 5.0, 9.0, 16.0]), WHO, WHO, WHO), max_size=10
)
RATES = st.sampled_from([1.0, 1.2, 1.45])


@settings(max_examples=40, deadline=None)
@given(rates=st.tuples(RATES, RATES), steps=STEPS)
def test_never_two_writers_whatever_pauses_breaks_or_drifts(
    rates: tuple[float, float], steps: list[Step]
) -> None:
    """Clock rates may differ by less than lease over renew deadline, 1.5 by default."""

    async def play() -> None:
        await Pair(rates).play(steps)

    asyncio.run(play())
