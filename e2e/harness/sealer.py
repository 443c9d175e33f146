"""An OpenBao cluster that unseals others: one server with a transit key and a login for clients."""

import base64
from dataclasses import dataclass
from typing import Any

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness.clusters import Cluster
from e2e.harness.installation import as_data
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from runtime.builtin_kinds import SECRET

SEALER, CREDENTIALS, KEY = "sealer", "seal-login", "autounseal"
POLICY = "".join(
    f'path "transit/{verb}/{KEY}" {{ capabilities = ["update"] }}\n'
    for verb in ("encrypt", "decrypt")
)


@dataclass(frozen=True, slots=True)
class Sealer:
    """The unsealing OpenBao: the token of its clients, and its CA."""

    cluster: Cluster
    token: str
    authority: str

    def unseal_spec(self) -> dict[str, Any]:
        """spec.unseal of a cluster that it unseals."""
        host = names.service_dns(names.public_service(SEALER), self.cluster.namespace)
        block = {"address": f"https://{host}:8200", "keyName": KEY, "mountPath": "transit/"}
        return {
            "type": "transit",
            "transit": block,
            "credentialsSecretRef": {"name": CREDENTIALS},
        }

    def credentials(self) -> Object:
        """The Secret that spec.unseal references."""
        metadata = {"name": CREDENTIALS, "namespace": self.cluster.namespace}
        data = {"token": as_data(self.token), "ca.crt": as_data(self.authority)}
        return {"metadata": metadata, "data": data}


def make_sealer(api: Api, namespace: str, seconds: float = 180.0) -> Sealer:
    """Create it, wait until it serves, and create the key."""
    api.create(CLUSTERS, manifest(namespace, SEALER))
    cluster = Cluster(api, namespace, SEALER)
    cluster.await_available(seconds)
    root = _entry(cluster, names.root_token_secret(SEALER), "token")
    server = cluster.server()
    server.post("sys/mounts/transit", root, {"type": "transit"})
    server.post(f"transit/keys/{KEY}", root, {})
    server.post("sys/policies/acl/unseal", root, {"policy": POLICY})
    parameters = {"policies": ["unseal"], "no_parent": True, "period": "24h"}
    token = server.post("auth/token/create", root, parameters)["auth"]["client_token"]
    authority = _entry(cluster, names.tls_ca_secret(SEALER), "ca.crt")
    return Sealer(cluster, str(token), authority)


def _entry(cluster: Cluster, secret: str, key: str) -> str:
    live = cluster.api.get(SECRET, cluster.namespace, secret)
    return base64.b64decode(live["data"][key]).decode()
