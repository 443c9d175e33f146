"""Campaign C16: remove one permission after the other, and repeat the requests that need it.

A replay sends a recorded request again with the token of the operator; writes are dry runs.
"""

import http.client
import ssl
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import orjson

from e2e.harness.audit import Entry
from e2e.harness.installation import NAMESPACE as OPERATOR_NAMESPACE
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.rights import Permission, Rule, without
from runtime.builtin_kinds import ROLE
from runtime.types import Resource

RBAC = ROLE.group
NOTICED_WITHIN = 3.0
CLUSTER_ROLE = Resource(RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
REVIEW = Resource(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
_METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
}
_PATCH = {"Content-Type": "application/json-patch+json"}
_JSON = {"Content-Type": "application/json"}
_DRY = {"dryRun": "All"}


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """Address and CA of the API server."""

    host: str
    port: int
    context: ssl.SSLContext
    token: str


@lru_cache
def _api_access(kubeconfig: Path) -> ApiAccess:
    config = orjson.loads(kubeconfig.read_bytes())
    cluster = config["clusters"][0]["cluster"]
    address = urlsplit(cluster["server"])
    authority = b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    token = str(config["users"][0]["user"]["token"])
    return ApiAccess(address.hostname or "", address.port or 443, context, token)


@dataclass(frozen=True, slots=True)
class TokenClient:
    """A client of the API server with the token of an identity."""

    api: Api
    identity: Identity

    def send(self, method: str, target: str, body: object = None) -> tuple[int, str]:
        """Send one request; return code and body of the response."""
        access = _api_access(self.identity.kubeconfig)
        headers = {"Authorization": f"Bearer {access.token}", "User-Agent": "e2e"}
        headers |= _PATCH if method == "PATCH" else _JSON
        connection = http.client.HTTPSConnection(
            access.host, access.port, context=access.context, timeout=10.0
        )
        try:
            data = None if body is None else orjson.dumps(body)
            connection.request(method, target, body=data, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read(2000).decode(errors="replace")
        finally:
            connection.close()

    def may(self, permission: Permission, namespace: str) -> bool:
        """Whether the API server authorizes this identity, by a SubjectAccessReview."""
        spec: Object = {
            "user": self.identity.user,
            "groups": [
                "system:serviceaccounts",
                f"system:serviceaccounts:{OPERATOR_NAMESPACE}",
                "system:authenticated",
            ],
        }
        if permission.path:
            spec["nonResourceAttributes"] = {"path": permission.path, "verb": permission.verb}
        else:
            resource, _, sub = permission.resource.partition("/")
            spec["resourceAttributes"] = {
                "group": permission.group,
                "resource": resource,
                "subresource": sub,
                "verb": permission.verb,
                "name": permission.name,
                "namespace": namespace,
            }
        answer = self.api.create(REVIEW, {"metadata": {}, "spec": spec})["status"]
        return bool(answer["allowed"])

    def loses(self, permission: Permission, namespace: str) -> bool:
        """Wait until the API server refuses a removed right; False if it never does."""
        return self._await_authorization(permission, namespace, allowed=False)

    def gains(self, permission: Permission, namespace: str) -> bool:
        """Wait until the API server accepts an added right; False if it never does."""
        return self._await_authorization(permission, namespace, allowed=True)

    def _await_authorization(
        self, permission: Permission, namespace: str, *, allowed: bool
    ) -> bool:
        end = time.monotonic() + NOTICED_WITHIN
        while self.may(permission, namespace) != allowed:
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True


def replay(client: TokenClient, permission: Permission, entry: Entry) -> tuple[int, str]:
    """Send a recorded request again."""
    parts = urlsplit(entry.uri)
    method, path = _METHODS[permission.verb], parts.path
    body: object = None
    if method == "GET":
        query = {**dict(parse_qsl(parts.query)), "timeoutSeconds": "1"}
        return client.send(method, f"{path}?{urlencode(query)}")
    if permission.verb == "create" and entry.verb == "patch":
        path = path.rpartition("/")[0]
    if method != "DELETE":
        body = [] if method == "PATCH" else {}
    return client.send(method, f"{path}?{urlencode(_DRY)}", body)


@dataclass(frozen=True, slots=True)
class BoundRole:
    """A Role or ClusterRole, with its rules as read from the API server."""

    resource: Resource
    namespace: str | None
    name: str
    rules: tuple[Rule, ...]

    def write(self, api: Api, rules: Sequence[Rule]) -> None:
        """Replace its rules."""
        api.patch(self.resource, self.namespace, self.name, {"rules": list(rules)})


def roles_of_controller(api: Api, *roles: str) -> list[BoundRole]:
    """Read the roles of the controller: these of its namespace, and its ClusterRole."""
    bindings = [read_role(api, ROLE, OPERATOR_NAMESPACE, name) for name in roles]
    return [*bindings, read_role(api, CLUSTER_ROLE, None, "openbao-operator")]


def read_role(api: Api, resource: Resource, namespace: str | None, name: str) -> BoundRole:
    """Read a role."""
    return BoundRole(resource, namespace, name, tuple(api.get(resource, namespace, name)["rules"]))


@dataclass(frozen=True, slots=True)
class Loss:
    """The response to a request after its right was removed."""

    role: str
    permission: Permission
    code: int
    body: str


def losses(
    client: TokenClient, role: BoundRole, replays: Mapping[Permission, "Replay"]
) -> Iterator[Loss]:
    """Remove the rights of a role, one at a time, and send the request of each."""
    try:
        for permission, replayed in replays.items():
            role.write(client.api, without(role.rules, permission))
            gone = client.loses(permission, replayed.namespace)
            response = replayed.send(client) if gone else (0, "another role has the right as well")
            yield Loss(role.name, permission, *response)
    finally:
        role.write(client.api, role.rules)


@dataclass(frozen=True, slots=True)
class Replay:
    """A request that needs a right, and its namespace."""

    namespace: str
    permission: Permission
    entry: Entry | None
    instead: tuple[str, object] | None = None
    """An object to create in place of a recorded request: the path, and the body."""

    def send(self, client: TokenClient) -> tuple[int, str]:
        """Send the request; return code and body of the response."""
        if self.instead is not None:
            path, body = self.instead
            return client.send("POST", f"{path}?{urlencode(_DRY)}", body)
        assert self.entry is not None
        return replay(client, self.permission, self.entry)
