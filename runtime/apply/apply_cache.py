"""The results of earlier applies and comparisons: the object matched, or the server rejected it.

Called by `runtime.apply.apply` before it compares or sends. Correctness does not depend on it: a
missing entry costs one comparison.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from runtime.apply.intent import digest
from runtime.clock import Clock
from runtime.types import Object, ObjectKey, Resource, key_of, resource_version_of

Slot = tuple[Resource, ObjectKey]

SHORTEST_LIFE = 1800.0
LONGEST_LIFE = 3600.0
"""Lifetime of an entry in seconds, random for each entry, so that they do not expire together."""


@dataclass(slots=True)
class _Entry:
    live: Object
    """The state that was compared: the cached object itself, so that `is` compares it."""
    print: str
    desired: str
    refusal: str | None
    until: float


class ApplyCache:
    """The last live state and intent of each object, and whether they matched.

    Contains only objects that a cache holds: `runtime.apply.apply` drops an entry with its object.
    Entries expire after 30 to 60 minutes, so that undetected errors are corrected.
    """

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._entries: dict[Slot, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def holds(self, slot: Slot, live: Object, desired: str) -> bool:
        """Whether this state matches this intent."""
        entry = self._find(slot, live, desired)
        return entry is not None and entry.refusal is None

    def refusal(self, slot: Slot, live: Object, desired: str) -> str | None:
        """Return why the server rejected this intent for this state; None if it did not."""
        entry = self._find(slot, live, desired)
        return None if entry is None else entry.refusal

    def note(self, slot: Slot, live: Object, desired: str, *, refusal: str | None = None) -> None:
        """Record that the state matches the intent, or why the server rejects the intent."""
        until = self._clock.monotonic() + self._rng.uniform(SHORTEST_LIFE, LONGEST_LIFE)
        self._entries[slot] = _Entry(live, fingerprint(live), desired, refusal, until)

    def drop(self, slot: Slot) -> None:
        """Drop the entry of an object."""
        self._entries.pop(slot, None)

    def _find(self, slot: Slot, live: Object, desired: str) -> _Entry | None:
        entry = self._entries.get(slot)
        if entry is None or entry.desired != desired:
            return None
        if self._clock.monotonic() >= entry.until:
            del self._entries[slot]
            return None
        if entry.live is not live:
            if entry.print != fingerprint(live):
                return None
            entry.live = live
        return entry


class EntryRemover:
    """An event handler of one cache: drops the entries of deleted objects."""

    def __init__(self, apply_cache: ApplyCache, resource: Resource) -> None:
        self._apply_cache = apply_cache
        self._resource = resource

    def on_add(self, obj: Object, initial: bool) -> None:
        """Nothing to drop."""

    def on_update(self, old: Object, new: Object) -> None:
        """Nothing to drop: the fingerprint detects the change."""

    def on_resync(self, obj: Object) -> None:
        """Nothing to drop."""

    def on_delete(self, obj: Object) -> None:
        """Drop the entry of the object."""
        self._apply_cache.drop((self._resource, key_of(obj)))


def fingerprint(live: Object) -> str:
    """Return a fingerprint of the state of an object, without its status.

    For kinds with a generation it consists of the UID, the generation and a hash of the metadata,
    so that status updates do not change it; for other kinds, of the UID and the resourceVersion.
    """
    metadata = live["metadata"]
    generation = metadata.get("generation")
    if generation is None:
        return f"{metadata.get('uid')}/{resource_version_of(live)}"
    marks = [
        metadata.get(field)
        for field in ("labels", "annotations", "ownerReferences", "finalizers", "deletionTimestamp")
    ]
    return f"{metadata.get('uid')}/{generation}/{digest(marks)}"
