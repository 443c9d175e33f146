"""Objects by key and by index, and the changes that follow from the server's events.

Pure, synchronous; owned by an informer, which passes the returned changes to its handlers. Every
method completes the mutation before it returns, so that handlers see the new state.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from runtime.types import Object, ObjectKey, key_of, resource_version_of, uid_of

IndexFunction = Callable[[Object], Iterable[str]]


class StoreChange(NamedTuple):
    """One change for handlers: an add (old is None), a delete (new is None), an update."""

    old: Object | None
    new: Object | None


def version_number(resource_version: str) -> int | None:
    """A resourceVersion as a number; None for an opaque one of some aggregated servers.

    Versions of one resource may be compared as decimal integers: KEP-5504, stable in 1.35.
    """
    return int(resource_version) if resource_version.isdecimal() else None


class Index:
    """Keys of the objects for which a function yields a value."""

    def __init__(self, function: IndexFunction) -> None:
        self.function = function
        self._keys: dict[str, dict[ObjectKey, None]] = {}
        self._values: dict[ObjectKey, tuple[str, ...]] = {}

    def keys(self, value: str) -> Iterable[ObjectKey]:
        """The keys with that value, in insertion order."""
        return self._keys.get(value, ())

    def put(self, key: ObjectKey, obj: Object) -> None:
        values = tuple(self.function(obj))
        before = self._values.get(key, ())
        if values == before:
            return
        for value in before:
            self._drop(value, key)
        for value in values:
            self._keys.setdefault(value, {})[key] = None
        self._values[key] = values

    def discard(self, key: ObjectKey) -> None:
        for value in self._values.pop(key, ()):
            self._drop(value, key)

    def _drop(self, value: str, key: ObjectKey) -> None:
        keys = self._keys.get(value)
        if keys is not None:
            keys.pop(key, None)
            if not keys:
                del self._keys[value]


class Store:
    """The mirrored part of a collection, at one resourceVersion.

    Two sources change it: the watch (replace, upsert, remove, advance), in order of history, and
    our own writes (observe), which may be ahead of the watch. For each object that is ahead, a
    floor stores its version: older events of the watch about it are ignored.
    """

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, Object] = {}
        self._indexes: dict[str, Index] = {}
        self._in_namespace: dict[str, dict[ObjectKey, None]] = {}
        self._floors: dict[ObjectKey, int] = {}
        self.resource_version = ""

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: ObjectKey) -> Object | None:
        return self._objects.get(key)

    def keys(self) -> list[ObjectKey]:
        """The keys of all objects, in insertion order."""
        return list(self._objects)

    def select(self, namespace: str | None = None) -> list[Object]:
        """All objects, or those of one namespace."""
        if namespace is None:
            return list(self._objects.values())
        return [self._objects[key] for key in self._in_namespace.get(namespace, ())]

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Index all objects, present and future; the same function may be added twice.

        Raises ValueError if the name already has another function.
        """
        registered = self._indexes.get(name)
        if registered is not None and registered.function != function:
            raise ValueError(f"index {name!r} exists with another function")
        if registered is None:
            index = self._indexes[name] = Index(function)
            for key, obj in self._objects.items():
                index.put(key, obj)

    def by_index(self, name: str, value: str) -> list[Object]:
        """The objects for which the index function yields value; KeyError without that index."""
        return [self._objects[key] for key in self._indexes[name].keys(value)]

    def replace(self, items: Iterable[Object], resource_version: str) -> list[StoreChange]:
        """Replace the content by these items; deletions come first, then the rest in the given
        order.

        An unchanged object (same uid and version) causes no change. Objects ahead of the list are
        kept. A list that is older than the store means that the server was restored from a backup:
        then the list always wins.
        """
        before, after = version_number(self.resource_version), version_number(resource_version)
        restored = before is not None and after is not None and after < before
        ahead = {
            key: floor
            for key, floor in self._floors.items()
            if not restored and after is not None and floor > after
        }
        content = {key_of(item): item for item in items}
        for key in ahead:
            content[key] = self._objects[key]
        gone = [key for key in self._objects if key not in content]
        deletions = [StoreChange(self._take(key), None) for key in gone]
        others: list[StoreChange] = []
        for key, item in content.items():
            old = self._objects.get(key)
            if old is not None and (item == old if restored else same_state(old, item)):
                continue
            for change in self._put(key, item):
                (deletions if change.new is None else others).append(change)
        self._floors = ahead
        self.resource_version = resource_version
        return deletions + others

    def upsert(self, obj: Object) -> list[StoreChange]:
        """Store an object that the watch reported."""
        key = key_of(obj)
        self.resource_version = resource_version_of(obj)
        if self._is_outdated(key, obj):
            return []
        self._floors.pop(key, None)
        old = self._objects.get(key)
        return [] if old is not None and same_state(old, obj) else self._put(key, obj)

    def remove(self, obj: Object) -> list[StoreChange]:
        """Remove an object that the watch reported as deleted; obj is its last state."""
        key = key_of(obj)
        self.resource_version = resource_version_of(obj)
        stored = self._objects.get(key)
        if stored is None or self._is_outdated(key, obj):
            return []
        self._take(key)
        # The last state is newer than the stored one, but only if it is the same object.
        return [StoreChange(obj if uid_of(stored) == uid_of(obj) else stored, None)]

    def advance(self, resource_version: str) -> None:
        """Record a bookmark: all changes up to here were delivered."""
        self.resource_version = resource_version

    def observe(self, obj: Object) -> list[StoreChange]:
        """Store the response to our own write if it is ahead of the watch.

        An object that is not in the store is added only if its version is newer than the last one
        from the watch: otherwise the watch has already delivered it and its deletion.
        """
        key = key_of(obj)
        version = version_number(resource_version_of(obj))
        stored = self._objects.get(key)
        current = self.resource_version if stored is None else resource_version_of(stored)
        number = version_number(current)
        if version is None or number is None or version <= number:
            return []
        changes = self._put(key, obj)
        self._floors[key] = version
        return changes

    def _is_outdated(self, key: ObjectKey, obj: Object) -> bool:
        floor = self._floors.get(key)
        version = version_number(resource_version_of(obj))
        return floor is not None and version is not None and version < floor

    def _put(self, key: ObjectKey, obj: Object) -> list[StoreChange]:
        old = self._objects.get(key)
        self._objects[key] = obj
        for index in self._indexes.values():
            index.put(key, obj)
        if old is None:
            neighbors = self._in_namespace.get(key.namespace)
            if neighbors is None:
                neighbors = self._in_namespace[key.namespace] = {}
            neighbors[key] = None
        elif uid_of(old) != uid_of(obj):
            # Deleted and recreated between two lists: two objects with the same name.
            return [StoreChange(old, None), StoreChange(None, obj)]
        return [StoreChange(old, obj)]

    def _take(self, key: ObjectKey) -> Object:
        self._floors.pop(key, None)
        neighbors = self._in_namespace[key.namespace]
        del neighbors[key]
        if not neighbors:
            del self._in_namespace[key.namespace]
        for index in self._indexes.values():
            index.discard(key)
        return self._objects.pop(key)


def same_state(old: Object, new: Object) -> bool:
    """Whether both are the same object in the same version."""
    # Inlined for speed: a new list calls this for every object.
    was, now = old.get("metadata") or {}, new.get("metadata") or {}
    version = "resourceVersion"
    return bool(was.get(version) == now.get(version) and was.get("uid") == now.get("uid"))
