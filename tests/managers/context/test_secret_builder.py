"""managers.context.secret_builder: all our Secrets have owner, labels and annotation."""

import base64

from contracts.naming import labels
from managers.context.context import MARKS
from managers.context.secret_builder import secret_object
from runtime.apply.ownership import Ownership, ownership_of
from tests import gen

OWNER = gen.cluster().owner()


def test_it_is_ours_with_and_without_its_owner_reference() -> None:
    secret = secret_object(OWNER, "s", {"key": b"\x00\xff"})
    assert ownership_of(secret, OWNER, MARKS) is Ownership.MINE
    del secret["metadata"]["ownerReferences"]
    assert ownership_of(secret, OWNER, MARKS) is Ownership.MINE
    stranger = gen.cluster().with_metadata(uid="uid-2").owner()
    assert ownership_of(secret, stranger, MARKS) is Ownership.FOREIGN


def test_bytes_survive() -> None:
    secret = secret_object(OWNER, "s", {"key": bytes(range(256))})
    assert base64.b64decode(secret["data"]["key"]) == bytes(range(256))


def test_it_carries_the_labels_of_the_cluster() -> None:
    secret = secret_object(OWNER, "s", {})
    assert secret["metadata"]["labels"] == labels.base("x")
    assert secret["metadata"]["namespace"] == gen.NAMESPACE


def test_type_and_immutability_are_parameters() -> None:
    assert secret_object(OWNER, "s", {})["type"] == "Opaque"
    assert "immutable" not in secret_object(OWNER, "s", {})
    secret = secret_object(OWNER, "s", {}, kind="kubernetes.io/tls", immutable=True)
    assert (secret["type"], secret["immutable"]) == ("kubernetes.io/tls", True)
