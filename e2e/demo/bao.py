"""An OpenBao client of an application: logs in with a ServiceAccount, writes and reads secrets."""

import base64
from dataclasses import dataclass, replace
from typing import Any

from contracts.naming import names
from e2e.demo.access import Access, ApiRequest, Target
from e2e.demo.api import Api
from e2e.demo.errors import DemoError
from e2e.demo.https_call import Answer

TOKEN_HEADER = "X-Vault-Token"  # noqa: S105  the name of a header


@dataclass(frozen=True, slots=True)
class Health:
    """The health of one server (sys/health, without login)."""

    initialized: bool
    sealed: bool
    standby: bool
    cluster_id: str
    version: str

    @property
    def leads(self) -> bool:
        """Whether the server is the active node."""
        return self.initialized and not self.sealed and not self.standby


class DeniedError(DemoError):
    """An error response that is not retryable (4xx)."""


class UnavailableError(DemoError):
    """No response, or a retryable error (5xx)."""


@dataclass(frozen=True, slots=True)
class OpenBao:
    """A client of one cluster, with the CA in its Secret. Raises the errors of this module."""

    access: Access
    namespace: str
    cluster: str
    authority: str
    token: str = ""

    @classmethod
    def of_cluster(cls, access: Access, api: Api, namespace: str, cluster: str) -> "OpenBao":
        """Read the CA from the Secret that the operator created."""
        name = names.tls_ca_secret(cluster)
        secret = api.find(f"/api/v1/namespaces/{namespace}/secrets/{name}")
        content = ((secret or {}).get("data") or {}).get("ca.crt")
        if not content:
            raise DemoError(f"Secret {namespace}/{name} has no ca.crt")
        return cls(access, namespace, cluster, base64.b64decode(content).decode())

    def health(self, pod: str) -> Health | None:
        """Return the health of one pod; None if it does not respond."""
        answer = self.access.call(Target("pod", self.namespace, pod), self._ask("sys/health"))
        if not answer.status or "initialized" not in answer.body:
            return None
        body = answer.body
        return Health(
            initialized=bool(body["initialized"]),
            sealed=bool(body["sealed"]),
            standby=bool(body["standby"]),
            cluster_id=str(body.get("cluster_id", "")),
            version=str(body.get("version", "")),
        )

    def login(self, mount: str, role: str, jwt: str) -> "OpenBao":
        """Log in at the client Service; return a client with the token."""
        answer = self._serve(f"auth/{mount}/login", {"role": role, "jwt": jwt})
        return replace(self, token=str(answer.body["auth"]["client_token"]))

    def write(self, path: str, value: dict[str, str]) -> None:
        """Write a key-value secret (version 2: ``path`` contains /data/)."""
        self._serve(path, {"data": value})

    def read(self, path: str) -> dict[str, str]:
        """Read a key-value secret."""
        data: dict[str, str] = self._serve(path).body["data"]["data"]
        return data

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> ApiRequest:
        return ApiRequest(
            server_name=names.raft_server_name(self.cluster),
            authority=self.authority,
            method="GET" if body is None else "POST",
            path=f"/v1/{path}",
            headers={TOKEN_HEADER: self.token} if self.token else {},
            body=body,
        )

    def _serve(self, path: str, body: dict[str, Any] | None = None) -> Answer:
        target = Target("service", self.namespace, names.public_service(self.cluster))
        answer = self.access.call(target, self._ask(path, body))
        if 200 <= answer.status < 300:
            return answer
        reason = answer.error or "; ".join(map(str, answer.body.get("errors") or ()))
        message = f"{path}: {answer.status or 'no response'} {reason}".rstrip()
        if 400 <= answer.status < 500:
            raise DeniedError(message)
        raise UnavailableError(message)
