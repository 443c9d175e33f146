"""The CustomResourceDefinition of OpenBaoTenant.

Uses contracts.api.schema.crd. Called by `python -m baoctl.generate crd`.
"""

from contracts.api.group import TENANT_KIND, TENANTS
from contracts.api.schema.crd import Column, Schema, definition, object_schema
from contracts.api.tenant import OpenBaoTenant

FIXED_MESSAGE = (
    "must stay as it is, because the namespace keeps what was prepared in it; make another "
    "OpenBaoTenant and delete this one"
)
SYSTEM_PREFIX = "kube-"
SYSTEM_MESSAGE = (
    "must be no namespace of Kubernetes itself (kube-...), because its pods need more than tenants "
    "may; name another one"
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
    """The CustomResourceDefinition of OpenBaoTenant, fresh and safe to change."""
    schema = object_schema(OpenBaoTenant, TENANT_KIND)
    target = schema["properties"]["spec"]["properties"]["targetNamespace"]
    target["x-kubernetes-validations"] = [
        {"rule": "self == oldSelf", "message": FIXED_MESSAGE},
        {"rule": f"!self.startsWith('{SYSTEM_PREFIX}')", "message": SYSTEM_MESSAGE},
    ]
    return definition(TENANTS, ("obt",), _COLUMNS, schema)
