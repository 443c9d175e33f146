"""A peer to remove, and what the servers say of it."""

from contracts.naming import labels
from contracts.records.effects import RemovePeer, ServerEndpoint
from tests import gen

MEANT = gen.resolved(gen.cluster())
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {
        "name": "data-x-2",
        "namespace": gen.NAMESPACE,
        "uid": "uid-claim-2",
        "annotations": {labels.OWNER_UID: "uid-x"},
    },
}
LEADER = ServerEndpoint("10.0.0.1", "the authority", "the name")
REMOVE = RemovePeer("x-2", "uid-x-2", LEADER, claim="data-x-2", claim_uid="uid-claim-2")
