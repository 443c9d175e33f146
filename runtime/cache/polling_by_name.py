"""A few objects with fixed names, read periodically.

For objects that rarely change and may not be watched, such as definitions of optional kinds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NoReturn

import structlog

from runtime.cache.polling import PolledMirror
from runtime.cache.selection import Selection
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import ApiError, Transient
from runtime.metrics.metrics import Metrics
from runtime.types import ObjectKey

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

PERIOD = 1200.0
RETRY = 30.0
"""Seconds until the next refresh, after a success and after a failure."""


class PolledNames(PolledMirror):
    """A mirror that refreshes itself; it is synced once all of its names were read."""

    def __init__(
        self,
        client: Client,
        selection: Selection,
        *,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
    ) -> None:
        super().__init__(client, selection, clock=clock, rng=rng, metrics=metrics)
        self._names: dict[ObjectKey, None] = {}
        self._complete = False
        self._calls: list[Callable[[], None]] = []

    def follow(self, key: ObjectKey) -> None:
        """Read that name too."""
        self._names[key] = None

    @property
    def synced(self) -> bool:
        """Whether every name was read."""
        return self._complete

    def when_synced(self, call: Callable[[], None]) -> None:
        """Call `call` once every name was read."""
        self._calls.append(call)

    async def run(self) -> NoReturn:
        """Refresh until cancelled; a read that fails is retried later."""
        while True:
            await self._clock.sleep(await self._round() * self._rng.uniform(0.9, 1.1))

    async def _round(self) -> float:
        try:
            await self.refresh(self._names, 0.0)
        except (ApiError, Transient) as error:
            log.warning("cannot be read now", what=str(self.selection), error=str(error))
            return RETRY
        if not self._complete:
            self._complete = True
            for call in self._calls:
                call()
        return PERIOD
