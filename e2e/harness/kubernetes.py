"""A Kubernetes API client with administrator permissions, for scenarios.

Blocking, based on the client of the rig, with user agent `e2e`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from e2e.rig import Rig
from e2e.rig.kube import ApiError, Kube
from runtime.builtin_kinds import NAMESPACE, POD, SERVICE_ACCOUNT
from runtime.types import Object, Resource

__all__ = ["Api", "ApiError", "Object", "missing_ok"]

Patch = dict[str, Any]


class Api:
    """Requests to one API server. Raises ApiError for an error response, OSError without one."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self._kube = Kube.from_kubeconfig(rig.kubeconfig, "e2e")

    def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        """Read one object."""
        return self._kube.get(resource.path(namespace, name))

    def find(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """Read one object; None if it does not exist."""
        try:
            return self.get(resource, namespace, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def list(self, resource: Resource, namespace: str | None, selector: str = "") -> "list[Object]":
        """Read all objects of a kind that match the label selector."""
        query = f"?{urlencode({'labelSelector': selector})}" if selector else ""
        items: list[Object] = self._kube.get(resource.path(namespace) + query)["items"]
        return items

    def create(self, resource: Resource, body: Object) -> Object:
        """Create an object, in the namespace that its metadata names."""
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        return self._kube.create(resource.path(body["metadata"].get("namespace")), body)

    def patch(self, resource: Resource, namespace: str | None, name: str, change: Patch) -> Object:
        """Send a JSON merge patch (RFC 7386: null removes)."""
        return self._kube.patch(resource.path(namespace, name), change)

    def patch_status(
        self, resource: Resource, namespace: str | None, name: str, change: Patch
    ) -> Object:
        """Send a JSON merge patch for the status of an object."""
        return self._kube.patch(resource.path(namespace, name, "status"), change)

    def delete(self, resource: Resource, namespace: str | None, name: str) -> None:
        """Delete an object, if it exists, without waiting."""
        with missing_ok():
            self._kube.delete(resource.path(namespace, name))

    def evict(self, namespace: str, pod: str) -> None:
        """Evict a pod, as `kubectl drain` does."""
        metadata = {"name": pod, "namespace": namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        self._kube.create(POD.path(namespace, pod, "eviction"), body)

    def token(self, namespace: str, account: str, audience: str | None = None) -> str:
        """Return a token of a ServiceAccount; without audience, for the API server."""
        spec: Object = {"expirationSeconds": 4 * 3600}
        if audience is not None:
            spec["audiences"] = [audience]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        issued = self._kube.create(SERVICE_ACCOUNT.path(namespace, account, "token"), body)
        return str(issued["status"]["token"])

    def make_namespace(self, name: str) -> None:
        """Create a namespace with pod security level `restricted`."""
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        self.create(NAMESPACE, {"metadata": {"name": name, "labels": labels}})


@contextmanager
def missing_ok() -> Iterator[None]:
    """Ignore that an object does not exist."""
    try:
        yield
    except ApiError as error:
        if error.code != 404:
            raise
