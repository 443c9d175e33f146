"""The operator as a cluster knows it: CRD, ServiceAccount, rights, and kubeconfigs to act as it.

The manifests are those of deploy/base, so the rights under test are those that are shipped.
"""

import base64
from dataclasses import dataclass
from pathlib import Path

import orjson

from e2e.harness.bao import AUDIENCE
from e2e.harness.kubernetes import Api
from e2e.rig import Rig
from e2e.rig.kube import ESTABLISHED, ApiError
from e2e.rig.paths import REPOSITORY
from runtime.resources import ROLE_BINDING, SERVICE_ACCOUNT
from runtime.types import Resource

NAMESPACE = "openbao-operator-system"
ACCOUNT = "openbao-operator-controller"
LEASE_ROLE = "openbao-operator-leader-election"
CLUSTER_ROLE = "openbao-operator"
BASE = REPOSITORY / "deploy" / "base"
CRD = REPOSITORY / "config" / "crd" / "openbao.org_openbaoclusters.yaml"

_BINDING = ROLE_BINDING
_CLUSTER_BINDING = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)


def user_name(account: str = ACCOUNT) -> str:
    """Return the name under which the audit log knows a ServiceAccount of the operator."""
    return f"system:serviceaccount:{NAMESPACE}:{account}"


def install(rig: Rig) -> None:
    """Apply CRD, namespace, ServiceAccount and rights; everything but the Deployment."""
    rig.kubectl("apply", "--server-side", "-f", str(CRD))
    rig.kubectl("wait", ESTABLISHED, "--timeout=60s", "-f", str(CRD))
    rig.kubectl("apply", "-f", str(BASE / "namespace.yaml"))
    files = [str(BASE / name) for name in ("service_account.yaml", "rbac.yaml")]
    rig.kubectl("-n", NAMESPACE, "apply", "-f", files[0], "-f", files[1])


def add_account(api: Api, account: str) -> None:
    """Add another ServiceAccount with the operator's rights, to tell two processes apart."""
    metadata = {"name": account, "namespace": NAMESPACE}
    subject = {"kind": "ServiceAccount", **metadata}
    group = _BINDING.group
    wanted = (
        (SERVICE_ACCOUNT, {"metadata": metadata}),
        (
            _BINDING,
            {
                "metadata": metadata,
                "roleRef": {"apiGroup": group, "kind": "Role", "name": LEASE_ROLE},
                "subjects": [subject],
            },
        ),
        (
            _CLUSTER_BINDING,
            {
                "metadata": {"name": account},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": CLUSTER_ROLE},
                "subjects": [subject],
            },
        ),
    )
    for resource, body in wanted:
        try:
            api.create(resource, body)
        except ApiError as error:
            # A rig that was kept has it from the last session.
            if error.code != 409:
                raise


@dataclass(frozen=True, slots=True)
class Identity:
    """Files with which a process acts as the operator."""

    user: str
    """Its name in the audit log."""
    kubeconfig: Path
    bao_token: Path
    """The token for OpenBao, which a pod would get by a projected volume."""


def identity(rig: Rig, api: Api, folder: Path, account: str = ACCOUNT) -> Identity:
    """Write the files for one ServiceAccount.

    The login in OpenBao is always that of the operator's own account: clusters trust no other.
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
    made = Identity(
        user_name(account), folder / f"{account}.kubeconfig", folder / f"{account}.bao-token"
    )
    made.kubeconfig.write_bytes(orjson.dumps(kubeconfig))
    made.bao_token.write_text(api.token(NAMESPACE, ACCOUNT, AUDIENCE))
    return made


def as_data(text: str | bytes) -> str:
    """Encode a value for `data` of a Secret."""
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()
