"""A cache with a time to live, for single reads of what is not watched.

For objects that are read by name because they may not or need not be watched, and for paths of the
API server. A `CachePolicy` specifies what is kept, and for how long.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import ApiError, NotFound, Transient
from runtime.types import Object, ObjectKey, Resource

SIZE: Final = 4096

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class TtlCache(Generic[Key, Value]):
    """Values, each with its own time to live; beyond `size` values the oldest are dropped."""

    def __init__(self, clock: Clock, size: int = SIZE) -> None:
        self._clock = clock
        self._size = size
        self._entries: OrderedDict[Key, tuple[float, Value]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        """Return the value; None if there is none, or if it has expired."""
        entry = self._entries.get(key)
        return entry[1] if entry is not None and self._clock.monotonic() < entry[0] else None

    def last(self, key: Key) -> Value | None:
        """Return the value even if it has expired, unless it was dropped."""
        entry = self._entries.get(key)
        return None if entry is None else entry[1]

    def put(self, key: Key, value: Value, until: float) -> None:
        """Keep a value until that value of clock.monotonic()."""
        self._entries[key] = (until, value)
        self._entries.move_to_end(key)
        # Users choose the names: entries that are no longer read would stay forever.
        while len(self._entries) > self._size or self._is_over(next(iter(self._entries))):
            self._entries.popitem(last=False)
            if not self._entries:
                break

    def drop(self, key: Key) -> None:
        """Drop a value."""
        self._entries.pop(key, None)

    def _is_over(self, key: Key) -> bool:
        return self._entries[key][0] <= self._clock.monotonic()


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """For how many seconds a response is used instead of a new read."""

    ttl: float
    negative_ttl: float = 0.0
    """For an absent object, and for errors in `refusals`; 0: it is read each time."""
    refusals: tuple[type[ApiError], ...] = ()
    """Errors that are cached as "not readable"; all others are raised."""
    stale_if_error: bool = False
    """If a read fails, the last response is used for another period."""
    size: int = SIZE


@dataclass(frozen=True, slots=True)
class CachedAnswer(Generic[Value]):
    """The value; None if it does not exist or may not be read."""

    value: Value | None
    readable: bool = True


class CachedReads(Generic[Key, Value]):
    """Reads by key, cached according to a policy."""

    def __init__(
        self, clock: Clock, read: Callable[[Key], Awaitable[Value]], policy: CachePolicy
    ) -> None:
        self._clock = clock
        self._read = read
        self._policy = policy
        self._cache: TtlCache[Key, CachedAnswer[Value]] = TtlCache(clock, policy.size)

    def __len__(self) -> int:
        return len(self._cache)

    async def get(self, key: Key) -> CachedAnswer[Value]:
        """Return the cached response, or read. Raises the errors of the API."""
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        policy, now = self._policy, self._clock.monotonic()
        try:
            answer, seconds = CachedAnswer(await self._read(key)), policy.ttl
        except NotFound:
            answer, seconds = CachedAnswer(None), policy.negative_ttl
        except (ApiError, Transient) as error:
            last = self._cache.last(key) if policy.stale_if_error else None
            if isinstance(error, policy.refusals):
                answer, seconds = CachedAnswer(None, readable=False), policy.negative_ttl
            elif last is not None:
                answer, seconds = last, policy.ttl
            else:
                raise
        self._cache.put(key, answer, now + seconds)
        return answer

    async def value(self, key: Key) -> Value | None:
        """Return only the value; None if there is none."""
        return (await self.get(key)).value

    def drop(self, key: Key) -> None:
        """Drop a response, so that the next call reads."""
        self._cache.drop(key)


def objects_by_name(
    client: Client, clock: Clock, policy: CachePolicy, *, metadata_only: bool = False
) -> ObjectReads:
    """Read objects by kind and name."""

    async def read(key: tuple[Resource, ObjectKey]) -> Object:
        return await client.get(*key, metadata_only=metadata_only)

    return CachedReads(clock, read, policy)


ObjectReads = CachedReads[tuple[Resource, ObjectKey], Object]
