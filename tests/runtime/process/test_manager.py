"""The manager: the order of start and stop, and every way in which a process ends."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from runtime.errors import LeaseLost
from runtime.process.manager import (
    Group,
    Manager,
    ManagerOptions,
    Runnable,
    RunnableCrashed,
    ShutdownTimeout,
)
from runtime.testing.clock import ManualClock
from tests.runtime.manager_world import STARTED, STOPPED, FakeElector, Part, World


async def test_t23_start_and_stop_in_order() -> None:
    world = World()
    task = await world.start()
    assert world.trace == STARTED
    world.manager.stop()
    await task
    assert world.since("+leader") == STOPPED
    assert world.exits == []


async def test_t23_a_group_waits_until_the_one_before_is_ready() -> None:
    world = World()
    world.elector.won.set()
    task = asyncio.create_task(world.manager.run())
    await world.clock.settle()
    assert world.trace == STARTED[:4]
    world.cache.becomes_ready.set()
    await world.clock.settle()
    assert world.trace == STARTED
    world.manager.stop()
    await task


async def test_t23_without_election_the_leader_group_starts_immediately() -> None:
    world = World(election=False)
    task = await world.start()
    assert world.trace == [word for word in STARTED if word != "leading"]
    world.manager.stop()
    await task
    assert world.since("+leader") == STOPPED[:-1]


async def test_t23_a_standby_stops_without_ever_having_led() -> None:
    world = World()
    task = await world.start(leading=False)
    assert world.trace == STARTED[:2]
    world.manager.stop()
    await task
    assert world.since("+other") == ["-other", "xserver"]


async def test_t23_a_standby_that_stops_leaves_the_election_immediately() -> None:
    world = World()
    world.other.stop_takes = 10.0
    task = await world.start(leading=False)
    world.manager.stop()
    await world.clock.advance(1.0)
    world.elector.won.set()
    await world.clock.advance(9.0)
    await task
    assert world.since("+other") == ["-other", "xserver"]


async def test_t23_a_stop_during_the_start_starts_nothing_more() -> None:
    world = World()
    world.elector.won.set()
    task = asyncio.create_task(world.manager.run())
    await world.clock.settle()
    world.manager.stop()
    world.cache.becomes_ready.set()
    await task
    assert world.trace == [*STARTED[:4], "=cache", "-other", "xcache", "xserver", "lease released"]


async def test_t23_current_work_gets_the_grace_minus_cancel_grace() -> None:
    world = World()
    world.leader.stop_takes = 24.0
    task = await world.start()
    world.manager.stop()
    await world.clock.advance(23.0)
    assert world.since("+leader") == ["-other"], "caches and servers live as long as the work"
    await world.clock.advance(1.0)
    await task
    assert world.since("+leader") == STOPPED


async def test_t23_work_that_takes_longer_is_cancelled_and_the_rest_still_ends_in_order() -> None:
    world = World()
    world.leader.stop_takes = 3600.0
    task = await world.start()
    world.manager.stop()
    await world.clock.advance(25.0)
    await task
    assert world.since("+leader") == ["-other", "xleader", "xcache", "xserver", "lease released"]


async def test_t23_a_component_that_ignores_its_cancellation_ends_the_process() -> None:
    world = World()
    world.leader.stop_takes = 3600.0
    world.leader.ignores_cancel_for = 60.0
    task = await world.start()
    world.manager.stop()
    await world.clock.advance(29.9)
    assert world.exits == []
    await world.clock.advance(0.1)
    assert world.exits == [1]
    with pytest.raises(ShutdownTimeout, match="leader"):
        await task
    assert "lease released" not in world.trace
    await world.clock.advance(3600.0)


PARTS = ("server", "cache", "other", "leader")


@pytest.mark.parametrize("name", PARTS)
async def test_t23_a_crash_stops_everything_in_order_and_is_named(name: str) -> None:
    world = World()
    task = await world.start()
    part: Part = getattr(world, name)
    part.crash.set_exception(ZeroDivisionError("boom"))
    with pytest.raises(RunnableCrashed, match=rf"^{name}: ZeroDivisionError") as caught:
        await task
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert world.since("+leader") == [w for w in STOPPED if w[1:] != name]


async def test_t23_a_component_that_returns_has_crashed() -> None:
    world = World()
    task = await world.start()
    world.cache.crash.set_result(None)
    with pytest.raises(RunnableCrashed, match=r"^cache: ended unexpectedly"):
        await task


async def test_t23_the_first_crash_is_raised() -> None:
    world = World()
    task = await world.start()
    world.leader.stop_takes = 1.0
    with capture_logs() as logs:
        world.other.crash.set_exception(ZeroDivisionError())
        await world.clock.settle()
        world.cache.crash.set_exception(KeyError())
        await world.clock.advance(1.0)
    with pytest.raises(RunnableCrashed, match=r"^other"):
        await task
    fatal = [line["failure"] for line in logs if line["event"] == "fatal"]
    assert fatal == ["other: ZeroDivisionError()", "cache: KeyError()"]


async def test_t23_a_crash_during_a_stop_is_raised() -> None:
    world = World()
    task = await world.start()
    world.leader.stop_takes = 1.0
    world.manager.stop()
    await world.clock.settle()
    world.server.crash.set_exception(ZeroDivisionError())
    await world.clock.advance(1.0)
    with pytest.raises(RunnableCrashed, match=r"^server"):
        await task


async def test_t23_a_component_that_does_not_become_ready_fails_the_start() -> None:
    world = World()

    async def never() -> None:
        raise TimeoutError("not synced within 120 s")

    late = Part("late", world.trace, world.clock)
    world.manager.add(Runnable("late", late.run, never), Group.OTHERS)
    task = await world.start()
    with pytest.raises(RunnableCrashed, match=r"^late: not ready: TimeoutError"):
        await task
    assert world.trace == ["+server", "+other", "+late", "xlate", "-other", "xserver"]


async def test_t23_a_leader_component_that_is_never_ready_releases_the_lease_last() -> None:
    world = World()

    async def never() -> None:
        raise TimeoutError

    late = Part("late", world.trace, world.clock)
    world.manager.add(Runnable("late", late.run, never, late.stopping.set), Group.LEADER)
    task = await world.start()
    with pytest.raises(RunnableCrashed, match=r"^late"):
        await task
    assert world.since("+late") == [*STOPPED[:2], "-late", *STOPPED[2:]]


async def test_t23_the_loss_of_the_lease_ends_everything_without_grace() -> None:
    world = World()
    world.leader.stop_takes = 20.0
    task = await world.start()
    world.elector.lost.set()
    await world.clock.settle()
    with pytest.raises(LeaseLost):
        await task
    assert sorted(world.since("+leader")) == ["xcache", "xleader", "xother", "xserver"]


async def test_t23_the_loss_of_the_lease_during_a_stop_ends_the_grace() -> None:
    world = World()
    world.leader.stop_takes = 20.0
    task = await world.start()
    world.manager.stop()
    await world.clock.advance(1.0)
    world.elector.lost.set()
    await world.clock.settle()
    with pytest.raises(LeaseLost):
        await task
    assert world.since("-other") == ["xleader", "xcache", "xserver"]


async def test_t23_after_a_loss_tasks_get_5_s_before_the_process_exits() -> None:
    world = World()
    world.leader.ignores_cancel_for = 60.0
    task = await world.start()
    world.elector.lost.set()
    await world.clock.advance(4.9)
    assert world.exits == []
    await world.clock.advance(0.2)
    assert world.exits == [1]
    with pytest.raises(ShutdownTimeout, match="leader"):
        await task
    await world.clock.advance(60.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_t23_a_signal_stops_in_order_and_the_handler_is_removed(number: int) -> None:
    world = World()
    task = await world.start()
    os.kill(os.getpid(), number)
    await task
    assert world.since("+leader") == STOPPED
    assert asyncio.get_running_loop().remove_signal_handler(number) is False


async def test_t23_a_second_signal_ends_the_process_immediately() -> None:
    world = World()
    world.leader.stop_takes = 20.0
    task = await world.start()
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGTERM)
        await world.clock.settle()
    assert world.exits == [128 + signal.SIGTERM]
    await world.clock.advance(20.0)
    await task


async def test_t23_an_elector_that_returns_is_a_crash() -> None:
    class Broken(FakeElector):
        async def run(self, on_started: Callable[[], Awaitable[None]], /) -> None:
            await self.won.wait()

    elector = Broken([])
    elector.won.set()
    with pytest.raises(RunnableCrashed, match=r"^leader election: ended unexpectedly"):
        await Manager(clock=ManualClock(), elector=elector).run()


async def test_t23_cancelling_run_ends_every_component_and_the_lease_last() -> None:
    world = World()
    task = await world.start()
    task.cancel()
    with capture_logs() as logs, pytest.raises(asyncio.CancelledError):
        await task
    assert not logs, "nothing crashed"
    ends = world.since("+leader")
    assert sorted(ends[:-1]) == ["xcache", "xleader", "xother", "xserver"]
    assert ends[-1] == "lease released"


async def test_names_are_unique() -> None:
    world = World()
    with pytest.raises(ValueError, match="server"):
        world.manager.add(world.server.runnable(), Group.OTHERS)


@pytest.mark.parametrize(
    "options", [{"grace": 4.0}, {"grace": -1.0}, {"cancel_grace": 0.0}, {"hard_cap": 0.0}], ids=str
)
def test_invalid_options_are_rejected(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="hard cap"):
        ManagerOptions(**options)
