"""Objects that users name, read by name: no cache has them, for want of our label."""

from __future__ import annotations

from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, Resource


class TtlGetter:
    """Objects of one kind, at most `max_age` seconds old; an absent one is read each time."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        resource: Resource,
        max_age: float,
        *,
        metadata_only: bool = False,
    ) -> None:
        self._client = client
        self._clock = clock
        self._resource = resource
        self._max_age = max_age
        self._metadata_only = metadata_only
        self._kept: dict[ObjectKey, tuple[float, Object]] = {}

    async def get(self, key: ObjectKey) -> Object | None:
        """Return the object; None when it does not exist. Raises the API's errors."""
        now = self._clock.monotonic()
        checked, live = self._kept.get(key, (0.0, None))
        if live is not None and now - checked < self._max_age:
            return live
        self._drop_old(now)
        try:
            live = await self._client.get(self._resource, key, metadata_only=self._metadata_only)
        except NotFound:
            self._kept.pop(key, None)
            return None
        self._kept[key] = (now, live)
        return live

    def forget(self, namespace: str, name: str) -> None:
        """Drop a cached object."""
        self._kept.pop(ObjectKey(namespace, name), None)

    def _drop_old(self, now: float) -> None:
        # Objects that are no longer read would stay for ever: users choose the names.
        old = [key for key, (checked, _) in self._kept.items() if now - checked >= self._max_age]
        for key in old:
            del self._kept[key]
