"""The reasons of the condition Provisioned of an OpenBaoTenant.

Uses contracts.conditions.reason. Read by managers.tenancy, which uses no others; docs/tenants.md
lists them.
"""

from typing import Final

from contracts.conditions.reason import NO_ACTION, Reason

PROVISIONED: Final = "Provisioned"
"""The one condition type of a tenant."""

_REASONS = (
    Reason("Provisioned", "The operator manages the clusters of the namespace.", NO_ACTION),
    Reason(
        "Provisioning",
        "The provisioner is writing Roles and limits into the namespace, or Kubernetes is "
        "calculating its quota.",
        "Wait. If it takes more than a minute, read the log of Deployment "
        "openbao-operator-provisioner.",
    ),
    Reason(
        "Deleting",
        "The tenant is being deleted, and its namespace still contains clusters. The operator "
        "manages them until they are deleted.",
        "Delete the clusters that the message names, or wait for their deletion.",
    ),
    Reason(
        "SecurityViolation",
        "The tenant requests a namespace that it is not allowed to request; nothing was written "
        "there.",
        "Delete the tenant. Create a tenant for your own namespace in that namespace. A tenant "
        "for another namespace must be created in the namespace of the operator, by an "
        "administrator.",
    ),
    Reason(
        "Conflict",
        "An older OpenBaoTenant targets the same namespace and takes precedence.",
        "Delete one of the two; the message names the other.",
    ),
    Reason(
        "InvalidSpec",
        "The spec is invalid.",
        "Correct the field that the message names.",
    ),
    Reason(
        "NamespaceNotFound",
        "The namespace does not exist.",
        "Create the namespace; the provisioner detects it within a minute.",
    ),
    Reason(
        "NamespaceTerminating",
        "The namespace is being deleted, so nothing can be created in it.",
        "Wait until the namespace is deleted, or delete the tenant. `kubectl get namespace "
        "<namespace> -o yaml` names the remaining objects.",
    ),
    Reason(
        "ForeignObject",
        "An object with a name that the tenant needs has another owner; the provisioner does not "
        "change it.",
        "Delete the object that the message names, or let the tenant adopt it: annotate it with "
        "openbao.org/adopt=<name of the tenant>.",
    ),
    Reason(
        "RejectedByServer",
        "The API server rejects an object of the tenant.",
        "Correct spec.quota or spec.limitRange if the message says that it is invalid. If it "
        "says `forbidden`, apply the manifests of the operator again: ServiceAccount "
        "openbao-operator-provisioner-delegate lacks a right. If it names an admission policy, "
        "change that policy. The provisioner retries every minute.",
    ),
)
TENANT_REASONS: Final = {reason.name: reason for reason in _REASONS}
