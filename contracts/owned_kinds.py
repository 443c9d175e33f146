"""The kinds of a cluster's objects: which are pruned, which are owned, which are watched.

Pure data, light to import: a process that waits for the lease reads it, too.
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
# What is read of a volume claim in addition to its metadata.
CLAIM_FIELDS: Final = (
    "spec.accessModes",
    "spec.resources",
    "spec.storageClassName",
    "status.capacity",
    "status.conditions",
    "status.phase",
)
# What is read of a pod in addition to its metadata.
POD_FIELDS: Final = (
    "spec.containers",
    "spec.ephemeralContainers",
    "spec.nodeName",
    "spec.schedulingGates",
    "spec.serviceAccountName",
    "spec.volumes",
    "status",
)
# What is watched by our label, and which fields of it are kept; none named: all.
CHILDREN: Final[tuple[tuple[Resource, tuple[str, ...]], ...]] = (
    *((resource, ()) for resource in OWNED),
    (POD, POD_FIELDS),
    (PVC, CLAIM_FIELDS),
)
