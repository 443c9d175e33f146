"""Users of a real API server: ServiceAccounts with roles, and clients with their tokens."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yarl import URL

from e2e.rig import Rig
from runtime.client.client import Client
from runtime.client.credentials import in_cluster
from runtime.clock import SystemClock
from runtime.types import Object

_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Account:
    """A ServiceAccount; `folder` has the files that a pod of it would mount."""

    name: str
    namespace: str
    server: str
    folder: Path

    @property
    def user(self) -> str:
        """Its user name in the API server."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    def client(self) -> Client:
        """A client with its credentials; the caller closes it."""
        server = URL(self.server)
        environ = {
            "KUBERNETES_SERVICE_HOST": str(server.host),
            "KUBERNETES_SERVICE_PORT": str(server.port),
        }
        credentials = in_cluster(SystemClock(), root=self.folder, environ=environ)
        return Client(credentials, user_agent="itest", clock=SystemClock())


def make(rig: Rig, namespace: str, name: str, folder: Path, roles: Sequence[str] = ()) -> Account:
    """Create the account, and bind ClusterRoles to it in its namespace; those with the prefix
    `cluster:` are bound cluster-wide."""
    bindings = [_binding(namespace, name, role) for role in roles]
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
    }
    listed = {"apiVersion": "v1", "kind": "List", "items": [account, *bindings]}
    rig.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(listed))
    token = rig.kubectl("create", "token", name, "-n", namespace, "--duration", "1h")
    home = folder / namespace / name
    home.mkdir(parents=True)
    (home / "token").write_text(token)
    (home / "namespace").write_text(namespace)
    (home / "ca.crt").write_bytes((rig.paths.pki / "ca.crt").read_bytes())
    return Account(name, namespace, rig.server, home)


@asynccontextmanager
async def client_with(
    rig: Rig, namespace: str, folder: Path, role: str, *rules: Object
) -> AsyncIterator[Client]:
    """A client of an account that has only this ClusterRole, in its namespace."""
    body = {"metadata": {"name": role}, "rules": rules}
    text = json.dumps({"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", **body})
    rig.kubectl("apply", "--server-side", "-f", "-", input=text)
    client = make(rig, namespace, "reader", folder, (role,)).client()
    try:
        yield client
    finally:
        await client.close()


def _binding(namespace: str, account: str, role: str) -> dict[str, Any]:
    wide = role.startswith("cluster:")
    role = role.removeprefix("cluster:")
    name = f"{account}-{role}".replace(":", "-")
    place = {"name": f"{namespace}-{name}"} if wide else {"name": name, "namespace": namespace}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding" if wide else "RoleBinding",
        "metadata": place,
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
