"""Mallory: a ServiceAccount with edit permissions in one namespace, and its token."""

from dataclasses import dataclass
from typing import Any

import orjson

from e2e.harness.kubernetes import Api, Object
from e2e.rig.kube import Kube
from runtime.builtin_kinds import ROLE_BINDING, SERVICE_ACCOUNT
from runtime.types import Resource

NAME = "mallory"
# The roles of a user with edit rights in a namespace: that of Kubernetes, and ours.
ROLES = ("edit", "openbao-operator-edit")
ADMIN_ROLE = "openbao-operator-admin"


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of the API server."""

    code: int
    words: str

    @property
    def refused(self) -> bool:
        """Whether it is an error."""
        return self.code >= 400


@dataclass(frozen=True, slots=True)
class Mallory:
    """Sends requests with her own token; errors are returned, never raised."""

    kube: Kube
    namespace: str

    def create(self, resource: Resource, body: Object, *, dry: bool = False) -> Answer:
        """Create an object, by default in her namespace."""
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        place = body["metadata"].get("namespace", self.namespace)
        query = "?dryRun=All&fieldValidation=Strict" if dry else ""
        return self.send("POST", resource.path(place) + query, whole)

    def patch(self, resource: Resource, place: str, name: str, change: dict[str, Any]) -> Answer:
        """Merge a change into an object; `name` may be followed by a subresource."""
        return self.send("PATCH", f"{resource.path(place)}/{name}", change)

    def get(self, resource: Resource, place: str, name: str) -> Answer:
        """Read an object."""
        return self.send("GET", resource.path(place, name), None)

    def delete(self, resource: Resource, place: str, name: str) -> Answer:
        """Delete an object."""
        return self.send("DELETE", resource.path(place, name), None)

    def send(self, method: str, path: str, body: Object | None) -> Answer:
        """Send one request."""
        response = self.kube.request(method, path, body)
        if response.status < 300:
            return Answer(response.status, "")
        words = response.data.decode(errors="replace")
        return Answer(response.status, str(orjson.loads(words).get("message", words)))


def make(api: Api, namespace: str, *, admin: bool = False) -> Mallory:
    """Create her, with edit rights in that namespace only."""
    api.create(SERVICE_ACCOUNT, {"metadata": {"name": NAME, "namespace": namespace}})
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}
    for role in (*ROLES, *((ADMIN_ROLE,) if admin else ())):
        api.create(
            ROLE_BINDING,
            {
                "metadata": {"name": f"{NAME}-{role}", "namespace": namespace},
                "roleRef": {
                    "apiGroup": ROLE_BINDING.group,
                    "kind": "ClusterRole",
                    "name": role,
                },
                "subjects": [subject],
            },
        )
    kube = Kube.with_token(api.rig.kubeconfig, api.token(namespace, NAME))
    return Mallory(kube, namespace)
