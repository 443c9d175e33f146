"""Discovers the resource of an apiVersion and kind, as a RESTMapper does.

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
        self._cache: dict[tuple[str, str], Resource] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind; raises ProviderError KindNotServed."""
        cached = self._cache.get((api_version, kind))
        if cached is not None:
            return cached
        for resource in await self._served_resources(api_version):
            if resource.kind == kind:
                if len(self._cache) >= CACHE_SIZE:
                    self._cache.clear()
                self._cache[api_version, kind] = resource
                return resource
        message = (
            f"the API server does not serve kind {kind} in {api_version}; install its "
            "CustomResourceDefinition first, in a service that this one depends on"
        )
        raise ProviderError(KIND_NOT_SERVED, message)

    def forget(self, resource: Resource) -> None:
        """Drop a resource that the API server does not serve any more."""
        self._cache.pop((resource.api_version, resource.kind), None)

    async def preferred(self, group: str, kind: str) -> Resource | None:
        """Return the resource of a kind in the version that the API server prefers, if any."""
        if not group:
            return await self._resource_or_none("v1", kind)
        try:
            group_document: Any = orjson.loads(await self._client.get_raw(f"/apis/{group}"))
        except NotFound:
            return None
        version = group_document["preferredVersion"]["groupVersion"]
        return await self._resource_or_none(version, kind)

    async def _resource_or_none(self, api_version: str, kind: str) -> Resource | None:
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
            document: Any = orjson.loads(await self._client.get_raw(path))
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
            for resource in document.get("resources") or ()
            if "/" not in resource["name"]
        ]
