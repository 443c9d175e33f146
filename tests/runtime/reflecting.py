"""A reflector with a scripted server in manual time, and its effects in short form."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.reflector import COLLECT_IDLE_SECONDS, IDLE_SECONDS, Reflector
from runtime.cache.selection import Selection
from runtime.cache.watch import INITIAL_EVENTS_END, Mirror, Remove, Replace, Upsert, WatchProgress
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.testing.scripted import Answer, Received, ScriptedServer, event, stream
from runtime.testing.wait import eventually
from runtime.types import key_of, resource_version_of
from tests.runtime.serving import config_map, run_scripted_server

OPEN = stream(then="silence")

_DEADLINES = (10.0, 60.0, IDLE_SECONDS, COLLECT_IDLE_SECONDS)


class Rig:
    """A reflector with a scripted server, and its effects."""

    def __init__(self, server: ScriptedServer, clock: ManualClock, metrics: Metrics) -> None:
        self.server = server
        self.clock = clock
        self.metrics = metrics
        self.effects: list[Mirror] = []
        self.reflector: Reflector
        self.task: asyncio.Task[None]

    async def settle(self) -> None:
        """Nothing to wait for: this listener is synchronous."""

    @property
    def words(self) -> list[str]:
        """The effects in short form: "=a,b@100", "+a@101", "-a@102", "^103"."""
        return [_word(effect) for effect in self.effects]

    async def hears(self, *words: str) -> None:
        await eventually(
            lambda: self.words == list(words) or self.task.done() or None,
            seconds=3.0,
            goal=f"{self.words} is {list(words)}",
        )
        assert self.words == list(words)

    async def ends_with(self, word: str) -> None:
        await eventually(lambda: self.words[-1] == word, goal=f"the last event is {word}")

    async def await_request(self, count: int) -> Received:
        """Wait for the count-th request; then the reflector is waiting."""
        await eventually(lambda: len(self.server.requests) >= count)
        return self.server.requests[count - 1]

    async def pauses(self) -> float:
        """How long the reflector backs off now. Requests and idle watches have longer timers."""

        def pause() -> float | None:
            wake = self.clock.next_wake
            return wake if wake is not None and wake not in _DEADLINES else None

        seconds = await eventually(pause, goal="the reflector backs off")
        assert seconds is not None
        return seconds

    async def waits(self) -> float:
        """Let the current backoff of the reflector pass; return its duration."""
        pause = await self.pauses()
        await self.clock.advance(pause)
        return pause

    def relists(self, reason: str) -> float | None:
        labels = {"resource": "configmaps", "reason": reason}
        return self.metrics.registry.get_sample_value("informer_relists_total", labels)


def _word(effect: Mirror) -> str:
    match effect:
        case Replace(items, version):
            return f"={','.join(key_of(item).name for item in items)}@{version}"
        case Upsert(obj):
            return f"+{key_of(obj).name}@{resource_version_of(obj)}"
        case Remove(obj):
            return f"-{key_of(obj).name}@{resource_version_of(obj)}"
        case WatchProgress(version):
            return f"^{version}"


@asynccontextmanager
async def reflecting(
    *script: Answer,
    selection: Selection | None = None,
    otherwise: Answer | None = None,
    watch_list: bool = False,
) -> AsyncIterator[Rig]:
    clock, metrics = ManualClock(), Metrics()
    async with run_scripted_server(*script, otherwise=otherwise, clock=clock) as (server, client):
        rig = Rig(server, clock, metrics)
        rig.reflector = Reflector(
            client,
            selection or Selection(CONFIG_MAP, "shop"),
            clock=clock,
            rng=random.Random(7),
            metrics=metrics,
            watch_list=watch_list,
        )
        rig.task = asyncio.create_task(rig.reflector.run(rig.effects.append, rig.settle))
        try:
            yield rig
        finally:
            rig.task.cancel()
            await asyncio.wait([rig.task])


def added_event(name: str, version: str) -> bytes:
    return event("ADDED", config_map(name, version))


def end_of_list(version: str) -> bytes:
    """The bookmark that ends a streamed list."""
    metadata = {"resourceVersion": version, "annotations": {INITIAL_EVENTS_END: "true"}}
    return event("BOOKMARK", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})
