"""The ownership of an object, and how it is verified.

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
        """Return the part of the owner's object that an event needs as a reference."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {"namespace": self.namespace, "name": self.name, "uid": self.uid},
        }

    def reference(self) -> Object:
        """Return the controller owner reference for `metadata.ownerReferences`."""
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
    """The annotation keys and earlier field managers of an application."""

    owner_uid: str
    """UID of the owner. The only evidence on objects that outlive their owner."""
    intent_hash: str
    """Hash of the intent that was applied last: a restarted operator skips unchanged objects."""
    adopt: str
    """Set by a user to the owner's name: allows the owner to adopt the object."""
    legacy_managers: frozenset[str] = frozenset()
    """Field managers that wrote by update what the application now applies: an earlier version of
    it, or kubectl. We take over their fields, so that they can be removed."""


class Ownership(Enum):
    """The owner of an object, from the view of one owner."""

    MINE = "mine"
    ADOPTABLE = "adoptable"
    FOREIGN = "foreign"


def ownership_of(live: Object, owner: Owner, marks: OwnershipKeys) -> Ownership:
    """Determine the owner of `live` by UID, never by name or label.

    A controller reference is decisive if there is one. Without one, our UID in the annotation
    identifies a retained child; without either, only the adoption annotation permits a change.
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
    """Describe the owner of an object of another owner, for a message to a user."""
    controller = controller_of(live)
    if controller is not None:
        return f"{controller.kind} {controller.name} (uid {controller.uid})"
    former = annotations_of(live).get(marks.owner_uid)
    if former:
        return f"a former owner (uid {former})"
    return "an unknown owner"
