"""Components that are added while the manager runs."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from runtime.errors import LeaseLost
from runtime.process.manager import Group, Runnable, RunnableCrashed
from tests.runtime.manager_world import Part, World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Started; a standby until `elector.won`; stopped at the end unless the test has stopped it."""
    world = World()
    task = await world.start(leading=False)
    yield world
    world.manager.stop()
    await asyncio.wait([task])


def late(world: World) -> Part:
    return Part("late", world.trace, world.clock)


@pytest.mark.parametrize("group", [Group.SERVERS, Group.OTHERS])
async def test_t23_a_component_added_to_a_started_group_starts_immediately(
    world: World, group: Group
) -> None:
    world.manager.add(late(world).runnable(), group)
    await world.clock.settle()
    assert world.since("+other") == ["+late"]


async def test_t23_a_component_added_for_the_leader_waits_for_the_election(world: World) -> None:
    world.manager.add(late(world).runnable())
    await world.clock.settle()
    assert world.since("+other") == []
    world.elector.won.set()
    await world.clock.settle()
    assert world.since("+other") == ["leading", "+cache", "=cache", "+leader", "+late"]
    world.manager.add(Part("later", world.trace, world.clock).runnable())
    await world.clock.settle()
    assert world.since("+late") == ["+later"]


async def test_t23_a_component_added_to_a_group_that_is_not_ready_starts_once() -> None:
    world = World()
    world.elector.won.set()
    task = asyncio.create_task(world.manager.run())
    await world.clock.settle()
    part = late(world)
    part.becomes_ready.set()
    world.manager.add(part.runnable(ready=True), Group.CACHES)
    await world.clock.settle()
    world.cache.becomes_ready.set()
    await world.clock.settle()
    assert world.since("leading") == ["+cache", "+late", "=late", "=cache", "+leader"]
    world.manager.stop()
    await task


async def test_t23_a_late_component_stops_with_its_group(world: World) -> None:
    world.manager.add(late(world).runnable(stop=True), Group.OTHERS)
    await world.clock.settle()
    assert world.task is not None
    world.manager.stop()
    await world.task
    *members, last = world.since("+late")
    assert (sorted(members), last) == (["-late", "-other"], "xserver")


async def test_t23_the_crash_of_a_late_component_is_fatal(world: World) -> None:
    part = late(world)
    world.manager.add(part.runnable(), Group.OTHERS)
    await world.clock.settle()
    part.crash.set_exception(ZeroDivisionError())
    assert world.task is not None
    with pytest.raises(RunnableCrashed, match=r"^late: ZeroDivisionError"):
        await world.task


async def test_t23_a_late_component_that_does_not_become_ready_is_fatal(world: World) -> None:
    async def never() -> None:
        raise TimeoutError

    world.manager.add(Runnable("late", late(world).run, never), Group.OTHERS)
    assert world.task is not None
    with pytest.raises(RunnableCrashed, match=r"^late: not ready: TimeoutError"):
        await world.task


async def test_t23_the_loss_of_the_lease_ends_a_late_component_without_grace(world: World) -> None:
    world.elector.won.set()
    part = late(world)
    part.stop_takes = 20.0
    world.manager.add(part.runnable(stop=True))
    await world.clock.settle()
    world.elector.lost.set()
    await world.clock.settle()
    assert world.task is not None
    with pytest.raises(LeaseLost):
        await world.task
    assert "xlate" in world.trace


async def test_t23_nothing_is_added_once_a_stop_has_begun(world: World) -> None:
    part = late(world)
    world.manager.add(part.runnable(ready=True), Group.OTHERS)
    await world.clock.settle()
    world.manager.stop()
    with pytest.raises(RuntimeError, match="is stopping"):
        world.manager.add(Part("later", world.trace, world.clock).runnable(), Group.OTHERS)
    assert world.task is not None
    await world.task
    assert "+later" not in world.trace
    # The task that waits until it is ready is cancelled, which is not a crash.
    await world.clock.settle()
    assert "late ready" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_t23_on_elected_runs_before_the_caches_and_its_additions_start_in_order() -> None:
    world = World()
    cache, work = (Part(name, world.trace, world.clock) for name in ("made", "work"))

    async def prepare() -> None:
        world.trace.append("prepared")
        world.manager.add(work.runnable())
        world.manager.add(cache.runnable(ready=True), Group.CACHES)

    world.prepares = prepare
    cache.becomes_ready.set()
    task = await world.start(leading=False)
    assert "prepared" not in world.trace
    world.elector.won.set()
    await world.clock.settle()
    since = world.since("leading")
    assert since == ["prepared", "+cache", "+made", "=cache", "=made", "+leader", "+work"]
    world.manager.stop()
    await task


async def test_t23_a_failure_of_on_elected_ends_the_process_and_releases_the_lease_last() -> None:
    world = World()

    async def prepare() -> None:
        raise ModuleNotFoundError("no module")

    world.prepares = prepare
    task = await world.start()
    with pytest.raises(RunnableCrashed, match=r"^preparation of the leader: ModuleNotFoundError"):
        await task
    assert world.since("leading") == ["-other", "xserver", "lease released"]


async def test_t23_a_stop_during_on_elected_is_clean() -> None:
    world = World()
    goes_on = asyncio.Event()

    async def prepare() -> None:
        await goes_on.wait()
        world.manager.add(late(world).runnable(), Group.CACHES)

    world.prepares = prepare
    task = await world.start()
    world.manager.stop()
    # It continues before it is cancelled, and cannot add any more.
    goes_on.set()
    await task
    assert world.since("leading") == ["-other", "xserver", "lease released"]
