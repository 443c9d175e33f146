"""Additional rights of the operator where it manages datacenters: a table, as
contracts.rbac.rules.

Called by contracts.installation. These rights hold everywhere, because a datacenter names its own
namespace: an installation without datacenters has none of them.
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
        "The services run in DaemonSets and Deployments.",
        APPS,
        ("daemonsets", "deployments"),
        OWNED_VERBS,
    ),
)
"""In addition to those of the controller for clusters of every namespace, which cover the rest."""
