"""Decides whether a tenant owns its target namespace, and builds the objects in it. Pure.

Uses contracts.tenancy and contracts.rbac.rules. Called by managers.tenancy.reconcile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contracts import tenancy
from contracts.admission.tenants import OPERATOR_MESSAGE, TARGET_MESSAGE
from contracts.api.group import GROUP
from contracts.api.schema.tenant import SYSTEM_MESSAGE, SYSTEM_PREFIX
from contracts.api.tenant import (
    DEFAULT_LIMITS,
    DEFAULT_QUOTA,
    DEFAULT_REQUESTS,
    InvalidTenantError,
    OpenBaoTenant,
    TenantSpec,
)
from contracts.naming import labels
from contracts.rbac.rules import OBJECTS, OWN_WRITES, RBAC, Reads, as_read, rules
from contracts.tenancy import SecretAccess
from managers.tenancy.gate import target_of
from runtime.apply.intent import Intent
from runtime.builtin_kinds import ROLE, ROLE_BINDING
from runtime.outcome import Blocked
from runtime.types import Object, Resource, is_terminating, key_of, uid_of

QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas")
LIMIT_RANGE = Resource("", "v1", "LimitRange", "limitranges")

SECURITY_VIOLATION: Final = "SecurityViolation"
CONFLICT: Final = "Conflict"

POD_SECURITY: Final[Mapping[str, str]] = {
    f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")
}
POD_SECURITY_OWNER: Final = "openbao.org/pod-security"
"""Annotation of a Namespace: `external` if another controller manages its Pod Security level."""


@dataclass(frozen=True, slots=True)
class TenantInstallation:
    """The installation: its namespace, the ServiceAccount that gets RBAC, and its read verbs."""

    namespace: str
    controller: str
    reads: Reads


@dataclass(frozen=True, slots=True)
class NamespaceObjects:
    """The objects of a namespace, in the order of their creation.

    `absent` lists the objects that should not exist now: bindings, then their Roles.
    """

    roles: tuple[Intent, ...]
    bindings: tuple[Intent, ...]
    bounds: tuple[Intent, ...]
    absent: tuple[tuple[Resource, str], ...]


# --- ownership of the namespace -----------------------------------------------------------------


def violation(tenant: Object, installation: TenantInstallation) -> Blocked | None:
    """Return why a tenant may not request its namespace, regardless of other tenants."""
    target, home = target_of(tenant), key_of(tenant).namespace
    message = ""
    if home not in (installation.namespace, target):
        message = TARGET_MESSAGE
    elif target == installation.namespace:
        message = OPERATOR_MESSAGE
    elif target.startswith(SYSTEM_PREFIX):
        message = SYSTEM_MESSAGE
    if not message:
        return None
    return Blocked(SECURITY_VIOLATION, f"spec.targetNamespace: {message} (got {target})")


def owning_tenant(
    tenant: Object, others: Iterable[Object], installation: TenantInstallation
) -> Object | None:
    """Return the tenant that owns the namespace instead of this one; None if this one owns it.

    The oldest tenant owns it. Tenants that may not request the namespace do not count, or any user
    could lock others out. Tenants that are being deleted do not count either.
    """
    candidates = [
        other
        for other in others
        if not is_terminating(other)
        and violation(other, installation) is None
        and other is not tenant
    ]
    oldest = min((*candidates, tenant), key=_age)
    return None if uid_of(oldest) == uid_of(tenant) else oldest


def successor(
    tenant: Object, others: Iterable[Object], installation: TenantInstallation
) -> Object | None:
    """Return the tenant that takes over the namespace when this one is deleted.

    None if the spec of that tenant is invalid: it takes over nothing until a user corrects it.
    """
    candidates = [
        other
        for other in others
        if uid_of(other) != uid_of(tenant)
        and not is_terminating(other)
        and violation(other, installation) is None
    ]
    oldest = min(candidates, key=_age, default=None)
    return oldest if oldest is not None and _is_valid(oldest) else None


def predecessors(
    tenant: Object, others: Iterable[Object], installation: TenantInstallation
) -> frozenset[str]:
    """Return the owner UIDs whose objects this tenant may adopt: its own and those of tenants that
    are being deleted, if they were allowed to have the namespace."""
    terminating = (
        uid_of(other)
        for other in others
        if is_terminating(other) and violation(other, installation) is None
    )
    return frozenset((uid_of(tenant), *terminating))


def conflict(owner: Object) -> Blocked:
    """Return the outcome for a tenant whose namespace belongs to the older tenant `owner`."""
    return Blocked(
        CONFLICT,
        f"OpenBaoTenant {key_of(owner)} is older and owns namespace {target_of(owner)}: delete one "
        "of the two tenants",
    )


def _is_valid(tenant: Object) -> bool:
    try:
        OpenBaoTenant.from_object(tenant)
    except InvalidTenantError:
        return False
    return True


def _age(tenant: Object) -> tuple[str, str]:
    return str(tenant["metadata"].get("creationTimestamp") or ""), uid_of(tenant)


# --- objects of the namespace -------------------------------------------------------------------


def union(accesses: Iterable[SecretAccess]) -> SecretAccess:
    """Return the Secret access of all clusters of a namespace."""
    items = tuple(accesses)
    writers: frozenset[str] = frozenset().union(*(item.writers for item in items))
    readers: frozenset[str] = frozenset().union(*(item.readers for item in items))
    return SecretAccess(readers - writers, writers)


def desired_objects(
    namespace: str,
    spec: TenantSpec,
    secrets: SecretAccess,
    with_finalizer: bool,
    installation: TenantInstallation,
) -> NamespaceObjects:
    """Build every object of a namespace.

    `with_finalizer`: RBAC must exist until the clusters are deleted.
    """
    builder = _ObjectBuilder(namespace, with_finalizer, installation)
    roles = [
        builder.role(tenancy.TENANT_ROLE, rules(as_read(OWN_WRITES + OBJECTS, installation.reads)))
    ]
    bindings = [builder.binding(tenancy.TENANT_BINDING, tenancy.TENANT_ROLE)]
    absent: list[tuple[Resource, str]] = []
    for role, binding, content in (
        (tenancy.READER_ROLE, tenancy.READER_BINDING, _reader(secrets.readers)),
        (tenancy.WRITER_ROLE, tenancy.WRITER_BINDING, _writer(secrets.writers)),
    ):
        if content:
            roles.append(builder.role(role, content))
            bindings.append(builder.binding(binding, role))
        else:
            absent += [(ROLE_BINDING, binding), (ROLE, role)]
    bounds = (builder.quota(spec), builder.limits(spec))
    return NamespaceObjects(tuple(roles), tuple(bindings), bounds, tuple(absent))


def quota_obstacle(quota: Object) -> str:
    """Return why a quota blocks the creation of objects of our kinds; "" if it does not.

    The API server refuses objects that a quota limits and that kube-controller-manager has not
    counted yet ("status unknown for quota"). It starts to count a new kind half a minute after the
    creation of its definition.
    """
    usage = (quota.get("status") or {}).get("used") or {}
    uncounted = sorted(
        name for name in quota["spec"]["hard"] if name.endswith(f".{GROUP}") and name not in usage
    )
    if not uncounted:
        return ""
    return (
        f"kube-controller-manager has not counted {', '.join(uncounted)} for ResourceQuota "
        f"{key_of(quota).name} yet; until then the API server refuses new objects of these kinds"
    )


EVERYTHING: Final[tuple[tuple[Resource, str], ...]] = (
    *((ROLE_BINDING, name) for name in reversed(tenancy.BINDINGS)),
    *((ROLE, name) for name in reversed(tenancy.ROLES)),
    (QUOTA, tenancy.QUOTA),
    (LIMIT_RANGE, tenancy.LIMITS),
)
"""All objects of a tenant, in the order of their removal: bindings before their Roles."""


def _reader(names: frozenset[str]) -> list[dict[str, Any]]:
    return [_secrets(["get"], names)] if names else []


def _writer(names: frozenset[str]) -> list[dict[str, Any]]:
    if not names:
        return []
    # RBAC cannot restrict create by resource name.
    return [_secrets(["create"]), _secrets(["get", "patch"], names)]


def _secrets(verbs: Sequence[str], names: Iterable[str] = ()) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [""], "resources": ["secrets"]}
    if names:
        rule["resourceNames"] = sorted(names)
    return {**rule, "verbs": list(verbs)}


@dataclass(frozen=True, slots=True)
class _ObjectBuilder:
    namespace: str
    with_finalizer: bool
    installation: TenantInstallation

    def role(self, name: str, content: list[dict[str, Any]]) -> Intent:
        return self._object(ROLE, name, {"rules": content}, with_finalizer=self.with_finalizer)

    def binding(self, name: str, role: str) -> Intent:
        subject = {
            "kind": "ServiceAccount",
            "name": self.installation.controller,
            "namespace": self.installation.namespace,
        }
        content = {
            "roleRef": {"apiGroup": RBAC, "kind": ROLE.kind, "name": role},
            "subjects": [subject],
        }
        return self._object(ROLE_BINDING, name, content, with_finalizer=self.with_finalizer)

    def quota(self, spec: TenantSpec) -> Intent:
        quota = spec.quota
        content: dict[str, Any] = {"hard": dict(quota.hard if quota else DEFAULT_QUOTA)}
        if quota and quota.scopes:
            content["scopes"] = list(quota.scopes)
        if quota and quota.scope_selector:
            content["scopeSelector"] = quota.scope_selector.to_object()
        return self._object(QUOTA, tenancy.QUOTA, {"spec": content})

    def limits(self, spec: TenantSpec) -> Intent:
        if spec.limit_range is not None:
            items = [item.to_object() for item in spec.limit_range.limits]
        else:
            items = [
                {
                    "type": "Container",
                    "default": dict(DEFAULT_LIMITS),
                    "defaultRequest": dict(DEFAULT_REQUESTS),
                }
            ]
        return self._object(LIMIT_RANGE, tenancy.LIMITS, {"spec": {"limits": items}})

    def _object(
        self,
        resource: Resource,
        name: str,
        content: Mapping[str, Any],
        *,
        with_finalizer: bool = False,
    ) -> Intent:
        metadata: Object = {
            "name": name,
            "namespace": self.namespace,
            # Never the label of a cluster: these objects outlive each cluster.
            "labels": {labels.NAME: labels.OPERATOR, labels.MANAGED_BY: labels.OPERATOR},
        }
        if with_finalizer:
            metadata["finalizers"] = [tenancy.GRANT_FINALIZER]
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": metadata,
            **content,
        }
        return Intent(resource, body)


# --- the Namespace ------------------------------------------------------------------------------


def pod_security_missing(namespace: Object) -> bool:
    """Return whether the operator manages the Pod Security labels and has to correct them."""
    metadata = namespace["metadata"]
    if (metadata.get("annotations") or {}).get(POD_SECURITY_OWNER) == "external":
        return False
    observed = metadata.get("labels") or {}
    return any(observed.get(key) != level for key, level in POD_SECURITY.items())
