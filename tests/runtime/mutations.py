"""Finds out whether somebody changes objects that belong to a store.

They are read-only by convention, because copying each one for each reader costs more than the
rest of a pass (client-go does copy, and has a mutation detector for those who ask it not to). So
in tests a store remembers what each object was when it came in, and looks again when the object
leaves and when the test is over.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import orjson
import pytest

from runtime.cache.store import Store, StoreChange
from runtime.types import Object, ObjectKey


class MutationError(AssertionError):
    """An object in a store is no longer what it was."""


class WatchfulStore(Store):
    """A store that remembers a digest of each object it holds."""

    def __init__(self) -> None:
        super().__init__()
        self._digests: dict[ObjectKey, bytes] = {}

    def check(self, *keys: ObjectKey) -> None:
        """Raises MutationError for the first of these objects, or of all, that was changed."""
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
    """Give every informer made in this context a watchful store; all are checked at its end."""
    made: list[WatchfulStore] = []

    def make() -> WatchfulStore:
        made.append(WatchfulStore())
        return made[-1]

    with monkeypatch.context() as patched:
        patched.setattr("runtime.cache.informer.Store", make)
        yield made
    for store in made:
        store.check()


def _digest(obj: Object) -> bytes:
    # Not orjson's sorted keys: a change of their order is a change too.
    return blake2b(orjson.dumps(obj), digest_size=16).digest()
