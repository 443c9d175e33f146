"""All informers of a process, by selection: created once, run together, the optional ones only
while they are enabled.

Called by the composition of an application, and by runtime.cache.optional, which enables and
disables those of optional kinds.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import TypeVar

from runtime.cache.informer import DEFAULT, Informer, InformerOptions
from runtime.cache.selection import Selection
from runtime.cache.store import version_number
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.metrics.metrics import Metrics

__all__ = ["InformerSet", "OptionalInformer"]


AnyInformer = TypeVar("AnyInformer", bound=Informer)


class OptionalInformer(Informer):
    """An informer that runs only while it is enabled; the process does not wait for it."""

    home: InformerSet

    def enable(self) -> None:
        """Start to mirror."""
        self.home.enable(self)

    def disable(self) -> None:
        """Stop and drop all objects; handlers get deletes."""
        self.home.disable(self)


class InformerSet:
    """All informers of a process: one per selection. They run together; if one fails, all end.

    Optional ones run while they are enabled; readiness and health checks ignore them.
    """

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
        options: InformerOptions = DEFAULT,
    ) -> None:
        self._client = client
        self._options = options
        self._clock = clock
        self._rng = rng
        self._metrics = metrics
        self._informers: dict[Selection, Informer] = {}
        self._disabled: set[Selection] = set()
        self._tasks: dict[Selection, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None

    def informer(self, selection: Selection) -> Informer:
        """The informer of that selection; a new one starts immediately if the set is running."""
        existing = self._informers.get(selection)
        if existing is not None:
            return existing
        informer = self._add(Informer, selection, self._options)
        if self._group is not None:
            self._start(self._group, informer)
        return informer

    def optional(
        self, selection: Selection, *, enabled: bool = False, kind_exists: bool = True
    ) -> OptionalInformer:
        """Create an optional informer, which runs only while it is enabled.

        `kind_exists`: see InformerOptions. Raises ValueError if the selection already has an
        informer.
        """
        if selection in self._informers:
            raise ValueError(f"{selection} already has an informer")
        options = replace(self._options, optional=True, kind_exists=kind_exists)
        informer = self._add(OptionalInformer, selection, options)
        informer.home = self
        self._disabled.add(selection)
        if enabled:
            self.enable(informer)
        return informer

    def enable(self, informer: Informer) -> None:
        """Start a disabled informer; it lists immediately if the set is running."""
        if informer.selection in self._disabled:
            self._disabled.discard(informer.selection)
            if self._group is not None:
                self._start(self._group, informer)

    def disable(self, informer: Informer) -> None:
        """Stop an optional informer: it drops all objects, and its handlers get deletes.

        Raises ValueError for one that is not optional.
        """
        if not informer.optional:
            raise ValueError(f"{informer.selection} is not optional")
        if informer.selection in self._disabled:
            return
        self._disabled.add(informer.selection)
        task = self._tasks.pop(informer.selection, None)
        if task is not None:
            # The cancelled task runs once more, to end.
            task.cancel()
        informer.forget()

    def remove(self, informer: Informer) -> None:
        """Stop an optional informer and remove it from the set."""
        self.disable(informer)
        self._informers.pop(informer.selection, None)
        self._disabled.discard(informer.selection)

    async def run(self) -> None:
        """Run all informers until cancelled, or until one fails; raises its exception."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for selection, informer in tuple(self._informers.items()):
                    if selection not in self._disabled:
                        self._start(group, informer)
                # A set without informers waits too: one may be added.
                await asyncio.get_running_loop().create_future()
        except ExceptionGroup as crash:
            raise crash.exceptions[0] from crash
        finally:
            self._group = None

    async def wait_synced(self, timeout: float) -> None:  # noqa: ASYNC109 - on our own clock
        """Wait until every informer is synced; raises TimeoutError for the first that is not."""
        end = self._clock.monotonic() + timeout
        for informer in tuple(self._informers.values()):
            await informer.wait_synced(end - self._clock.monotonic())

    def healthy(self, max_age: float) -> str | None:
        """None, or the error of the first informer without data for more than max_age seconds."""
        reasons = (
            informer.healthy(max_age)
            for informer in self._informers.values()
            if not informer.optional
        )
        return next(filter(None, reasons), None)

    def unsynced(self) -> str | None:
        """None once every informer has its first full list, else the error of the first one
        without."""
        for informer in self._informers.values():
            if not informer.optional and not informer.synced:
                return f"{informer.selection} is not synced yet"
        return None

    def _add(
        self, kind: type[AnyInformer], selection: Selection, options: InformerOptions
    ) -> AnyInformer:
        informer = kind(
            self._client,
            selection,
            clock=self._clock,
            rng=self._rng,
            metrics=self._metrics,
            options=options,
        )
        self._informers[selection] = informer
        plural = selection.resource.plural
        age = self._metrics.informer_last_event_age_seconds.labels(resource=plural)
        age.set_function(lambda: self._longest_silence(plural))
        reached = self._metrics.informer_store_resource_version.labels(resource=plural)
        reached.set_function(lambda: self._lowest_version(plural))
        return informer

    def _longest_silence(self, plural: str) -> float:
        return max(
            (
                informer.last_event_age()
                for selection, informer in self._informers.items()
                if selection.resource.plural == plural and selection not in self._disabled
            ),
            default=0.0,
        )

    def _lowest_version(self, plural: str) -> int:
        """The version that every informer of a resource has reached; 0 before, or if opaque."""
        return min(
            (
                version_number(informer.resource_version) or 0
                for selection, informer in self._informers.items()
                if selection.resource.plural == plural
            ),
            default=0,
        )

    def _start(self, group: asyncio.TaskGroup, informer: Informer) -> None:
        name = f"informer {informer.selection}"
        self._tasks[informer.selection] = group.create_task(informer.run(), name=name)
