"""Objects, one counter of versions, and the history for watches.

Pure. Called by the other modules of this package.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from runtime.types import Object, ObjectKey, Resource, key_of


@dataclass(frozen=True, slots=True)
class StoredChange:
    """One write: old is None for a new object, new for a deleted one.

    A watch shows a deleted object with the version of its deletion (`revision`), as a real one
    does.
    """

    revision: int
    resource: Resource
    key: ObjectKey
    old: Object | None
    new: Object | None


class ObjectStorage:
    """All objects of all resources. Stored objects are never changed in place.

    revision is that of the last write; history begins after `compacted`.
    """

    def __init__(self, first_revision: int = 1) -> None:
        self.revision = first_revision
        self.compacted = 0
        self._objects: dict[Resource, dict[ObjectKey, Object]] = {}
        self._history: deque[StoredChange] = deque()
        self._listeners: list[Callable[[StoredChange], None]] = []

    def listen(self, listener: Callable[[StoredChange], None]) -> None:
        """Call listener for every later change."""
        self._listeners.append(listener)

    def get(self, resource: Resource, key: ObjectKey) -> Object | None:
        return self._objects.get(resource, {}).get(key)

    def all(self, resource: Resource) -> list[Object]:
        """All objects in the order of their keys, which is that of the pages of a list."""
        return _sorted(self._objects.get(resource, {}))

    def at(self, resource: Resource, revision: int) -> list[Object] | None:
        """The objects at that version; None if it is compacted."""
        if revision < self.compacted:
            return None
        then = dict(self._objects.get(resource, {}))
        for change in reversed(self._history):
            if change.revision <= revision:
                break
            if change.resource != resource:
                continue
            if change.old is None:
                then.pop(change.key, None)
            else:
                then[change.key] = change.old
        return _sorted(then)

    def since(self, resource: Resource, revision: int) -> Iterator[StoredChange]:
        """The changes after that version; the caller has compared it with `compacted`."""
        return (
            change
            for change in self._history
            if change.revision > revision and change.resource == resource
        )

    def next_version(self) -> str:
        """The resourceVersion of the next write."""
        return str(self.revision + 1)

    def put(self, resource: Resource, key: ObjectKey, obj: Object) -> Object:
        """Store a new state with its version."""
        stamped = {**obj, "metadata": {**obj["metadata"], "resourceVersion": self.next_version()}}
        objects = self._objects.setdefault(resource, {})
        old = objects.get(key)
        objects[key] = stamped
        self._tell(StoredChange(self._advance(), resource, key, old, stamped))
        return stamped

    def drop(self, resource: Resource, key: ObjectKey, last: Object) -> Object:
        """Delete an object; returns the last state with the version of the deletion."""
        version = self.next_version()
        gone = {**last, "metadata": {**last["metadata"], "resourceVersion": version}}
        old = self._objects[resource].pop(key)
        self._tell(StoredChange(self._advance(), resource, key, old, None))
        return gone

    def skip(self, count: int = 1) -> None:
        """Skip versions, as writes of other kinds do."""
        self.revision += count

    def compact(self, keep: int = 0) -> None:
        """Compact the history except for the last `keep` changes."""
        while len(self._history) > keep:
            self.compacted = self._history.popleft().revision
        if keep == 0:
            self.compacted = self.revision

    def go_back(self, revision: int) -> None:
        """Return to that version, as a restore from a backup does; ValueError if it is
        compacted."""
        then = {resource: self.at(resource, revision) for resource in self._objects}
        if any(objects is None for objects in then.values()):
            raise ValueError(f"version {revision} is compacted: history begins at {self.compacted}")
        self._objects = {
            resource: {key_of(obj): obj for obj in objects or ()}
            for resource, objects in then.items()
        }
        self._history.clear()
        self.revision = self.compacted = revision

    def _advance(self) -> int:
        self.revision += 1
        return self.revision

    def _tell(self, change: StoredChange) -> None:
        self._history.append(change)
        for listener in self._listeners:
            listener(change)


def _sorted(objects: dict[ObjectKey, Object]) -> list[Object]:
    return [objects[key] for key in sorted(objects, key=str)]
