"""Volume claims that users name, read by name: no cache has them, for want of our label."""

from __future__ import annotations

from runtime.client import Client
from runtime.clock import Clock
from runtime.errors import NotFound
from runtime.resources import PVC
from runtime.types import Object, ObjectKey


class NamedClaims:
    """Claims, at most `max_age` seconds old; one that was not there is asked for each time."""

    def __init__(self, client: Client, clock: Clock, max_age: float) -> None:
        self._client = client
        self._clock = clock
        self._max_age = max_age
        self._kept: dict[ObjectKey, tuple[float, Object]] = {}

    async def get(self, key: ObjectKey) -> Object | None:
        """Return the claim; None when it does not exist. Raises the API's errors."""
        now = self._clock.monotonic()
        checked, live = self._kept.get(key, (0.0, None))
        if live is not None and now - checked < self._max_age:
            return live
        try:
            live = await self._client.get(PVC, key)
        except NotFound:
            self._kept.pop(key, None)
            return None
        self._kept[key] = (now, live)
        return live

    def forget(self, namespace: str, name: str) -> None:
        """Drop what is known of a claim."""
        self._kept.pop(ObjectKey(namespace, name), None)
