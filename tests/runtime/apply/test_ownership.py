"""runtime.apply.ownership: the owner of an object, by uid and never by name."""

from typing import Any, NamedTuple

import pytest

from runtime.apply.ownership import Owner, Ownership, OwnershipKeys, describe_owner, ownership_of
from runtime.types import Object, ObjectKey, controller_of

OWNER = Owner("shop.example.com/v1", "Shop", "ns", "corner", "uid-1")
MARKS = OwnershipKeys("example.com/owner", "example.com/intent", "example.com/adopt")
OURS = OWNER.reference()
THEIRS = {**OURS, "uid": "uid-2"}


def live(
    *references: Object, owner: str | None = None, adopt: str | None = None, **more: Any
) -> Object:
    annotations = {MARKS.owner_uid: owner, MARKS.adopt: adopt}
    return {
        "metadata": {
            "name": "child",
            "ownerReferences": list(references),
            "annotations": {key: text for key, text in annotations.items() if text is not None},
            **more,
        }
    }


class Claim(NamedTuple):
    """An object, its ownership, and the description of its owner."""

    obj: Object
    claim: Ownership
    described: str


CLAIMS: dict[str, Claim] = {
    "our uid as controller is ours": Claim(live(OURS), Ownership.MINE, "Shop corner (uid uid-1)"),
    "the same name with another uid is foreign": Claim(
        live(THEIRS), Ownership.FOREIGN, "Shop corner (uid uid-2)"
    ),
    "a controller takes precedence over our old annotation": Claim(
        live(THEIRS, owner="uid-1"), Ownership.FOREIGN, "Shop corner (uid uid-2)"
    ),
    "a controller takes precedence over the adoption": Claim(
        live(THEIRS, adopt="corner"), Ownership.FOREIGN, "Shop corner (uid uid-2)"
    ),
    "an owner that is not the controller is ignored": Claim(
        live({**OURS, "controller": False}), Ownership.FOREIGN, "an unknown owner"
    ),
    "our annotation identifies a child without reference": Claim(
        live(owner="uid-1"), Ownership.MINE, "a former owner (uid uid-1)"
    ),
    "the annotation of a former object with our name is foreign": Claim(
        live(owner="uid-0"), Ownership.FOREIGN, "a former owner (uid uid-0)"
    ),
    "an object annotated for adoption by name is adoptable": Claim(
        live(adopt="corner"), Ownership.ADOPTABLE, "an unknown owner"
    ),
    "a child of a former object may be adopted": Claim(
        live(owner="uid-0", adopt="corner"), Ownership.ADOPTABLE, "a former owner (uid uid-0)"
    ),
    "an adoption by another name is ignored": Claim(
        live(adopt="other"), Ownership.FOREIGN, "an unknown owner"
    ),
    "labels are ignored": Claim(
        live(labels={"app.kubernetes.io/instance": "corner"}),
        Ownership.FOREIGN,
        "an unknown owner",
    ),
    "an object without metadata is foreign": Claim({}, Ownership.FOREIGN, "an unknown owner"),
}


@pytest.mark.parametrize(("obj", "claim", "described"), CLAIMS.values(), ids=CLAIMS.keys())
def test_claim(obj: Object, claim: Ownership, described: str) -> None:
    assert ownership_of(obj, OWNER, MARKS) is claim
    assert describe_owner(obj, MARKS) == described


def test_an_empty_uid_never_matches() -> None:
    """An object without the annotation must not match an owner without uid."""
    nobody = Owner("shop.example.com/v1", "Shop", "ns", "", "")
    assert ownership_of(live(), nobody, MARKS) is Ownership.FOREIGN


def test_the_reference_makes_the_owner_the_controller() -> None:
    controller = controller_of(live(OWNER.reference()))
    assert controller is not None
    assert (controller.api_version, controller.kind, controller.name, controller.uid) == (
        "shop.example.com/v1",
        "Shop",
        "corner",
        "uid-1",
    )
    assert OWNER.reference()["blockOwnerDeletion"] is True


def test_an_owner_has_an_identity_for_events() -> None:
    assert OWNER.key == ObjectKey("ns", "corner")
    assert OWNER.identity() == {
        "apiVersion": "shop.example.com/v1",
        "kind": "Shop",
        "metadata": {"namespace": "ns", "name": "corner", "uid": "uid-1"},
    }
