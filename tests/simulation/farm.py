"""A small operator: a Flock of N sheep is N ConfigMaps, kept by owned apply.

The parts are those of any operator (informers, a controller with workers, owned apply), put
together as one process that can be killed at any moment and started again.
"""

import asyncio
import itertools
import random
from collections.abc import Callable, Sequence

from runtime.apply.apply import OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner, OwnershipKeys
from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informer import InformerOptions
from runtime.cache.informers import InformerSet
from runtime.cache.selection import Selection
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.controller.controller import Controller, ControllerOptions
from runtime.controller.handler import enqueue_object, enqueue_owner
from runtime.errors import Transient
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.testing.api_server.kinds import custom
from runtime.types import Object, ObjectKey, Request, Resource, uid_of
from runtime.verdict import Verdict

FLOCK = Resource("farm.example.com", "v1", "Flock", "flocks")
FLOCK_KIND = custom(FLOCK)
MARKS = OwnershipKeys("farm.example.com/owner", "farm.example.com/intent", "farm.example.com/adopt")
MANAGER = "shepherd"
LABELS = {"app.kubernetes.io/managed-by": "shepherd"}


def flock(namespace: str, name: str, size: int, wool: str) -> Object:
    return {
        "apiVersion": FLOCK.api_version,
        "kind": FLOCK.kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"size": size, "wool": wool},
    }


def sheep(owner: Object) -> list[Intent]:
    """What a flock wants to be there."""
    metadata = owner["metadata"]
    return [
        Intent(
            CONFIG_MAP,
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "namespace": metadata["namespace"],
                    "name": f"{metadata['name']}-{number}",
                    "labels": LABELS,
                },
                "data": {"wool": owner["spec"]["wool"], "number": str(number)},
            },
        )
        for number in range(owner["spec"]["size"])
    ]


class Process:
    """One life of the operator. `run` lasts until cancelled; nothing survives it."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
        workers: int = 2,
    ) -> None:
        self.informers = InformerSet(
            client,
            clock=clock,
            rng=rng,
            metrics=metrics,
            options=InformerOptions(watch_list=rng.random() < 0.5, resync=300.0),
        )
        self.flocks = self.informers.informer(Selection(FLOCK))
        selector = ",".join(f"{key}={value}" for key, value in LABELS.items())
        self.sheep = self.informers.informer(Selection(CONFIG_MAP, label_selector=selector))
        self.owned = OwnedApply(
            client,
            {CONFIG_MAP: self.sheep},
            field_manager=MANAGER,
            marks=MARKS,
            metrics=metrics,
            apply_cache=ApplyCache(clock, rng),
        )
        numbers = itertools.count()
        self.controller = Controller(
            "farm",
            self.reconcile,
            clock=clock,
            metrics=metrics,
            workers=workers,
            options=ControllerOptions(
                sync_timeout=100_000.0, reconcile_id=lambda: str(next(numbers))
            ),
        )
        self.controller.watch(self.flocks, enqueue_object)
        self.controller.watch(self.sheep, enqueue_owner(FLOCK.kind, FLOCK.group))

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.informers.run(), name="informers")
                group.create_task(self.controller.run(), name="controller")
        finally:
            # A real end of a process takes the timer of the queue along.
            self.controller.stop()

    async def reconcile(self, request: Request, /) -> Outcome:
        """Make the sheep of one flock be as its spec says."""
        obj = self.flocks.get(request)
        if obj is None:
            return Done()
        owner = Owner(FLOCK.api_version, FLOCK.kind, *request, uid_of(obj))
        intents = sheep(obj)
        results = await self.owned.ensure_all(owner, intents)
        bad = [write for write in results if not write.in_place]
        if any(write.verdict is Verdict.REJECTED for write in bad):
            raise AssertionError(bad)
        await self.owned.prune(owner, [CONFIG_MAP], {(i.resource, i.key) for i in intents})
        if bad:
            raise Transient(bad[0].message)
        return Done()


class Shepherd:
    """Processes one after the other: `crash` ends the present one where it stands."""

    def __init__(self, start: Callable[[], Process]) -> None:
        self._start = start
        self.lives = 0
        self.process = start()
        self._task: asyncio.Task[None] = asyncio.create_task(self.process.run(), name="process")

    async def crash(self) -> None:
        """Kill and start anew."""
        await self.stop()
        self.lives += 1
        self.process = self._start()
        self._task = asyncio.create_task(self.process.run(), name=f"process {self.lives}")

    async def stop(self) -> None:
        """Kill. Raises what the process died of, if it was dead already."""
        if self._task.done():
            self._task.result()
            raise AssertionError("the process ended by itself")
        self._task.cancel()
        await asyncio.wait([self._task])


def expected_sheep(flocks: Sequence[Object]) -> dict[ObjectKey, Object]:
    """The data of each ConfigMap that should be there."""
    return {intent.key: intent.body["data"] for owner in flocks for intent in sheep(owner)}
