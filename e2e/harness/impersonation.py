"""A Kubernetes API client that impersonates a user.

The API server authorizes the request as the user, including admission; the audit log has both
names. A small blocking client for tests that check the full text of a refusal.
"""

import http.client
import ssl
import tempfile
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson

from e2e.rig import Rig
from e2e.rig.kube import ApiError
from runtime.builtin_kinds import SECRET
from runtime.types import Object, Resource

_KINDS = {"POST": "application/json", "PATCH": "application/merge-patch+json"}


@dataclass(frozen=True, slots=True)
class User:
    """A user of the API server: name, groups and extra fields."""

    name: str
    groups: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    def headers(self) -> list[tuple[str, str]]:
        """The impersonation headers."""
        headers = [("Impersonate-User", self.name)]
        headers += [
            ("Impersonate-Group", group) for group in (*self.groups, "system:authenticated")
        ]
        headers += [
            (f"Impersonate-Extra-{quote(key, safe='')}", value) for key, value in self.extra.items()
        ]
        return headers


def account(namespace: str, name: str, **extra: str) -> User:
    """A ServiceAccount; `pod` is the pod to which its token is bound."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    extra_info = {f"authentication.kubernetes.io/{key}-name": value for key, value in extra.items()}
    return User(f"system:serviceaccount:{namespace}:{name}", groups, extra_info)


class ImpersonatingClient:
    """Requests as another user. Raises ApiError with the full response if refused."""

    def __init__(self, rig: Rig, impersonated: User | None = None) -> None:
        config = orjson.loads(rig.kubeconfig.read_bytes())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(b64decode(user["client-certificate-data"]))
            pair.write(b64decode(user["client-key-data"]))
            pair.flush()
            self._context.load_cert_chain(pair.name)
        address = urlsplit(cluster["server"])
        self._address = address.hostname or "", address.port or 443
        self._impersonated = impersonated

    def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        """Read one object."""
        return self._send("GET", resource.path(namespace, name))

    def create(
        self, resource: Resource, body: Object, *, subresource: str = "", dry_run: bool = False
    ) -> Object:
        """Create an object, in the namespace that its metadata names."""
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        metadata = body["metadata"]
        path = resource.path(metadata.get("namespace"))
        if subresource:
            path = resource.path(metadata["namespace"], metadata["name"], subresource)
        return self._send("POST", f"{path}?dryRun=All" if dry_run else path, body)

    def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        change: Any,
        *,
        subresource: str | None = None,
    ) -> Object:
        """Send a JSON merge patch (RFC 7386: null removes)."""
        return self._send("PATCH", resource.path(namespace, name, subresource), change)

    def delete(self, resource: Resource, namespace: str | None, name: str, **options: Any) -> None:
        """Delete an object, with the options of a deletion."""
        query = f"?{urlencode(options)}" if options else ""
        self._send("DELETE", resource.path(namespace, name) + query)

    def _send(self, method: str, path: str, body: Any = None) -> Object:
        connection = http.client.HTTPSConnection(*self._address, context=self._context, timeout=10)
        data = b"" if body is None else orjson.dumps(body)
        try:
            connection.putrequest(method, path)
            for key, value in (
                ("User-Agent", "impersonation"),
                *(self._impersonated.headers() if self._impersonated else ()),
            ):
                connection.putheader(key, value)
            if data:
                connection.putheader("Content-Type", _KINDS[method])
            connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status >= 300:
            raise ApiError(response.status, _message_of(content))
        document: Object = orjson.loads(content)
        return document


def _message_of(content: bytes) -> str:
    try:
        return str(orjson.loads(content).get("message", ""))
    except orjson.JSONDecodeError:
        return content.decode(errors="replace")


def foreign_secret_refusal(rig: Rig, operator: User, namespace: str) -> str:
    """Return the error of creating a Secret without a cluster as the operator; "" if none."""
    metadata = {"name": "somebodys", "namespace": namespace}
    try:
        ImpersonatingClient(rig, operator).create(SECRET, {"metadata": metadata}, dry_run=True)
    except ApiError as error:
        return str(error)
    return ""
