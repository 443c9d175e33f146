"""An OpenBao client: HTTPS to the address of one pod, verified with the CA of the cluster.

Pods are reached through the route that the rig adds on the host. API: OpenBao 2.4.0.
"""

import base64
import http.client
import socket
import ssl
from typing import Any

import orjson

from contracts.naming import names
from e2e.harness.kubernetes import Api
from runtime.builtin_kinds import POD, SECRET

PORT = 8200
# Seconds, on a machine that starts a dozen servers at the same time.
PATIENCE = 15.0
# Audience of the roles of clients of scenarios. The operator has one per cluster.
AUDIENCE = "openbao-internal"
MOUNT = "jwt-operator"
# Active, standby, uninitialized, sealed: valid responses of the health endpoint.
HEALTH_CODES = frozenset({200, 429, 472, 473, 501, 503})

Answer = dict[str, Any]


class BaoError(Exception):
    """An unexpected response of a server: status code and body."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(f"{code}: {words}")
        self.code = code


class Server:
    """One server of a cluster, by its ordinal in the first StatefulSet, or by its pod."""

    def __init__(
        self, api: Api, namespace: str, cluster: str, which: int | str, *, reader: bool = False
    ) -> None:
        authority = api.get(SECRET, namespace, names.tls_ca_secret(cluster))["data"]["ca.crt"]
        self._context = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
        self._name = names.raft_server_name(cluster)
        named = names.read_pod if reader else names.pod
        name = which if isinstance(which, str) else named(cluster, which)
        pod = api.get(POD, namespace, name)
        self._address = str(pod["status"]["podIP"])

    def health(self) -> Answer:
        """Read sys/health."""
        code, body = self._call("GET", "sys/health", "", None)
        if code not in HEALTH_CODES:
            raise BaoError(code, str(body))
        return body

    def login(self, role: str, jwt: str) -> str:
        """Log in with a ServiceAccount token and return the client token."""
        answer = self.post(f"auth/{MOUNT}/login", "", {"role": role, "jwt": jwt})
        return str(answer["auth"]["client_token"])

    def get(self, path: str, token: str) -> Answer:
        """Read."""
        return self._checked(*self._call("GET", path, token, None))

    def post(self, path: str, token: str, body: Answer) -> Answer:
        """Write."""
        return self._checked(*self._call("POST", path, token, body))

    def delete(self, path: str, token: str) -> None:
        """Delete."""
        self._checked(*self._call("DELETE", path, token, None))

    def members(self, token: str) -> list[Answer]:
        """List the members of the raft cluster."""
        config = self.get("sys/storage/raft/configuration", token)["data"]["config"]
        members: list[Answer] = config["servers"]
        return members

    def _checked(self, code: int, body: Answer) -> Answer:
        if code not in (200, 204):
            raise BaoError(code, "; ".join(body.get("errors") or ("no reason given",)))
        return body

    def _call(self, method: str, path: str, token: str, body: Answer | None) -> tuple[int, Answer]:
        raw = socket.create_connection((self._address, PORT), timeout=PATIENCE)
        connection = http.client.HTTPConnection(self._address, PORT)
        try:
            # The certificate is valid for the name of the cluster, not for the address.
            connection.sock = self._context.wrap_socket(raw, server_hostname=self._name)
            headers = {"X-Vault-Token": token} if token else {}
            data = None if body is None else orjson.dumps(body)
            connection.request(method, f"/v1/{path}", body=data, headers=headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
            raw.close()
        return response.status, orjson.loads(content) if content else {}
