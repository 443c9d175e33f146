"""A peer to remove, and what the servers say of it."""

from typing import Any

from contracts.naming import labels
from contracts.records.desired import Effect
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
WHERE: dict[str, Any] = {
    "address": "10.0.0.1",
    "authority": "the authority",
    "server_name": "the name",
    "claim": "data-x-2",
    "claim_uid": "uid-claim-2",
}
REMOVE = Effect("remove-peer", "x-2", "uid-x-2", WHERE)
