"""The CustomResourceDefinition of OpenBaoTenant.

Uses contracts.api.schema.crd. Called by `python -m baoctl.generate crd`.
"""

from contracts.api.group import TENANT_KIND, TENANTS
from contracts.api.schema.crd import Column, Schema, definition, object_schema
from contracts.api.tenant import OpenBaoTenant

FIXED_MESSAGE = (
    "is immutable, because the objects in the namespace remain; create another OpenBaoTenant and "
    "delete this one"
)
SYSTEM_PREFIX = "kube-"
SYSTEM_MESSAGE = (
    "must not be a namespace of Kubernetes (kube-...), because its pods need more rights than a "
    "tenant has; choose another namespace"
)

_COLUMNS: tuple[Column, ...] = (
    ("Target", "string", ".spec.targetNamespace", "Namespace of the tenant.", 0),
    (
        "Provisioned",
        "boolean",
        ".status.provisioned",
        "Whether the operator serves clusters in the namespace.",
        0,
    ),
    (
        "Reason",
        "string",
        '.status.conditions[?(@.type=="Provisioned")].reason',
        "Reason of the condition Provisioned.",
        0,
    ),
    ("Age", "date", ".metadata.creationTimestamp", "Time since creation.", 0),
    ("Error", "string", ".status.lastError", "Last error.", 1),
)


def crd() -> Schema:
    """Return a new CustomResourceDefinition of OpenBaoTenant, which the caller may change."""
    schema = object_schema(OpenBaoTenant, TENANT_KIND)
    target = schema["properties"]["spec"]["properties"]["targetNamespace"]
    target["x-kubernetes-validations"] = [
        {"rule": "self == oldSelf", "message": FIXED_MESSAGE},
        {"rule": f"!self.startsWith('{SYSTEM_PREFIX}')", "message": SYSTEM_MESSAGE},
    ]
    return definition(TENANTS, ("obt",), _COLUMNS, schema)
