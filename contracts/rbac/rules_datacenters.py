"""Additional rights of an operator that manages datacenters: a table as in contracts.rbac.rules.

Called by contracts.installation. These rights apply to all namespaces, because a datacenter names
its own namespace. An installation without datacenters does not have them.
"""

from typing import Final

from contracts.api.group import GROUP
from contracts.rbac.rules import APPS, OWNED_VERBS, Right

DATACENTERS: Final[tuple[Right, ...]] = (
    Right(
        "The operator watches datacenters and the service sets that apply to them.",
        GROUP,
        ("bootstrapservicesets", "datacenters"),
        ("list", "watch"),
    ),
    Right("The operator sets the finalizer of datacenters.", GROUP, ("datacenters",), ("patch",)),
    Right(
        "The operator creates a BootstrapWorkload for each service of a datacenter.",
        GROUP,
        ("bootstrapworkloads",),
        OWNED_VERBS,
    ),
    Right(
        "The operator writes the status of datacenters and of their services.",
        GROUP,
        ("bootstrapworkloads/status", "datacenters/status"),
        ("patch",),
    ),
    Right(
        "Owner references with blockOwnerDeletion need the right to set finalizers on the owner.",
        GROUP,
        ("bootstrapworkloads/finalizers", "datacenters/finalizers"),
        ("update",),
    ),
    Right(
        "The operator manages the DaemonSets and Deployments of the services.",
        APPS,
        ("daemonsets", "deployments"),
        OWNED_VERBS,
    ),
)
"""In addition to the rights of the controller for clusters in all namespaces."""
