"""The kinds of a cluster's objects: which are pruned, which are owned, which are watched.

Pure data with few imports, because a process that waits for the lease imports it too.
"""

from typing import Final

from runtime.builtin_kinds import (
    CONFIG_MAP,
    INGRESS,
    NETWORK_POLICY,
    POD,
    POD_DISRUPTION_BUDGET,
    PVC,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
)
from runtime.types import Resource

# Kinds that are pruned when a complete plan does not name an object. Volumes, keys and the
# StatefulSet are never pruned.
PRUNED: Final[tuple[Resource, ...]] = (
    CONFIG_MAP,
    INGRESS,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
)
OWNED: Final[tuple[Resource, ...]] = (*PRUNED, STATEFUL_SET)
# Fields of a PVC that the operator reads, besides its metadata.
CLAIM_FIELDS: Final = (
    "spec.accessModes",
    "spec.resources",
    "spec.storageClassName",
    "status.capacity",
    "status.conditions",
    "status.phase",
)
# Fields of a pod that the operator reads, besides its metadata.
POD_FIELDS: Final = (
    "spec.containers",
    "spec.ephemeralContainers",
    "spec.nodeName",
    "spec.schedulingGates",
    "spec.serviceAccountName",
    "spec.volumes",
    "status",
)
# Kinds that are watched by our label, and the fields that the cache keeps; empty: all fields.
CHILDREN: Final[tuple[tuple[Resource, tuple[str, ...]], ...]] = (
    *((resource, ()) for resource in OWNED),
    (POD, POD_FIELDS),
    (PVC, CLAIM_FIELDS),
)
