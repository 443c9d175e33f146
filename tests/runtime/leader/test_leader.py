"""Leader election with a lease in memory: acquiring, renewing, releasing."""

import asyncio

import pytest

from runtime.errors import TransportError
from runtime.leader.leader import LeaderOptions, LeaseLock
from runtime.process.manager import Group, Manager, Runnable
from runtime.testing.clock import ManualClock
from tests.runtime.lease_world import KEY, Candidate, LeaseServer, end, hang, leader, raising


async def test_the_first_candidate_creates_the_lease_and_leads(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = Candidate(server, clock)
    assert not candidate.may_write()
    assert candidate.status() == 0
    candidate.start()
    await clock.settle()
    assert server.calls == ["get", "create"]
    assert server.spec == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2030-01-01T00:00:00.000000Z",
        "renewTime": "2030-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    assert candidate.leads()
    assert candidate.may_write()
    assert candidate.status() == 1
    await end(candidate)


async def test_a_renewal_is_one_write_and_keeps_the_history(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = await leader(server, clock)
    server.calls.clear()
    await clock.advance(60.0)
    assert server.calls == ["update"] * 30
    assert server.spec["acquireTime"] == "2030-01-01T00:00:00.000000Z"
    assert server.spec["renewTime"] == "2030-01-01T00:01:00.000000Z"
    assert server.spec["leaseTransitions"] == 0
    await end(candidate)


async def test_a_candidate_waits_for_a_whole_lease_without_change(
    server: LeaseServer, clock: ManualClock
) -> None:
    """Measured on its own clock from the last observed change; the times in the record are
    ignored."""
    server.create(
        {
            "metadata": {"namespace": KEY.namespace, "name": KEY.name},
            "spec": {
                "holderIdentity": "dead",
                "leaseDurationSeconds": 20,
                "renewTime": "1999-01-01T00:00:00.000000Z",
                "leaseTransitions": 4,
            },
        }
    )
    candidate = Candidate(server, clock)
    candidate.start()
    await clock.advance(19.9)
    assert not candidate.leads()
    await clock.advance(4.5)
    assert candidate.leads()
    assert server.spec["leaseTransitions"] == 5
    assert server.spec["acquireTime"] > "2030-01-01T00:00:20"
    await end(candidate)


async def test_a_standby_never_writes(server: LeaseServer, clock: ManualClock) -> None:
    first = await leader(server, clock)
    second = Candidate(server, clock, "b")
    second.start()
    await clock.advance(300.0)
    assert (first.may_write(), second.may_write()) == (True, False)
    assert server.spec["leaseTransitions"] == 0
    await end(first, second)


async def test_a_renewal_whose_response_was_lost_is_continued(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = await leader(server, clock)
    candidate.line.after = raising(lambda: TransportError("reset"))
    await clock.advance(2.0)
    candidate.line.after = None
    server.calls.clear()
    assert candidate.slow_paths() == 0
    await clock.advance(2.0)
    assert server.calls == ["update", "get", "update"], "conflict with ourselves, read, renewed"
    assert candidate.slow_paths() == 1
    assert candidate.may_write()
    await end(candidate)


async def test_a_deleted_lease_is_recreated(server: LeaseServer, clock: ManualClock) -> None:
    candidate = await leader(server, clock)
    server.lease = None
    await clock.advance(2.0)
    assert server.spec["holderIdentity"] == "a"
    assert server.spec["acquireTime"] == "2030-01-01T00:00:00.000000Z", "the history goes on"
    assert candidate.may_write()
    await end(candidate)


async def test_t22_when_the_work_ends_the_lease_is_released(
    server: LeaseServer, clock: ManualClock
) -> None:
    first = await leader(server, clock)
    second = Candidate(server, clock, "b")
    second.start()
    await clock.advance(10.0)
    first.finish.set()
    await clock.settle()
    assert first.task is not None
    await first.task
    assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("", 1)
    assert not first.may_write()
    assert first.status() == 0
    await clock.advance(2.0 * 2.2)
    assert second.may_write(), "within one jittered retry, not after the whole lease"
    assert server.spec["leaseTransitions"] == 1
    await end(second)


async def test_t22_cancelled_it_keeps_the_lease_until_the_work_has_ended(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = await leader(server, clock)
    candidate.wind_down = 25.0
    assert candidate.task is not None
    candidate.task.cancel()
    await clock.advance(24.0)
    assert not candidate.task.done()
    assert candidate.may_write(), "work that winds down may still write"
    await clock.advance(2.0)
    assert candidate.ends == ["work cancelled while a holds"]
    with pytest.raises(asyncio.CancelledError):
        await candidate.task
    assert server.spec["holderIdentity"] == ""


async def test_t22_an_exception_of_the_work_is_raised_after_the_release(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = Candidate(server, clock)

    async def crash() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await candidate.elector.run(crash)
    assert server.spec["holderIdentity"] == ""


async def test_t22_an_exception_of_cancelled_work_is_the_cause_of_the_cancellation(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = Candidate(server, clock)

    async def fail_at_the_end() -> None:
        try:
            await clock.sleep(60.0)
        except asyncio.CancelledError:
            raise ZeroDivisionError from None

    task = asyncio.create_task(candidate.elector.run(fail_at_the_end))
    await clock.settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as cancellation:
        await task
    assert isinstance(cancellation.value.__cause__, ZeroDivisionError)
    assert server.spec["holderIdentity"] == ""


async def test_t22_a_release_never_overwrites_another_holder(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = await leader(server, clock)
    server.hand_to("usurper")
    server.calls.clear()
    candidate.finish.set()
    await clock.settle()
    assert candidate.task is not None
    await candidate.task
    assert server.calls == ["get"]
    assert server.spec["holderIdentity"] == "usurper"


async def test_t22_a_release_that_conflicts_is_retried(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = await leader(server, clock)

    async def touch_once() -> None:
        if server.calls[-1] == "get":
            candidate.line.after = None
            assert server.lease is not None
            server.store(server.lease)

    candidate.line.after = touch_once
    candidate.finish.set()
    await clock.advance(1.0)
    assert server.spec["holderIdentity"] == ""


async def test_t22_a_release_that_fails_ends_in_time(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = await leader(server, clock)
    candidate.line.before = hang
    candidate.finish.set()
    await clock.advance(10.0)
    assert candidate.task is not None
    await candidate.task
    assert server.spec["holderIdentity"] == "a"


async def test_t22_a_manager_releases_the_lease_after_all_leader_work(
    server: LeaseServer, clock: ManualClock
) -> None:
    holders: list[str] = []
    stopping = asyncio.Event()

    async def work() -> None:
        await stopping.wait()
        await clock.sleep(20.0)
        candidate.elector.guard()
        holders.append(server.spec["holderIdentity"])

    candidate = Candidate(server, clock)
    manager = Manager(clock=clock, elector=candidate.elector)
    manager.add(Runnable("shop", work, stop=stopping.set), Group.LEADER)
    task = asyncio.create_task(manager.run())
    await clock.advance(1.0)
    manager.stop()
    await clock.advance(20.0)
    await task
    assert holders == ["a"], "it was renewed all the while"
    assert server.spec["holderIdentity"] == ""


BAD_OPTIONS: dict[str, dict[str, float]] = {
    "a lease no longer than the renew deadline": {"lease_duration": 10.0},
    "a renew deadline below a jittered retry": {"retry_period": 9.0},
    "no retry period": {"retry_period": 0.0},
    "a write timeout that leaves no time to write": {"write_timeout": 8.0},
    "no write timeout": {"write_timeout": 0.0},
}


@pytest.mark.parametrize("options", BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_bad_options(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="need"):
        LeaderOptions(**options)


def test_a_leader_needs_an_identity() -> None:
    with pytest.raises(ValueError, match="identity"):
        LeaseLock(*KEY, identity="")
