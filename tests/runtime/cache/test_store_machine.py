"""runtime.cache.store with watch events and our own writes: never an older state.

The server writes, the watch events are in order but late, responses to writes arrive at any time
and in any order, lists are read at one time and arrive at another. In every interleaving a state
that was observed never disappears, and a write can be read.
"""

from collections.abc import Iterator

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from runtime.cache.store import Store
from runtime.types import Object, ObjectKey, key_of, resource_version_of, uid_of

NAMES = st.sampled_from("abc")


def object_of(name: str, version: int, uid: str) -> Object:
    metadata = {"namespace": "shop", "name": name, "uid": uid, "resourceVersion": str(version)}
    return {"metadata": metadata}


class StoreMachine(RuleBasedStateMachine):
    """See the module. Versions are positions in the history of the server."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 10
        self.alive: dict[str, Object] = {}
        self.history: list[tuple[bool, Object]] = []
        self.answers: list[Object] = []
        self.pending_list: tuple[list[Object], int] | None = None
        self.watch_version = self.version
        self.store = Store()
        self.store.replace([], str(self.version))
        self.versions: dict[str, int] = {}

    # The server -------------------------------------------------------------------------------

    @rule(name=NAMES, answered=st.booleans())
    def write(self, name: str, answered: bool) -> None:
        self.version += 1
        known = self.alive.get(name)
        uid = uid_of(known) if known else f"{name}{self.version}"
        obj = self.alive[name] = object_of(name, self.version, uid)
        self.history.append((True, obj))
        if answered:
            self.answers.append(obj)

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.alive)))
        self.version += 1
        last = object_of(name, self.version, uid_of(self.alive.pop(name)))
        self.history.append((False, last))

    # The client -------------------------------------------------------------------------------

    def untold(self) -> Iterator[tuple[bool, Object]]:
        return (
            item for item in self.history if int(resource_version_of(item[1])) > self.watch_version
        )

    @precondition(lambda self: self.pending_list is None and any(self.untold()))
    @rule()
    def event(self) -> None:
        exists, obj = next(self.untold())
        self.watch_version = int(resource_version_of(obj))
        if exists:
            self.store.upsert(obj)
        else:
            self.store.remove(obj)
        self.forget(exists, obj)

    @precondition(lambda self: self.pending_list is None)
    @rule()
    def bookmark(self) -> None:
        if not any(self.untold()):
            self.watch_version = self.version
            self.store.advance(str(self.version))

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        """Our own write can be read immediately: in that state, in a newer one, or deleted."""
        obj = self.answers.pop(data.draw(st.integers(0, len(self.answers) - 1)))
        self.store.observe(obj)
        version = int(resource_version_of(obj))
        stored = self.store.get(key_of(obj))
        if stored is None:
            assert self.deleted_since(obj) <= self.watch_version
        else:
            assert int(resource_version_of(stored)) >= version

    @precondition(lambda self: self.pending_list is None)
    @rule()
    def list_is_taken(self) -> None:
        self.pending_list = ([*self.alive.values()], self.version)

    @precondition(lambda self: self.pending_list is not None)
    @rule()
    def list_arrives(self) -> None:
        assert self.pending_list is not None
        items, version = self.pending_list
        self.store.replace(items, str(version))
        for exists, obj in self.untold():
            if int(resource_version_of(obj)) <= version:
                self.forget(exists, obj)
        self.watch_version, self.pending_list = version, None

    # Invariants -------------------------------------------------------------------------------

    def deleted_since(self, obj: Object) -> int:
        """The version of the deletion of that object."""
        return next(
            int(resource_version_of(last))
            for exists, last in self.history
            if not exists and uid_of(last) == uid_of(obj)
        )

    def forget(self, exists: bool, obj: Object) -> None:
        """Forget a deleted object, but not a newer one of its name."""
        name = key_of(obj).name
        if not exists and self.versions.get(name, 0) < int(resource_version_of(obj)):
            self.versions.pop(name, None)

    @invariant()
    def no_object_goes_back(self) -> None:
        shown = {key_of(o).name: int(resource_version_of(o)) for o in self.store.select()}
        for name, version in self.versions.items():
            assert shown.get(name, 0) >= version, f"{name} was at {version}"
        self.versions = shown

    def teardown(self) -> None:
        """After all events the store equals the server."""
        if self.pending_list is not None:
            self.list_arrives()
        while any(self.untold()):
            self.event()
        for name in "abc":
            assert self.store.get(ObjectKey("shop", name)) == self.alive.get(name)


TestT28StoreNeverGoesBack = StoreMachine.TestCase
