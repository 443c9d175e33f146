"""The verbs of the Kubernetes API on plain dicts: get, list, watch, apply, create, update, delete.

Uses runtime.client.transport and runtime.client.codec; no models, no discovery, no cache. Called by
the reflector, the leader elector, owned apply, and by code that needs one direct read.

Every method raises the ApiError classes of runtime.errors, and TransportError if there is no
response; writes raise LeaseLost if the guard refuses them. With dry_run the server validates and
defaults a write and returns the result, but stores nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from runtime.builtin_kinds import POD
from runtime.client.codec import (
    APPLY_PATCH,
    JSON,
    JSON_PATCH,
    PARTIAL_OBJECT,
    decode_object,
    encode,
    encode_apply,
)
from runtime.client.credentials import Credentials
from runtime.client.listing import LIST_ALL, ListOptions, ObjectList, list_pages, selectors
from runtime.client.transport import HttpRequest, Transport, Wire
from runtime.client.wire import HttpWire
from runtime.client.write_guard import Guard, allow_writes
from runtime.clock import Clock
from runtime.errors import Gone, Invalid, PatchFailed
from runtime.types import Object, ObjectKey, Resource, key_of

if TYPE_CHECKING:
    from runtime.metrics.metrics import Metrics

EVICTION = "eviction"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What to watch, from which version, and for how many seconds at most.

    With send_initial_events the watch starts with an ADDED event for each existing object, and a
    bookmark annotated k8s.io/initial-events-end after them; the list is at least as new as
    resource_version, and with "" the most recent. Servers without support respond with 400 or 422.
    """

    resource_version: str
    timeout_seconds: int
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False
    send_initial_events: bool = False


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """The object as stored after an apply, and whether the apply created it (201, not 200)."""

    object: Object
    created: bool


class Client:
    """A client with one identity at one API server. Tasks of one event loop may share it.

    Each client has its own connections: give the leader elector a separate client, so that renewals
    never wait for other requests. guard is called immediately before each write is sent and raises
    LeaseLost to refuse it. timeout limits each request in seconds (pages of lists have another
    limit; for watches it limits the opening).
    """

    guard: Guard
    """Called before each write. Code that writes to other servers calls it too."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        user_agent: str,
        clock: Clock,
        metrics: Metrics | None = None,
        guard: Guard | None = None,
        timeout: float = 10.0,
    ) -> None:
        self.guard = guard or allow_writes
        wire = HttpWire(credentials, user_agent=user_agent, guard=guard)
        self._transport = Transport(
            wire, credentials, clock=clock, metrics=metrics, guard=guard, timeout=timeout
        )

    @classmethod
    def over(
        cls,
        wire: Wire,
        credentials: Credentials,
        *,
        clock: Clock,
        metrics: Metrics | None = None,
        guard: Guard | None = None,
        timeout: float = 10.0,
    ) -> Self:
        """Create a client with another wire, such as a server in memory.

        Retries, deadlines, the guard and the metrics are the same.
        """
        client = cls.__new__(cls)
        client.guard = guard or allow_writes
        client._transport = Transport(
            wire, credentials, clock=clock, metrics=metrics, guard=guard, timeout=timeout
        )
        return client

    async def get(
        self, resource: Resource, key: ObjectKey, *, metadata_only: bool = False
    ) -> Object:
        """One object; with metadata_only just its apiVersion, kind and metadata."""
        accept = PARTIAL_OBJECT if metadata_only else JSON
        call = HttpRequest("GET", resource.path(key.namespace, key.name), accept=accept)
        return decode_object((await self._transport.request(call)).body, resource)

    async def list(
        self, resource: Resource, namespace: str | None = None, *, options: ListOptions = LIST_ALL
    ) -> ObjectList:
        """All selected objects, fetched page by page; other tasks run while they are decoded.

        If the version of the first page expires before the last one was read (410), the list is
        repeated as a single page.
        """
        try:
            return await list_pages(self._transport, resource, namespace, options)
        except Gone:
            if not options.limit:
                raise
            return await list_pages(self._transport, resource, namespace, replace(options, limit=0))

    def watch(
        self, resource: Resource, namespace: str | None, options: WatchOptions
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The raw lines of a watch, with bookmarks; runtime.client.codec.decode_event reads them.

        Entering the context raises the errors of opening. The iterator ends when the server ends
        the watch cleanly and raises TransportError when it breaks. The caller sets the deadline,
        because a dead watch cannot be distinguished from a quiet one.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(options.timeout_seconds),
            **selectors(options),
        }
        if options.resource_version:
            query["resourceVersion"] = options.resource_version
        if options.send_initial_events:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        accept = PARTIAL_OBJECT if options.metadata_only else JSON
        return self._transport.stream(
            HttpRequest("GET", resource.path(namespace), query, accept=accept)
        )

    async def apply(
        self,
        resource: Resource,
        body: Object,
        *,
        field_manager: str,
        force: bool,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> ApplyResult:
        """Server-side apply of exactly the fields in body.

        A metadata.uid in the body is a precondition: Conflict for another object or none of that
        name. Without force, fields of other managers cause ApplyConflict.
        """
        query = {
            "fieldManager": field_manager,
            "force": "true" if force else "false",
            "fieldValidation": "Strict",
            **_trial(dry_run),
        }
        key = key_of(body)
        path = resource.path(key.namespace, key.name, subresource)
        answer = await self._transport.request(
            HttpRequest("PATCH", path, query, encode_apply(body), content_type=APPLY_PATCH)
        )
        return ApplyResult(decode_object(answer.body), created=answer.status == 201)

    async def create(
        self,
        resource: Resource,
        body: Object,
        *,
        field_manager: str,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Create an object; AlreadyExists if the name is in use.

        With a subresource: create it for the object of this name, such as a token.
        """
        query = {"fieldManager": field_manager, "fieldValidation": "Strict", **_trial(dry_run)}
        key = key_of(body)
        path = resource.path(key.namespace, key.name if subresource else None, subresource)
        answer = await self._transport.request(HttpRequest("POST", path, query, encode(body)))
        return decode_object(answer.body)

    async def update(
        self,
        resource: Resource,
        body: Object,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Replace a whole object; Conflict unless the resourceVersion in body is current.

        Raises ValueError for a body without resourceVersion: it would overwrite changes of others.
        """
        if not body.get("metadata", {}).get("resourceVersion"):
            raise ValueError("an update needs the resourceVersion it is based on")
        key = key_of(body)
        path = resource.path(key.namespace, key.name, subresource)
        query = {"fieldValidation": "Strict", **_trial(dry_run)}
        answer = await self._transport.request(HttpRequest("PUT", path, query, encode(body)))
        return decode_object(answer.body)

    async def json_patch(
        self,
        resource: Resource,
        key: ObjectKey,
        ops: Sequence[Mapping[str, Any]],
        *,
        field_manager: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Apply RFC 6902 operations in order, all or none.

        Raises PatchFailed if a `test` among them fails or a path does not exist, Invalid if the
        result violates the schema.
        """
        query = _trial(dry_run)
        if field_manager:
            query["fieldManager"] = field_manager
        path = resource.path(key.namespace, key.name, subresource)
        call = HttpRequest("PATCH", path, query, encode(ops), content_type=JSON_PATCH)
        try:
            return decode_object((await self._transport.request(call)).body)
        except Invalid as error:
            # A violation of the schema has causes.
            raise error if error.causes else PatchFailed(error.info) from error

    async def delete(
        self,
        resource: Resource,
        key: ObjectKey,
        *,
        uid: str,
        resource_version: str | None = None,
        propagation: str = "Background",
        dry_run: bool = False,
    ) -> None:
        """Request the deletion of the object with that uid, and that version if one is given.

        Returns when the request is accepted; finalizers and grace periods may keep the object.
        Raises Conflict if the precondition fails, NotFound if there is no such object, and
        ValueError without a uid: another object may have the name by now.
        """
        if not uid:
            raise ValueError(f"deleting {resource.kind} {key} needs its uid")
        preconditions = {"uid": uid}
        if resource_version is not None:
            preconditions["resourceVersion"] = resource_version
        body: Object = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": preconditions,
            "propagationPolicy": propagation,
        }
        if dry_run:
            # The server ignores the query of a delete with a body.
            body["dryRun"] = ["All"]
        path = resource.path(key.namespace, key.name)
        await self._transport.request(HttpRequest("DELETE", path, body=encode(body)))

    async def evict(self, key: ObjectKey, *, uid: str) -> None:
        """Evict that pod, if its disruption budget permits it.

        The API server checks and updates the budget in one step, so that two clients cannot both
        evict the last pod that the budget permits. Without a budget, and for a pod that is not
        running, it is a deletion. Raises EvictionRefused, the errors of `delete`, and ValueError
        without a uid.
        """
        if not uid:
            raise ValueError(f"evicting Pod {key} needs its uid")
        body: Object = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": key.namespace, "name": key.name},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        path = POD.path(key.namespace, key.name, EVICTION)
        await self._transport.request(HttpRequest("POST", path, body=encode(body)))

    async def get_raw(self, path: str, *, most: int | None = None) -> bytes:
        """The body at a non-resource path, such as /version or /readyz.

        Raises AnswerTooLarge for one with more than `most` bytes.
        """
        call = HttpRequest("GET", path, accept="*/*", most=most)
        return (await self._transport.request(call)).body

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()


def _trial(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}
