"""Detects changes of objects in a store.

They are read-only by convention, because a copy for each reader costs more than the rest of a
reconcile (client-go copies, and has a mutation detector for callers that disable it). So in tests a
store keeps a digest of each object, and checks it when the object leaves and at the end of the
test.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import orjson
import pytest

from runtime.cache.store import Store, StoreChange
from runtime.types import Object, ObjectKey


class MutationError(AssertionError):
    """An object in a store was changed."""


class WatchfulStore(Store):
    """A store with a digest of each object."""

    def __init__(self) -> None:
        super().__init__()
        self._digests: dict[ObjectKey, bytes] = {}

    def check(self, *keys: ObjectKey) -> None:
        """Raises MutationError for the first changed object, of these or of all."""
        for key in keys or self.keys():
            obj = self.get(key)
            if obj is not None and self._digests[key] != _digest(obj):
                raise MutationError(f"{obj.get('kind')} {key} was changed in the store: {obj}")

    def _put(self, key: ObjectKey, obj: Object) -> list[StoreChange]:
        self.check(key)
        self._digests[key] = _digest(obj)
        return super()._put(key, obj)

    def _take(self, key: ObjectKey) -> Object:
        self.check(key)
        del self._digests[key]
        return super()._take(key)


@contextmanager
def watched_stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[WatchfulStore]]:
    """Give every cache in this context a WatchfulStore; all are checked at its end."""
    stores: list[WatchfulStore] = []

    def make() -> WatchfulStore:
        stores.append(WatchfulStore())
        return stores[-1]

    with monkeypatch.context() as patched:
        patched.setattr("runtime.cache.stored.Store", make)
        yield stores
    for store in stores:
        store.check()


def _digest(obj: Object) -> bytes:
    # Without sorted keys: a change of their order is a change too.
    return blake2b(orjson.dumps(obj), digest_size=16).digest()
