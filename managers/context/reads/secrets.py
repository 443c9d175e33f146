"""Reads Secrets by name, and never lists or watches them.

Kubernetes cannot grant a watch on the metadata of some Secrets without their content. So the
operator reads each Secret by name, at most once in `max_age` seconds, and reads the content only if
the resourceVersion changed. The cache contains only the projection of the caller, never a key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from runtime.apply.ownership import Owner
from runtime.builtin_kinds import SECRET
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, controller_of, key_of, resource_version_of

Facts = TypeVar("Facts")
Reader = tuple[ObjectKey, str]
"""Name and UID of an object that uses a Secret."""
ENTRIES_PER_READER = 64
"""Maximum number of cached Secrets of one reader; the facts of one may have up to 512 KiB."""
Projection = Callable[[Object], Facts]


class SecretSink(Protocol):
    """Receives the Secrets that an effect wrote, and drops those that changed after the read."""

    def store(self, live: Object) -> object: ...

    def drop(self, key: ObjectKey) -> None: ...


@dataclass(slots=True)
class _Entry(Generic[Facts]):
    reader: Reader
    version: str
    facts: Facts | None
    checked_at: float


class SecretStore(Generic[Facts]):
    """A cache of facts about Secrets.

    Effects pass their writes to `store`, so that the next reconcile sees them without a read.
    Users choose the names of some Secrets, so the number of entries per reader is limited.
    """

    def __init__(self, client: Client, clock: Clock, project: Projection[Facts]) -> None:
        self._client = client
        self._clock = clock
        self._project = project
        self._entries: dict[ObjectKey, _Entry[Facts]] = {}
        self._by_reader: dict[ObjectKey, dict[ObjectKey, None]] = {}
        """The Secrets of `_entries` by the name of their reader."""

    async def facts(
        self, key: ObjectKey, *, reader: Owner, max_age: float, content: bool
    ) -> Facts | None:
        """Return the facts about a Secret, at most `max_age` seconds old; None if it is missing.

        `reader` is the object that needs the facts: those that were read for a deleted cluster are
        not returned to a new one of the same name. `content`: the projection needs `data`; else
        only metadata is read. Raises the errors of the API server.
        """
        entry = self._entries.get(key)
        now = self._clock.monotonic()
        if entry is not None and entry.reader[1] != reader.uid:
            entry = None
        if entry is not None and now - entry.checked_at < max_age:
            return entry.facts
        user = (reader.key, reader.uid)
        try:
            live = await self._read(key, entry, content=content)
        except NotFound:
            self._put(key, _Entry(user, "", None, now))
            return None
        if entry is not None and entry.version == resource_version_of(live):
            entry.checked_at = now
            return entry.facts
        return self._keep(live, user)

    async def _read(self, key: ObjectKey, entry: _Entry[Facts] | None, *, content: bool) -> Object:
        if not content:
            return await self._client.get(SECRET, key, metadata_only=True)
        if entry is None or entry.facts is None:
            return await self._client.get(SECRET, key)
        metadata = await self._client.get(SECRET, key, metadata_only=True)
        if resource_version_of(metadata) == entry.version:
            return metadata
        return await self._client.get(SECRET, key)

    def store(self, live: Object) -> Facts:
        """Store the response of an own write, and return its facts."""
        key, controller = key_of(live), controller_of(live)
        name, uid = (controller.name, controller.uid) if controller else ("", "")
        return self._keep(live, (ObjectKey(key.namespace, name), uid))

    def _keep(self, live: Object, reader: Reader) -> Facts:
        facts = self._project(live)
        now = self._clock.monotonic()
        self._put(key_of(live), _Entry(reader, resource_version_of(live), facts, now))
        return facts

    def _put(self, key: ObjectKey, entry: _Entry[Facts]) -> None:
        self.drop(key)
        of_reader = self._by_reader.setdefault(entry.reader[0], {})
        if len(of_reader) >= ENTRIES_PER_READER:
            self.drop(min(of_reader, key=lambda other: self._entries[other].checked_at))
        of_reader[key] = None
        self._entries[key] = entry

    def last_facts(self, key: ObjectKey) -> Facts | None:
        """Return the facts of the last read, of any age; None without a read or a Secret."""
        entry = self._entries.get(key)
        return entry.facts if entry is not None else None

    def drop(self, key: ObjectKey) -> None:
        """Drop a Secret, so that the next call reads it from the API server."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        reader = entry.reader[0]
        del self._by_reader[reader][key]
        if not self._by_reader[reader]:
            del self._by_reader[reader]

    def forget(self, reader: ObjectKey) -> None:
        """Drop the Secrets of a deleted object."""
        for key in tuple(self._by_reader.get(reader, ())):
            self.drop(key)

    def __len__(self) -> int:
        return len(self._entries)
