"""Objects by key and by computed values, and what changes when the server's word comes in.

Pure, synchronous; owned by an informer, which passes the returned changes to its handlers. Every
method finishes the whole mutation before it returns, so that handlers see the new state.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from runtime.types import Object, ObjectKey, key_of, resource_version_of, uid_of

IndexFunction = Callable[[Object], Iterable[str]]


class StoreChange(NamedTuple):
    """One difference for handlers: an add (old is None), a delete (new is None), an update."""

    old: Object | None
    new: Object | None


def version_number(resource_version: str) -> int | None:
    """A resourceVersion as a number; None for the opaque ones of some aggregated servers.

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
        """In the order of arrival."""
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

    Two sources write here: the watch (replace, upsert, remove, advance), which tells history in
    order, and our own writes (observe), which may be ahead of it. For each object that is ahead
    a floor remembers by how much: what the watch tells about it from before that is old news.
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
        """The keys of all objects, in the order of arrival."""
        return list(self._objects)

    def select(self, namespace: str | None = None) -> list[Object]:
        """All objects, or those of one namespace."""
        if namespace is None:
            return list(self._objects.values())
        return [self._objects[key] for key in self._in_namespace.get(namespace, ())]

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Index present and future objects; again with the same function it does nothing.

        Raises ValueError when the name already has another function.
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
        """Become exactly these items; deletions come first, then the rest in the given order.

        An unchanged object (same uid and version) gives no change. Objects ahead of the list
        stay as they are. A list older than what was seen before means that the server's history
        went back, after a restore from backup: then nothing we know counts against it.
        """
        before, after = version_number(self.resource_version), version_number(resource_version)
        went_back = before is not None and after is not None and after < before
        ahead = {
            key: floor
            for key, floor in self._floors.items()
            if not went_back and after is not None and floor > after
        }
        listed = {key_of(item): item for item in items}
        for key in ahead:
            listed[key] = self._objects[key]
        gone = [key for key in self._objects if key not in listed]
        deletions = [StoreChange(self._take(key), None) for key in gone]
        others: list[StoreChange] = []
        for key, item in listed.items():
            old = self._objects.get(key)
            if old is not None and (item == old if went_back else same_state(old, item)):
                continue
            for change in self._put(key, item):
                (deletions if change.new is None else others).append(change)
        self._floors = ahead
        self.resource_version = resource_version
        return deletions + others

    def upsert(self, obj: Object) -> list[StoreChange]:
        """What the watch says of an object that exists."""
        key = key_of(obj)
        self.resource_version = resource_version_of(obj)
        if self._is_old_news(key, obj):
            return []
        self._floors.pop(key, None)
        old = self._objects.get(key)
        return [] if old is not None and same_state(old, obj) else self._put(key, obj)

    def remove(self, obj: Object) -> list[StoreChange]:
        """What the watch says of an object that is gone; obj is its last state."""
        key = key_of(obj)
        self.resource_version = resource_version_of(obj)
        stored = self._objects.get(key)
        if stored is None or self._is_old_news(key, obj):
            return []
        self._take(key)
        # The last state is the newer one, but only of the same object.
        return [StoreChange(obj if uid_of(stored) == uid_of(obj) else stored, None)]

    def advance(self, resource_version: str) -> None:
        """A bookmark: history up to here was delivered."""
        self.resource_version = resource_version

    def observe(self, obj: Object) -> list[StoreChange]:
        """The answer to our own write: take it if it is ahead of the watch.

        An object that is absent here is taken only when its version is beyond what the watch
        has delivered: otherwise it was delivered, and is absent because it was deleted since.
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

    def _is_old_news(self, key: ObjectKey, obj: Object) -> bool:
        floor = self._floors.get(key)
        version = version_number(resource_version_of(obj))
        return floor is not None and version is not None and version < floor

    def _put(self, key: ObjectKey, obj: Object) -> list[StoreChange]:
        old = self._objects.get(key)
        self._objects[key] = obj
        for index in self._indexes.values():
            index.put(key, obj)
        if old is None:
            neighbours = self._in_namespace.get(key.namespace)
            if neighbours is None:
                neighbours = self._in_namespace[key.namespace] = {}
            neighbours[key] = None
        elif uid_of(old) != uid_of(obj):
            # Deleted and recreated between two lists: two objects that share a name.
            return [StoreChange(old, None), StoreChange(None, obj)]
        return [StoreChange(old, obj)]

    def _take(self, key: ObjectKey) -> Object:
        self._floors.pop(key, None)
        neighbours = self._in_namespace[key.namespace]
        del neighbours[key]
        if not neighbours:
            del self._in_namespace[key.namespace]
        for index in self._indexes.values():
            index.discard(key)
        return self._objects.pop(key)


def same_state(old: Object, new: Object) -> bool:
    """Whether both are one object in one version."""
    # Read by hand: a new list asks this of every object there is.
    was, now = old.get("metadata") or {}, new.get("metadata") or {}
    version = "resourceVersion"
    return bool(was.get(version) == now.get(version) and was.get("uid") == now.get("uid"))
