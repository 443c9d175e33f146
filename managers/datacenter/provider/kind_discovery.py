"""Discovers the resource of a kind by its apiVersion and name, as a RESTMapper.

Uses the discovery documents of the API server (Kubernetes API reference, APIResourceList), which
every authenticated user may read. Called by managers.datacenter.provider.other_kinds.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from managers.datacenter.interfaces import ProviderError
from runtime.client.client import Client
from runtime.errors import NotFound
from runtime.types import Resource

KIND_NOT_SERVED: Final = "KindNotServed"
CACHE_SIZE: Final = 1024
_API_VERSION = re.compile(r"(?:([a-z0-9][-a-z0-9.]*)/)?(v[a-z0-9]+)")


class KindDiscovery:
    """Finds resources by kind. Results are cached until `forget`: plural and scope of a kind are
    immutable, but its definition may be deleted and created again."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[str, str], Resource] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind; raises ProviderError KindNotServed."""
        known = self._known.get((api_version, kind))
        if known is not None:
            return known
        for resource in await self._served_resources(api_version):
            if resource.kind == kind:
                if len(self._known) >= CACHE_SIZE:
                    self._known.clear()
                self._known[api_version, kind] = resource
                return resource
        message = (
            f"the API server does not serve kind {kind} in {api_version}; install its "
            "CustomResourceDefinition first, in a service that this one depends on"
        )
        raise ProviderError(KIND_NOT_SERVED, message)

    def forget(self, resource: Resource) -> None:
        """Drop a resource that the API server does not serve any more."""
        self._known.pop((resource.api_version, resource.kind), None)

    async def preferred(self, group: str, kind: str) -> Resource | None:
        """Return the resource of a kind in the version that the API server prefers, if any."""
        if not group:
            return await self._maybe("v1", kind)
        try:
            group_document: Any = orjson.loads(await self._client.get_raw(f"/apis/{group}"))
        except NotFound:
            return None
        return await self._maybe(group_document["preferredVersion"]["groupVersion"], kind)

    async def _maybe(self, api_version: str, kind: str) -> Resource | None:
        try:
            return await self.resource(api_version, kind)
        except ProviderError:
            return None

    async def _served_resources(self, api_version: str) -> list[Resource]:
        parts = _API_VERSION.fullmatch(api_version)
        if parts is None:
            message = f"apiVersion {api_version[:80]!r} is invalid; use one such as apps/v1"
            raise ProviderError("Rejected", message, terminal=True)
        group, version = parts[1] or "", parts[2]
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            listed: Any = orjson.loads(await self._client.get_raw(path))
        except NotFound:
            return []
        return [
            Resource(
                group,
                version,
                resource["kind"],
                resource["name"],
                namespaced=resource["namespaced"],
            )
            for resource in listed.get("resources") or ()
            if "/" not in resource["name"]
        ]
