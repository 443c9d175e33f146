"""A handler that verifies the order of its calls, and knows the expected content of the store."""

from dataclasses import dataclass, field

from runtime.types import Object, ObjectKey, key_of, resource_version_of, uid_of


@dataclass(slots=True)
class StoreChecker:
    """Records every change, and fails at the first that contradicts the earlier ones.

    `known` is the state after all changes: it must equal the store at any time.
    """

    known: dict[ObjectKey, Object] = field(default_factory=dict)
    notifications: int = 0
    newest: dict[str, int] = field(default_factory=dict)
    """By uid: the newest version so far; later ones must be newer."""

    def on_add(self, obj: Object, initial: bool) -> None:
        key = key_of(obj)
        assert key not in self.known, f"add of {key}, which exists"
        self._check_version(obj)
        self.known[key] = obj

    def on_update(self, old: Object, new: Object) -> None:
        key = key_of(new)
        assert key in self.known, f"update of {key}, which does not exist"
        assert uid_of(old) == uid_of(new), f"update of {key} from one object to another"
        assert old == self.known[key], f"update of {key} from an unknown state"
        self._check_version(new)
        self.known[key] = new

    def on_delete(self, obj: Object) -> None:
        key = key_of(obj)
        assert key in self.known, f"delete of {key}, which does not exist"
        assert uid_of(obj) == uid_of(self.known[key]), f"delete of {key}, which is another object"
        assert version(obj) >= version(self.known[key]), f"{key} is deleted in an older state"
        self.notifications += 1
        self.newest[uid_of(obj)] = version(obj)
        del self.known[key]

    def on_resync(self, obj: Object) -> None:
        assert self.known.get(key_of(obj)) == obj, f"resync of {key_of(obj)} in another state"

    def _check_version(self, obj: Object) -> None:
        uid, now = uid_of(obj), version(obj)
        assert now > self.newest.get(uid, 0), f"{key_of(obj)} goes back to version {now}"
        self.newest[uid] = now
        self.notifications += 1


def version(obj: Object) -> int:
    return int(resource_version_of(obj))
