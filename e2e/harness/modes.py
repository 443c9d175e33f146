"""ServiceAccounts and RBAC for operators in other modes than cluster-wide.

The RBAC is built from the same tables as the shipped manifests (contracts.installation), for
separate accounts: permissions of one mode cannot hide missing ones of another.
"""

from collections.abc import Sequence
from pathlib import Path

from contracts.installation import MULTI_TENANT, NAMESPACES, RbacManifest, Role
from contracts.rbac.rules import Right, rules
from e2e.harness.installation import LEASE_ROLE, NAMESPACE, TOKEN_ROLE, Identity, identity
from e2e.harness.kubernetes import Api, ApiError, Object
from e2e.rig import Rig
from e2e.rig.kube import wait_established
from e2e.rig.paths import REPOSITORY
from runtime.builtin_kinds import ROLE, ROLE_BINDING, SERVICE, SERVICE_ACCOUNT
from runtime.types import Resource, key_of

GROUP = ROLE.group
CLUSTER_ROLE = Resource(GROUP, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_BINDING = Resource(
    GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
IN_EACH = "bound elsewhere"
TENANT_CRD = REPOSITORY / "config" / "crd" / "openbao.org_openbaotenants.yaml"


def tenant_controller(rig: Rig, api: Api, folder: Path) -> Identity:
    """Create an account with the RBAC of multi-tenant mode, and the CRD that it watches."""
    rig.kubectl("apply", "--server-side", "-f", str(TENANT_CRD))
    wait_established(rig.kubectl, "-f", str(TENANT_CRD))
    return _account(rig, api, folder, "e2e-tenants", MULTI_TENANT)


def namespace_controller(rig: Rig, api: Api, folder: Path) -> Identity:
    """Create an account with the RBAC of mode namespaces, without a binding in a namespace."""
    return _account(rig, api, folder, "e2e-namespaces", NAMESPACES)


def bind_namespace(api: Api, namespace: str) -> None:
    """Bind the permissions of that account in one namespace."""
    role = ("ClusterRole", f"e2e-{_in_each(NAMESPACES).name}")
    _create_or_update(api, ROLE_BINDING, _binding("e2e-namespaces", role, namespace))


def as_in_a_pod(api: Api) -> dict[str, str]:
    """The variables that the kubelet sets; without them the operator reads the Service."""
    service = api.get(SERVICE, "default", "kubernetes")
    return {"KUBERNETES_SERVICE_HOST": str(service["spec"]["clusterIP"])}


def _in_each(part: RbacManifest) -> Role:
    return next(held for held in part.roles if held.scope == IN_EACH)


def _account(rig: Rig, api: Api, folder: Path, account: str, part: RbacManifest) -> Identity:
    _create_or_update(api, SERVICE_ACCOUNT, {"metadata": {"name": account, "namespace": NAMESPACE}})
    for role in (LEASE_ROLE, TOKEN_ROLE):
        _create_or_update(api, ROLE_BINDING, _binding(account, ("Role", role), NAMESPACE, role))
    for held in part.roles:
        name = f"{account}-{held.name}" if held.scope != IN_EACH else f"e2e-{held.name}"
        if held.scope == "own namespace":
            _create_or_update(api, ROLE, _role(name, held.rights, NAMESPACE))
            _create_or_update(api, ROLE_BINDING, _binding(account, ("Role", name), NAMESPACE, name))
            continue
        _create_or_update(api, CLUSTER_ROLE, _role(name, held.rights))
        if held.scope == "everywhere":
            _create_or_update(
                api, CLUSTER_BINDING, _binding(account, ("ClusterRole", name), None, name)
            )
    return identity(rig, api, folder, account)


def _role(name: str, rights: Sequence[Right], namespace: str | None = None) -> Object:
    return {"metadata": _metadata(name, namespace), "rules": rules(rights)}


def _metadata(name: str, namespace: str | None) -> Object:
    return {"name": name} if namespace is None else {"name": name, "namespace": namespace}


def _binding(
    account: str, role: tuple[str, str], namespace: str | None, name: str | None = None
) -> Object:
    kind, target = role
    return {
        "metadata": _metadata(f"{account}-{name or target}", namespace),
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": target},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    }


def _create_or_update(api: Api, resource: Resource, body: Object) -> None:
    """Create it, or update the existing one of a kept rig."""
    try:
        api.create(resource, body)
    except ApiError as error:
        if error.code != 409:
            raise
        key = key_of(body)
        change: Object = {name: body[name] for name in ("rules", "subjects") if name in body}
        api.patch(resource, key.namespace or None, key.name, change)
