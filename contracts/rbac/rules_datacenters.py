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
        "Which datacenters there are, and which services their kind gets.",
        GROUP,
        ("bootstrapservicesets", "datacenters"),
        ("list", "watch"),
    ),
    Right("The finalizer of a datacenter.", GROUP, ("datacenters",), ("patch",)),
    Right(
        "One for each service of each datacenter.",
        GROUP,
        ("bootstrapworkloads",),
        OWNED_VERBS,
    ),
    Right(
        "What is said of a datacenter and of its services.",
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
    Right("What runs the services.", APPS, ("daemonsets", "deployments"), OWNED_VERBS),
)
"""In addition to those of the controller for clusters of every namespace, which cover the rest."""
