"""Server-side apply of the status of an object.

Uses `runtime.client` and `runtime.cache`. Called by reconcilers and Jobs that write a status.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from runtime.cache.cache import Cache
from runtime.client.client import ApplyResult
from runtime.types import Object, ObjectKey, Resource, key_of, resource_version_of, uid_of


class AppliesObjects(Protocol):
    """The part of `runtime.client.client.Client` that a status needs."""

    async def apply(
        self,
        resource: Resource,
        body: Object,
        *,
        field_manager: str,
        force: bool,
        subresource: str | None = None,
    ) -> ApplyResult:
        """Apply fields; see `runtime.client.client`."""
        ...


def _whole(status: Object) -> Object:
    return status


class StatusClient:
    """Applies the part of a status that one field manager owns, and updates the cache.

    The apply is forced: each manager owns its part and overwrites changes of others.
    """

    def __init__(
        self,
        client: AppliesObjects,
        resource: Resource,
        field_manager: str,
        cache: Cache | None = None,
        part: Callable[[Object], Object] = _whole,
    ) -> None:
        """`part`: selects from a status the fields of `field_manager`; all of them by default."""
        self._client = client
        self._resource = resource
        self._field_manager = field_manager
        self._cache = cache
        self._part = part

    async def apply(
        self, key: ObjectKey, uid: str, status: Object, *, resource_version: str = ""
    ) -> Object:
        """Apply a status and return the stored object.

        Raises Conflict for an object of another `uid`, or of another `resource_version` if one is
        given, NotFound if it does not exist, and the other errors of the client.
        """
        metadata = {
            "name": key.name,
            **({"namespace": key.namespace} if self._resource.namespaced else {}),
            # An object that was deleted and created again must not get this status.
            "uid": uid,
            **({"resourceVersion": resource_version} if resource_version else {}),
        }
        body: Object = {
            "apiVersion": self._resource.api_version,
            "kind": self._resource.kind,
            "metadata": metadata,
            "status": status,
        }
        result = await self._client.apply(
            self._resource,
            body,
            field_manager=self._field_manager,
            force=True,
            subresource="status",
        )
        if self._cache is not None:
            self._cache.observe(result.object)
        return result.object

    async def apply_if_changed(
        self, live: Object, status: Object, *, optimistic_lock: bool = False
    ) -> Object:
        """Apply a status that differs from the part in `live`; else return `live` itself.

        `optimistic_lock`: Conflict if the object changed since it was read, because the decision
        may be outdated. Raises the same errors as `apply`.
        """
        if self._part(live.get("status") or {}) == status:
            return live
        version = resource_version_of(live) if optimistic_lock else ""
        return await self.apply(key_of(live), uid_of(live), status, resource_version=version)
