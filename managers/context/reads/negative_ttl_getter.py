"""Objects that are not owned, read by name with a TTL, and not watched.

A missing object and a refusal are cached too: reads for many clusters cost one request in `max_age`
seconds.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import Forbidden, NotFound
from runtime.types import Object, ObjectKey, Resource

KEPT = 4096


@dataclass(frozen=True, slots=True)
class CachedObject:
    """The object; None when it does not exist, or when it may not be read."""

    live: Object | None
    readable: bool = True


class NegativeTtlGetter:
    """Objects at most `max_age` seconds old; the least recently read ones are evicted first."""

    def __init__(self, client: Client, clock: Clock, max_age: float, kept: int = KEPT) -> None:
        self._client = client
        self._clock = clock
        self._max_age = max_age
        self._size = kept
        self._kept: OrderedDict[tuple[Resource, ObjectKey], tuple[float, CachedObject]] = (
            OrderedDict()
        )

    async def get(self, resource: Resource, key: ObjectKey) -> CachedObject:
        """Return an object from the cache, or read it. Raises the API's other errors."""
        slot, now = (resource, key), self._clock.monotonic()
        kept = self._kept.get(slot)
        if kept is not None and now - kept[0] < self._max_age:
            return kept[1]
        cached = await self._read(resource, key)
        self._kept[slot] = (now, cached)
        self._kept.move_to_end(slot)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return cached

    async def _read(self, resource: Resource, key: ObjectKey) -> CachedObject:
        try:
            return CachedObject(await self._client.get(resource, key))
        except NotFound:
            return CachedObject(None)
        except Forbidden:
            return CachedObject(None, readable=False)
