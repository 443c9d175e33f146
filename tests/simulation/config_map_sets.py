"""A small operator: a ConfigMapSet of size N has N ConfigMaps, written by owned apply.

Its parts are those of any operator (informers, a controller with workers, owned apply), in one
process that can be killed at any time and started again.
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

CONFIG_MAP_SET = Resource("sets.example.com", "v1", "ConfigMapSet", "configmapsets")
CONFIG_MAP_SET_KIND = custom(CONFIG_MAP_SET)
MARKS = OwnershipKeys("sets.example.com/owner", "sets.example.com/intent", "sets.example.com/adopt")
MANAGER = "example-operator"
LABELS = {"app.kubernetes.io/managed-by": "example-operator"}


def config_map_set(namespace: str, name: str, size: int, value: str) -> Object:
    return {
        "apiVersion": CONFIG_MAP_SET.api_version,
        "kind": CONFIG_MAP_SET.kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"size": size, "value": value},
    }


def children(owner: Object) -> list[Intent]:
    """The ConfigMaps of a set."""
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
                "data": {"value": owner["spec"]["value"], "number": str(number)},
            },
        )
        for number in range(owner["spec"]["size"])
    ]


class Process:
    """One process of the operator. `run` lasts until it is cancelled; no state is kept."""

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
        self.sets = self.informers.informer(Selection(CONFIG_MAP_SET))
        selector = ",".join(f"{key}={value}" for key, value in LABELS.items())
        self.children = self.informers.informer(Selection(CONFIG_MAP, label_selector=selector))
        self.owned = OwnedApply(
            client,
            {CONFIG_MAP: self.children},
            field_manager=MANAGER,
            marks=MARKS,
            metrics=metrics,
            apply_cache=ApplyCache(clock, rng),
        )
        numbers = itertools.count()
        self.controller = Controller(
            "sets",
            self.reconcile,
            clock=clock,
            metrics=metrics,
            workers=workers,
            options=ControllerOptions(
                sync_timeout=100_000.0, reconcile_id=lambda: str(next(numbers))
            ),
        )
        self.controller.watch(self.sets, enqueue_object)
        self.controller.watch(
            self.children, enqueue_owner(CONFIG_MAP_SET.kind, CONFIG_MAP_SET.group)
        )

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.informers.run(), name="informers")
                group.create_task(self.controller.run(), name="controller")
        finally:
            # The end of a real process also ends the timer of the queue.
            self.controller.stop()

    async def reconcile(self, request: Request, /) -> Outcome:
        """Reconcile the ConfigMaps of one set with its spec."""
        obj = self.sets.get(request)
        if obj is None:
            return Done()
        owner = Owner(CONFIG_MAP_SET.api_version, CONFIG_MAP_SET.kind, *request, uid_of(obj))
        intents = children(obj)
        results = await self.owned.ensure_all(owner, intents)
        bad = [write for write in results if not write.in_place]
        if any(write.verdict is Verdict.REJECTED for write in bad):
            raise AssertionError(bad)
        await self.owned.prune(owner, [CONFIG_MAP], {(i.resource, i.key) for i in intents})
        if bad:
            raise Transient(bad[0].message)
        return Done()


class RestartedProcess:
    """Runs processes one after the other: `crash` ends the current one immediately."""

    def __init__(self, start: Callable[[], Process]) -> None:
        self._start = start
        self.lives = 0
        self.process = start()
        self._task: asyncio.Task[None] = asyncio.create_task(self.process.run(), name="process")

    async def crash(self) -> None:
        """Kill the process, and start another one."""
        await self.stop()
        self.lives += 1
        self.process = self._start()
        self._task = asyncio.create_task(self.process.run(), name=f"process {self.lives}")

    async def stop(self) -> None:
        """Kill the process. Raises its exception if it has ended already."""
        if self._task.done():
            self._task.result()
            raise AssertionError("the process ended by itself")
        self._task.cancel()
        await asyncio.wait([self._task])


def expected_children(sets: Sequence[Object]) -> dict[ObjectKey, Object]:
    """The data of each expected ConfigMap."""
    return {intent.key: intent.body["data"] for owner in sets for intent in children(owner)}
