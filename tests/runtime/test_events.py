"""The event recorder: the content and number of events; no caller waits or fails."""

import asyncio
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from runtime.builtin_kinds import EVENT
from runtime.errors import TransportError
from runtime.events import (
    NOTE_LIMIT,
    QUEUE_LIMIT,
    REMEMBER_LIMIT,
    REPEAT_SECONDS,
    EventRecorder,
    Reporter,
)
from runtime.testing.clock import ManualClock
from runtime.types import Object, Resource

REPORTER = Reporter("shop.example/operator", "operator-0")


def thing(uid: str = "u1", namespace: str | None = "ns") -> Object:
    metadata = {"name": "web", "uid": uid, "resourceVersion": "7"}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": "shop.example/v1", "kind": "Shop", "metadata": metadata}


@dataclass
class Server:
    bodies: list[Object] = field(default_factory=list)
    error: Exception | None = None

    async def create(self, resource: Resource, body: Object, /, *, field_manager: str) -> Object:
        assert (resource, field_manager) == (EVENT, REPORTER.controller)
        if self.error is not None:
            raise self.error
        self.bodies.append(body)
        return body


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.server = Server()
        self.recorder = EventRecorder(self.server, REPORTER, clock=self.clock)
        self.task: asyncio.Task[None] | None = None

    def say(self, note: str = "opened", *, uid: str = "u1", reason: str = "Opened") -> None:
        self.recorder.event(thing(uid), "Normal", reason, note)

    async def flush(self) -> int:
        """Send everything; return the number of events on the server."""
        if self.task is None:
            self.task = asyncio.create_task(self.recorder.run())
        while self.recorder._queue.qsize():
            await self.clock.settle()
        await self.clock.settle()
        return len(self.server.bodies)

    async def end(self) -> None:
        self.recorder.stop()
        await (self.task or self.recorder.run())


async def test_the_fields_of_an_event() -> None:
    world = World()
    world.recorder.event(thing(), "Warning", "Closed", "no goods", action="Close")
    await world.end()
    assert world.server.bodies == [
        {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": "web-", "namespace": "ns"},
            "eventTime": "2030-01-01T00:00:00.000000Z",
            "type": "Warning",
            "reason": "Closed",
            "action": "Close",
            "note": "no goods",
            "regarding": {
                "apiVersion": "shop.example/v1",
                "kind": "Shop",
                "namespace": "ns",
                "name": "web",
                "uid": "u1",
                "resourceVersion": "7",
            },
            "reportingController": "shop.example/operator",
            "reportingInstance": "operator-0",
        }
    ]


async def test_events_of_cluster_scoped_objects_are_in_the_default_namespace() -> None:
    world = World()
    world.recorder.event(thing(namespace=None), "Normal", "Opened", "x")
    await world.end()
    (body,) = world.server.bodies
    assert body["metadata"]["namespace"] == "default"
    assert "namespace" not in body["regarding"]


async def test_the_same_note_about_the_same_object_is_recorded_once_in_ten_minutes() -> None:
    world = World()
    for _ in range(3):
        world.say()
    assert await world.flush() == 1
    await world.clock.advance(REPEAT_SECONDS - 1)
    world.say()
    assert await world.flush() == 1
    await world.clock.advance(1.0)
    world.say()
    assert await world.flush() == 2
    await world.end()


async def test_another_object_reason_or_note_is_another_event() -> None:
    world = World()
    world.say()
    world.say(uid="u2")
    world.say(reason="Painted")
    world.say("opened again")
    assert await world.flush() == 4
    await world.end()


async def test_a_failure_is_logged_once_and_the_note_may_be_recorded_again() -> None:
    world = World()
    world.server.error = TransportError("reset")
    with capture_logs() as logs:
        for _ in range(3):
            world.say()
            world.say("other")
            assert await world.flush() == 0
    assert [(line["event"], line["error"]) for line in logs] == [
        ("events cannot be sent", "TransportError")
    ]
    world.server.error = None
    world.say()
    assert await world.flush() == 1
    await world.end()


async def test_overload_drops_events_and_is_logged_once() -> None:
    world = World()
    with capture_logs() as logs:
        for number in range(QUEUE_LIMIT + 50):
            world.say(str(number))
    assert len(logs) == 1
    assert await world.flush() == QUEUE_LIMIT
    world.say(str(QUEUE_LIMIT + 1))
    assert await world.flush() == QUEUE_LIMIT + 1, "what was dropped was never said"
    await world.end()


async def test_the_memory_for_repeats_is_bounded_by_number_and_by_age() -> None:
    world = World()
    for number in range(REMEMBER_LIMIT + 100):
        world.say(str(number))
        if number % 200 == 0:
            await world.flush()
    await world.flush()
    assert len(world.recorder._recent) == REMEMBER_LIMIT
    await world.clock.advance(REPEAT_SECONDS)
    world.say("new")
    assert len(world.recorder._recent) == 1
    await world.flush()
    await world.end()


@pytest.mark.parametrize("letter", ["x", "é", "東", "🙂"])
async def test_a_long_note_is_cut_between_characters(letter: str) -> None:
    world = World()
    world.say("a" + letter * 2000)
    await world.end()
    note = world.server.bodies[0]["note"]
    assert NOTE_LIMIT - 4 < len(note.encode()) <= NOTE_LIMIT
    assert set(note) == {"a", letter}
