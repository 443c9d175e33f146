"""The reasons that the condition Provisioned of an OpenBaoTenant may give.

Uses contracts.conditions.reason. Read by managers.tenancy, which gives no other, and by
docs/tenants.md.
"""

from typing import Final

from contracts.conditions.reason import NOTHING, Reason

PROVISIONED: Final = "Provisioned"
"""The one condition type of a tenant."""

_REASONS = (
    Reason("Provisioned", "Clusters of the namespace are served.", NOTHING),
    Reason(
        "Provisioning",
        "Rights and bounds are being written into the namespace, or its quota is being counted.",
        "Wait; if it lasts more than a minute, read the log of the provisioner.",
    ),
    Reason(
        "Deleting",
        "The tenant is being deleted and its namespace still has clusters, which go on until they "
        "are gone.",
        "Delete the clusters that the message names, or wait for them.",
    ),
    Reason(
        "SecurityViolation",
        "The tenant asks for a namespace that it may not ask for; nothing was written there.",
        "Delete it. A tenant for your own namespace belongs into that namespace; one for another "
        "namespace into the operator's, where an administrator puts it.",
    ),
    Reason(
        "Conflict",
        "An older OpenBaoTenant targets the same namespace, and it alone counts.",
        "Delete one of the two.",
    ),
    Reason(
        "InvalidSpec",
        "The spec cannot be read.",
        "Correct the field that the message names.",
    ),
    Reason(
        "NamespaceNotFound",
        "The namespace does not exist.",
        "Create it; the tenant notices within a minute.",
    ),
    Reason(
        "NamespaceTerminating",
        "The namespace is being deleted, and nothing can be created in it.",
        "Wait until it is gone, or delete the tenant.",
    ),
    Reason(
        "ForeignObject",
        "An object of the name that the tenant needs belongs to somebody else, and stays as it is.",
        "Delete the object that the message names, or hand it over: annotate it with "
        "openbao.org/adopt=<name of the tenant>.",
    ),
    Reason(
        "RejectedByServer",
        "The API server refuses an object of the tenant.",
        "Do what the message says: a right that the delegate lacks, a policy, or a bound in "
        "spec.quota or spec.limitRange that cannot be.",
    ),
)
TENANT_REASONS: Final = {reason.name: reason for reason in _REASONS}
