"""Elections of shards: which process may write, on failure and when the number of shards
changes."""

import asyncio
import random

import pytest

from runtime.errors import LeaseLost
from runtime.leader.shard import Shard
from runtime.leader.shard_elector import GROUP_OPTIONS
from runtime.testing.clock import ManualClock
from tests.runtime.shard_world import CHANGE, NAME, TAKEOVER, Leases, Process, end, together


async def test_each_shard_has_a_leader_and_all_share_one_lease(
    leases: Leases, clock: ManualClock
) -> None:
    shards = [Process(leases, clock, Shard(n, 3), f"p{n}", n) for n in range(3)]
    await clock.advance(2.0)
    assert all(process.may_write() for process in shards)
    assert leases.holder() == "3 shards"
    assert [leases.holder(f"{NAME}-shard-{n}") for n in range(3)] == ["p0", "p1", "p2"]
    for _ in range(60):
        await clock.advance(1.0)
        assert all(process.may_write() for process in shards)
    await end(*shards)


async def test_the_standby_of_a_shard_takes_over_and_no_other_shard_notices(
    leases: Leases, clock: ManualClock
) -> None:
    first = Process(leases, clock, Shard(0, 2), "first", 1)
    other = Process(leases, clock, Shard(1, 2), "other", 2)
    await clock.advance(2.0)
    standby = Process(leases, clock, Shard(0, 2), "standby", 3)
    await clock.advance(20.0)
    assert not standby.may_write()
    first.kill()
    for _ in range(int(TAKEOVER) + 1):
        await clock.advance(1.0)
        assert other.may_write()
        assert not together([first, standby, other])
    assert standby.may_write()
    assert leases[f"{NAME}-shard-0"].spec["leaseTransitions"] == 1
    await end(first, standby, other)


async def test_a_shard_that_resumes_after_its_lease_was_taken_may_not_write_and_ends(
    leases: Leases, clock: ManualClock
) -> None:
    zombie = Process(leases, clock, Shard(0, 2), "zombie", 1)
    await clock.advance(2.0)
    standby = Process(leases, clock, Shard(0, 2), "standby", 2)
    await clock.advance(2.0)
    zombie.pause()
    await clock.advance(TAKEOVER)
    assert standby.may_write()
    assert not zombie.may_write(), "before any of its tasks has run"
    zombie.resume()
    await clock.advance(1.0)
    with pytest.raises(LeaseLost):
        await zombie.task
    assert leases.holder(f"{NAME}-shard-0") == "standby"
    await end(standby)


async def test_a_clean_stop_releases_the_shard_and_keeps_the_shared_lease(
    leases: Leases, clock: ManualClock
) -> None:
    shards = [Process(leases, clock, Shard(n, 2), f"p{n}", n) for n in range(2)]
    await clock.advance(2.0)
    await shards[0].stop()
    assert leases.holder(f"{NAME}-shard-0") == ""
    assert leases.holder() == "2 shards"
    assert shards[1].may_write()
    await end(*shards)


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2), (2, 1)])
async def test_another_number_of_shards_waits_for_the_last_process(
    before: int, after: int, leases: Leases, clock: ManualClock
) -> None:
    old = [Process(leases, clock, Shard(n, before), f"old{n}", n) for n in range(before)]
    await clock.advance(2.0)
    new = [Process(leases, clock, Shard(n, after), f"new{n}", 9 + n) for n in range(after)]
    for process in old:
        await clock.advance(60.0)
        assert not any(process.may_write() for process in new)
        assert process.may_write()
        await process.stop()
    for _ in range(int(CHANGE) + 5):
        await clock.advance(1.0)
        assert not together(old + new)
    assert all(process.may_write() for process in new)
    await end(*old, *new)


async def test_shards_wait_for_a_process_without_shards_and_start_when_it_stops(
    leases: Leases, clock: ManualClock
) -> None:
    alone = Process(leases, clock, identity="alone")
    await clock.advance(2.0)
    shards = [Process(leases, clock, Shard(n, 2), f"p{n}", 1 + n) for n in range(2)]
    await clock.advance(120.0)
    assert alone.may_write()
    assert not any(process.may_write() for process in shards)
    await alone.stop()
    await clock.advance(12.0)
    assert all(process.may_write() for process in shards), "it released its Lease"
    await end(alone, *shards)


async def test_a_process_whose_shared_lease_is_taken_ends(
    leases: Leases, clock: ManualClock
) -> None:
    process = Process(leases, clock, Shard(1, 2))
    await clock.advance(2.0)
    assert process.may_write()
    leases[NAME].hand_to("somebody")
    await clock.advance(30.0)
    assert not process.may_write()
    with pytest.raises(LeaseLost):
        await process.task
    assert leases.holder(f"{NAME}-shard-1") == "", "its own one is free for its standby"
    assert leases.holder() == "somebody"


async def test_writes_end_before_the_shared_lease_even_if_the_own_one_is_renewed(
    leases: Leases, clock: ManualClock
) -> None:
    process = Process(leases, clock, Shard(0, 2))
    process.line.cut.add(NAME)
    await clock.advance(60.0)
    assert f"{NAME}-shard-0" not in leases.servers, "the shared one comes first"
    process.line.cut.clear()
    await clock.advance(12.0)
    assert process.may_write()
    renewed_at = clock.monotonic()
    process.line.cut.add(NAME)
    window = GROUP_OPTIONS.renew_deadline - GROUP_OPTIONS.write_timeout
    while process.may_write():
        await clock.advance(0.25)
    assert clock.monotonic() - renewed_at <= window + 0.25
    assert process.election.is_leader, "the work has not been told yet"
    assert leases.holder(f"{NAME}-shard-0") == "a"
    await end(process)


async def test_an_outage_ends_the_leader_and_not_its_standby(
    leases: Leases, clock: ManualClock
) -> None:
    leader = Process(leases, clock, Shard(0, 2), "leader", 1)
    await clock.advance(2.0)
    standby = Process(leases, clock, Shard(0, 2), "standby", 2)
    await clock.advance(2.0)
    for process in (leader, standby):
        process.line.cut |= {NAME, f"{NAME}-shard-0"}
    await clock.advance(60.0)
    with pytest.raises(LeaseLost):
        await leader.task
    assert not standby.task.done()
    assert not standby.may_write()
    standby.line.cut.clear()
    # It has dropped its state of the shard's Lease, and waits for its whole duration.
    await clock.advance(CHANGE)
    assert standby.may_write()
    await end(standby)


async def test_a_standby_that_is_stopped_while_it_loses_the_shared_lease_ends(
    leases: Leases, clock: ManualClock
) -> None:
    leader = Process(leases, clock, Shard(0, 2), "leader", 1)
    await clock.advance(2.0)
    standby = Process(leases, clock, Shard(0, 2), "standby", 2)
    await clock.advance(2.0)
    standby.pause()
    await clock.advance(60.0)
    standby.resume()
    standby.task.cancel()
    for _ in range(20):
        await clock.advance(1.0)
    assert standby.task.done()
    await end(leader, standby)


async def test_two_concurrent_renewals_both_keep_the_lease(
    leases: Leases, clock: ManualClock
) -> None:
    twins = [Process(leases, clock, Shard(n, 2), f"p{n}", seed=7) for n in range(2)]
    for _ in range(120):
        await clock.advance(1.0)
        assert all(process.election.health() is None for process in twins)
    assert all(process.may_write() for process in twins)
    await end(*twins)


CONFIGURATIONS = (Shard(), Shard(0, 2), Shard(1, 2), Shard(0, 3), Shard(1, 3), Shard(0, 2))


@pytest.mark.parametrize("seed", range(12))
async def test_t20_two_processes_never_may_write_to_one_object(
    seed: int, leases: Leases, clock: ManualClock
) -> None:
    """Processes of all kinds start, pause, resume, crash and stop at random."""
    rng = random.Random(seed)
    processes: list[Process] = []
    wrote = 0
    for step in range(500):
        event = rng.random()
        if event < 0.06 and len(processes) < 9:
            shard = rng.choice(CONFIGURATIONS)
            processes.append(Process(leases, clock, shard, f"p{step}", step))
        elif processes and event < 0.10:
            rng.choice(processes).pause()
        elif processes and event < 0.18:
            rng.choice(processes).resume()
        elif processes and event < 0.30:
            await end(processes.pop(rng.randrange(len(processes))))
        await clock.advance(rng.choice((0.25, 0.5, 2.0, 7.0)))
        assert not together(processes)
        wrote += any(process.may_write() for process in processes)
        ended = [process for process in processes if process.task.done()]
        await asyncio.gather(*(process.task for process in ended), return_exceptions=True)
        processes = [process for process in processes if process not in ended]
    await end(*processes)
    assert wrote > 50
