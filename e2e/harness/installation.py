"""Installs the operator without its Deployment: CRDs, ServiceAccount, RBAC, and kubeconfigs.

Uses the manifests of deploy, so tests run with the shipped RBAC.
"""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from contracts.naming import installation as names
from e2e.harness.kubernetes import Api
from e2e.rig import Rig
from e2e.rig.kube import ApiError, wait_established
from e2e.rig.paths import REPOSITORY
from runtime.builtin_kinds import ROLE_BINDING, SERVICE_ACCOUNT
from runtime.types import Resource

NAMESPACE = names.NAMESPACE
ACCOUNT = names.CONTROLLER
LEASE_ROLE = "openbao-operator-leader-election"
TOKEN_ROLE = "openbao-operator-tokens"  # noqa: S105  the name of a Role
SHARDS_ROLE = "openbao-operator-shards"
CLUSTER_ROLE = "openbao-operator"
BASE = REPOSITORY / "deploy" / "base"
RIGHTS = REPOSITORY / "deploy" / "rbac"
CRD, BACKUP_CRD, RESTORE_CRD = (
    REPOSITORY / "config" / "crd" / f"openbao.org_{kind}.yaml"
    for kind in ("openbaoclusters", "openbaobackups", "openbaorestores")
)

_BINDING = ROLE_BINDING
_CLUSTER_BINDING = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)


def user_name(account: str = ACCOUNT) -> str:
    """Return the user name of a ServiceAccount of the operator, as in the audit log."""
    return f"system:serviceaccount:{NAMESPACE}:{account}"


def install(rig: Rig) -> None:
    """Apply CRDs, namespace, ServiceAccount and RBAC; everything but the Deployment."""
    files = [part for file in (CRD, BACKUP_CRD, RESTORE_CRD) for part in ("-f", str(file))]
    rig.kubectl("apply", "--server-side", *files)
    wait_established(rig.kubectl, *files)
    rig.kubectl("apply", "-f", str(BASE / "namespace.yaml"))
    rig.kubectl("-n", NAMESPACE, "apply", "-f", str(BASE / "service_account.yaml"))
    apply_rights(rig, "own-namespace", "cluster-wide")


def apply_rights(rig: Rig, *parts: str) -> None:
    """Apply folders of deploy/rbac as shipped; objects that are no longer shipped are deleted."""
    files = [part for name in parts for part in ("-f", str(RIGHTS / name / "rbac.yaml"))]
    rig.kubectl("apply", *files)


def add_account(api: Api, account: str, *roles: str) -> None:
    """Add a ServiceAccount with the same permissions, to distinguish two processes.

    `roles` are further ones of the operator's namespace.
    """
    metadata = {"name": account, "namespace": NAMESPACE}
    subject = {"kind": "ServiceAccount", **metadata}
    cluster_role = {"apiGroup": _BINDING.group, "kind": "ClusterRole", "name": CLUSTER_ROLE}
    objects: list[tuple[Resource, dict[str, Any]]] = [
        (SERVICE_ACCOUNT, {"metadata": metadata}),
        (
            _CLUSTER_BINDING,
            {"metadata": {"name": account}, "roleRef": cluster_role, "subjects": [subject]},
        ),
    ]
    for name in (LEASE_ROLE, TOKEN_ROLE, *roles):
        role = {**cluster_role, "kind": "Role", "name": name}
        where = {**metadata, "name": f"{account}-{name}"}
        objects.append((_BINDING, {"metadata": where, "roleRef": role, "subjects": [subject]}))
    for resource, body in objects:
        try:
            api.create(resource, body)
        except ApiError as error:
            # A kept rig has it from the last session.
            if error.code != 409:
                raise


@dataclass(frozen=True, slots=True)
class Identity:
    """The credentials of an operator process."""

    user: str
    """Its name in the audit log."""
    kubeconfig: Path


def identity(rig: Rig, api: Api, folder: Path, account: str = ACCOUNT) -> Identity:
    """Write the kubeconfig for one ServiceAccount.

    In OpenBao it is always the account of the operator: clusters trust no other, and the process
    requests tokens for it.
    """
    admin = orjson.loads(rig.kubeconfig.read_bytes())
    token = api.token(NAMESPACE, account)
    context = {"cluster": admin["clusters"][0]["name"], "user": account}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": account,
        "clusters": admin["clusters"],
        "users": [{"name": account, "user": {"token": token}}],
        "contexts": [{"name": account, "context": context}],
    }
    account_identity = Identity(user_name(account), folder / f"{account}.kubeconfig")
    account_identity.kubeconfig.write_bytes(orjson.dumps(kubeconfig))
    return account_identity


def as_data(text: str | bytes) -> str:
    """Encode a value for `data` of a Secret."""
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()
