"""When the Secrets of a cluster are read again: the longer nothing changes, the later.

No watch covers them (docs/adr/20261121-secrets-by-name.md). One budget bounds the reads of all
clusters together, so that a thousand clusters cost as much as some dozens. Used by
managers.cluster.observe.cache_refresh.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from runtime.clock import Clock
from runtime.types import ObjectKey

LONGEST = 300.0
"""Seconds between two reads of a cluster where nothing changes, unless the budget asks for more."""
PATIENCE = 0.25
"""Share of the time without a change that passes until the next read."""
BUDGET = 3.0
"""Reads a second of existing Secrets, of all clusters together; absent ones come on top."""
LONGEST_UNWELL = 60.0
"""A cluster that is not well may wait for a Secret: it is read so often, whatever the budget."""
LONGEST_AGE = 60.0
"""A reconcile that an event causes reads Secrets that were read before that many seconds."""
JITTER = 0.1


@dataclass(slots=True)
class _Entry:
    facts: object
    since: float
    """Monotonic time at which the cluster became well with these facts."""
    reads: int
    """Secrets of the cluster."""
    interval: float


class SecretSchedule:
    """Intervals of all clusters, in seconds.

    `shortest` is the interval of a cluster that changes, `shortest_well` of one that is well.
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
        """Return the age up to which a Secret of the cluster need not be read again."""
        entry = self._entries.get(key)
        if entry is None:
            return self._shortest
        return min(entry.interval, self._longest_age)

    def next(self, key: ObjectKey, facts: object, reads: int, *, well: bool) -> float:
        """Return the time until the next read of a cluster, after a reconcile.

        `facts`: whatever counts as a change when it differs. `reads`: its number of Secrets.
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
        # Clusters that were created together are not read together for good.
        return interval * self._rng.uniform(1.0 - JITTER, 1.0 + JITTER)
