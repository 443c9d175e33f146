"""Secrets, read by name and never listed or watched.

Kubernetes cannot grant a watch on some Secrets' metadata without granting their content, so the
operator asks for each by name, at most once in `max_age` seconds, and for content only when the
resourceVersion moved. What is kept is what the caller's projection makes of it: never a key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from runtime.builtin_kinds import SECRET
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, controller_of, key_of, resource_version_of

Facts = TypeVar("Facts")
Projection = Callable[[Object], Facts]


class SecretSink(Protocol):
    """What an effect tells about Secrets that it wrote, or found to be other than thought."""

    def written(self, live: Object) -> object: ...

    def drop(self, key: ObjectKey) -> None: ...


@dataclass(slots=True)
class _Entry(Generic[Facts]):
    reader: str
    version: str
    facts: Facts | None
    checked: float


class SecretStore(Generic[Facts]):
    """Facts about Secrets, at most `max_age` seconds old.

    Our own writes are told by `written`, so that a pass right after one sees it without asking.
    """

    def __init__(self, client: Client, clock: Clock, project: Projection[Facts]) -> None:
        self._client = client
        self._clock = clock
        self._project = project
        self._entries: dict[ObjectKey, _Entry[Facts]] = {}

    async def facts(
        self, key: ObjectKey, *, reader: str, max_age: float, content: bool
    ) -> Facts | None:
        """Return what is known of a Secret; None when it does not exist.

        `reader` is the UID of the object on whose behalf is asked: what was read for a cluster
        that is gone is not told to the next one of its name. `content` tells whether the
        projection needs `data`; without it only metadata crosses the wire. Raises the API's
        errors.
        """
        entry = self._entries.get(key)
        now = self._clock.monotonic()
        if entry is not None and entry.reader != reader:
            entry = None
        if entry is not None and now - entry.checked < max_age:
            return entry.facts
        try:
            live = await self._read(key, entry, content=content)
        except NotFound:
            self._entries[key] = _Entry(reader, "", None, now)
            return None
        if entry is not None and entry.version == resource_version_of(live):
            entry.checked = now
            return entry.facts
        return self._keep(live, reader)

    async def _read(self, key: ObjectKey, entry: _Entry[Facts] | None, *, content: bool) -> Object:
        if not content:
            return await self._client.get(SECRET, key, metadata_only=True)
        if entry is None or entry.facts is None:
            return await self._client.get(SECRET, key)
        metadata = await self._client.get(SECRET, key, metadata_only=True)
        if resource_version_of(metadata) == entry.version:
            return metadata
        return await self._client.get(SECRET, key)

    def written(self, live: Object) -> Facts:
        """Take the answer of a write of ours as the newest state."""
        controller = controller_of(live)
        return self._keep(live, controller.uid if controller else "")

    def _keep(self, live: Object, reader: str) -> Facts:
        facts = self._project(live)
        now = self._clock.monotonic()
        self._entries[key_of(live)] = _Entry(reader, resource_version_of(live), facts, now)
        return facts

    def known(self, key: ObjectKey) -> Facts | None:
        """What was read last, however old; None when nothing was, or when there was none."""
        entry = self._entries.get(key)
        return entry.facts if entry is not None else None

    def drop(self, key: ObjectKey) -> None:
        """Forget a Secret, so that the next question asks the server."""
        self._entries.pop(key, None)
