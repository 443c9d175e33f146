"""Who owns an object, and the evidence for it.

Pure. Used by `runtime.apply.apply` before each write and by deletion code before each delete.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from runtime.types import Object, ObjectKey, annotations_of, controller_of

OWNER_INDEX: Final = "owner-uid"
"""Name of the index of a cache by the UID of the controller owner."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The object on whose behalf children are written."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.namespace, self.name)

    def identity(self) -> Object:
        """Return as much of the owner's object as an event needs to point at it."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {"namespace": self.namespace, "name": self.name, "uid": self.uid},
        }

    def reference(self) -> Object:
        """Return the controller owner reference, as `metadata.ownerReferences` wants it."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


@dataclass(frozen=True, slots=True)
class OwnershipKeys:
    """What carries ownership, named by the application: annotation keys, and earlier managers."""

    owner_uid: str
    """UID of the owner. On objects that outlive their owner it is the only proof."""
    intent_hash: str
    """Digest of the intent that was applied last: a restarted operator skips what is right."""
    adopt: str
    """Set by a person to the owner's name: hands an object over that is not ours."""
    legacy_managers: frozenset[str] = frozenset()
    """Field managers that wrote by update what the application now applies: an earlier version of
    it, or kubectl. What they own becomes ours, so that it goes when it is no longer wanted."""


class Ownership(Enum):
    """What an object says about whose it is."""

    MINE = "mine"
    ADOPTABLE = "adoptable"
    FOREIGN = "foreign"


def ownership_of(live: Object, owner: Owner, marks: OwnershipKeys) -> Ownership:
    """Judge whose `live` is, by UID and never by name or label.

    A controller reference decides alone when there is one. Without one, our UID in the
    annotation proves a child that was retained on purpose; without either, only the explicit
    hand-over annotation allows us to touch the object.
    """
    controller = controller_of(live)
    if controller is not None:
        return Ownership.MINE if controller.uid == owner.uid else Ownership.FOREIGN
    annotations = annotations_of(live)
    if annotations.get(marks.owner_uid) == owner.uid:
        return Ownership.MINE
    if annotations.get(marks.adopt) == owner.name:
        return Ownership.ADOPTABLE
    return Ownership.FOREIGN


def describe_owner(live: Object, marks: OwnershipKeys) -> str:
    """Name the present owner of a foreign object, for a message to a person."""
    controller = controller_of(live)
    if controller is not None:
        return f"{controller.kind} {controller.name} (uid {controller.uid})"
    former = annotations_of(live).get(marks.owner_uid)
    if former:
        return f"a former owner (uid {former})"
    return "nobody that we know"
