"""Events of leader election, and the epoch for records."""

import asyncio

import pytest

from runtime.errors import Conflict, ServerError, StatusInfo, TransportError
from runtime.events import Reporter
from runtime.leader.leader import LeaderOptions
from runtime.testing.clock import ManualClock
from tests.runtime.lease_world import Candidate, Fault, LeaseServer, end, hang, leader, raising

REPORTER = Reporter("example.org/operator", "pod-1")


def events(server: LeaseServer) -> list[tuple[str, str]]:
    return [(event["reason"], event["note"]) for event in server.events]


async def test_each_change_of_leadership_is_an_event_on_the_lease(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = Candidate(server, clock, reporter=REPORTER)
    task = candidate.start()
    await clock.settle()
    assert events(server) == [("LeaderElection", "a became leader")]
    [event] = server.events
    assert server.lease is not None
    assert event["regarding"] == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "namespace": "system",
        "name": "operator",
        "uid": server.lease["metadata"]["uid"],
        "resourceVersion": "1",
    }
    assert event["type"] == "Normal"
    assert event["reportingController"] == "example.org/operator"
    candidate.finish.set()
    await clock.settle()
    await task
    assert events(server)[1:] == [("LeaderElection", "a stopped leading")]


async def test_t21_after_a_loss_no_event_is_written(
    server: LeaseServer, clock: ManualClock
) -> None:
    candidate = Candidate(server, clock, reporter=REPORTER)
    candidate.start()
    await clock.settle()
    server.hand_to("usurper")
    await clock.advance(2.0)
    await candidate.loses()
    await clock.advance(10.0)
    assert events(server) == [("LeaderElection", "a became leader")]


HARMLESS: dict[str, Fault] = {
    "it hangs": hang,
    "it is refused": raising(lambda: Conflict(StatusInfo(409))),
    "the server fails": raising(lambda: ServerError(StatusInfo(500))),
    "there is no answer": raising(lambda: TransportError("reset")),
    "something unforeseen": raising(lambda: UnicodeError("codec")),
}


@pytest.mark.parametrize("fault", HARMLESS.values(), ids=HARMLESS)
async def test_an_event_that_cannot_be_written_changes_nothing(
    fault: Fault, server: LeaseServer, clock: ManualClock
) -> None:
    candidate = Candidate(server, clock, reporter=REPORTER)
    candidate.line.before_event = fault
    task = candidate.start()
    await clock.advance(60.0)
    assert candidate.may_write()
    candidate.finish.set()
    await clock.settle()
    assert server.spec["holderIdentity"] == "", "the lease does not wait for it"
    await clock.advance(1.0)
    await task
    assert server.events == []


async def test_no_event_before_leading(server: LeaseServer, clock: ManualClock) -> None:
    first = await leader(server, clock)
    standby = Candidate(server, clock, "b", reporter=REPORTER)
    task = standby.start()
    await clock.advance(10.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.events == []
    await end(first)


async def test_each_leader_has_a_higher_epoch(server: LeaseServer, clock: ManualClock) -> None:
    epochs: list[int | None] = []
    for number in range(4):
        candidate = Candidate(server, clock, f"c{number}")
        assert candidate.elector.epoch is None
        task = candidate.start()
        await clock.advance(LeaderOptions().lease_duration * 2)
        epochs.append(candidate.elector.epoch)
        candidate.finish.set()
        await clock.settle()
        await task
        assert candidate.elector.epoch == epochs[-1], "a record may be written after the end"
    assert epochs == [0, 1, 2, 3]
