"""Schedules the reads of the Secrets of a cluster: the interval grows while nothing changes.

No watch covers them (docs/adr/20261121-secrets-by-name.md). One budget bounds the reads of all
clusters together, so that a thousand clusters cost as much as a few dozen. Used by
managers.cluster.observe.cache_refresh.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from runtime.clock import Clock
from runtime.types import ObjectKey

LONGEST = 300.0
"""Maximum interval in seconds for an unchanged cluster, unless the budget requires a longer one."""
PATIENCE = 0.25
"""The interval as a share of the time since the last change."""
BUDGET = 3.0
"""Reads per second of existing Secrets, for all clusters together; absent ones are not included."""
LONGEST_UNWELL = 60.0
"""Maximum interval for an unhealthy cluster, whatever the budget: it may wait for a Secret."""
LONGEST_AGE = 60.0
"""A reconcile that an event triggers reads Secrets again whose last read is older than this."""
JITTER = 0.1


@dataclass(slots=True)
class _Entry:
    facts: object
    since: float
    """Monotonic time at which the cluster became healthy with these facts."""
    reads: int
    """Number of Secrets of the cluster."""
    interval: float


class SecretSchedule:
    """Intervals of all clusters, in seconds.

    `shortest`: the minimum for a changing cluster. `shortest_well`: the minimum for a healthy one.
    """

    def __init__(
        self, clock: Clock, rng: random.Random, shortest: float, shortest_well: float
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._shortest = shortest
        self._shortest_well = max(shortest, shortest_well)
        self._longest_age = max(self._shortest_well, LONGEST_AGE)
        self._entries: dict[ObjectKey, _Entry] = {}
        self._reads = 0

    def age(self, key: ObjectKey) -> float:
        """Return the maximum age of a cached Secret of the cluster."""
        entry = self._entries.get(key)
        if entry is None:
            return self._shortest
        return min(entry.interval, self._longest_age)

    def next(self, key: ObjectKey, facts: object, reads: int, *, well: bool) -> float:
        """Return the time until the next read of a cluster, after a reconcile.

        `facts`: a different value counts as a change. `reads`: the number of Secrets.
        """
        now = self._clock.monotonic()
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(facts, now, 0, self._shortest)
        if not well or entry.facts != facts:
            entry.facts, entry.since = facts, now
        self._reads += reads - entry.reads
        entry.reads = reads
        entry.interval = self._interval(now - entry.since, well=well)
        return entry.interval

    def forget(self, key: ObjectKey) -> None:
        """Drop a deleted cluster."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._reads -= entry.reads

    def _interval(self, idle: float, *, well: bool) -> float:
        affordable = self._reads / BUDGET
        if well:
            interval = max(self._shortest_well, min(LONGEST, idle * PATIENCE), affordable)
        else:
            interval = max(self._shortest, min(LONGEST_UNWELL, affordable))
        if interval <= self._shortest_well:
            return interval
        # Clusters that were created together must not always be read together.
        return interval * self._rng.uniform(1.0 - JITTER, 1.0 + JITTER)
