"""The fake server: routes requests to reads, writes and watches.

`handle` and `open` are synchronous, so a request is atomic. The wire and its faults delay, drop or
break requests and responses.
"""

import random
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import orjson

from runtime.builtin_kinds import POD
from runtime.client.transport import HttpRequest
from runtime.clock import Clock
from runtime.testing.api_server.answers import (
    Cause,
    RefusedAnswer,
    Reply,
    bad_request,
    expired,
    invalid,
    no_such_group,
    not_found,
    not_served,
    too_large,
)
from runtime.testing.api_server.eviction import expect_evictable
from runtime.testing.api_server.kinds import BUILT_IN_KINDS, Kind
from runtime.testing.api_server.reads import (
    ReadQuery,
    asks_for_metadata,
    list_page,
    selection_of,
    version_of,
)
from runtime.testing.api_server.storage import ObjectStorage, StoredChange
from runtime.testing.api_server.watching import Times, WatchStream
from runtime.testing.api_server.writes import Writes, WriteTarget
from runtime.types import Object, ObjectKey, Resource, key_of

BOOKMARK_SECONDS = 60.0
DEFAULT_WATCH_SECONDS = 1800.0
REQUESTS_KEPT = 10_000

_SUBRESOURCES_OF_NAMESPACES = frozenset({"status", "finalize"})
_READY = frozenset({"/readyz", "/livez", "/healthz"})


@dataclass(frozen=True, slots=True)
class RequestPath:
    """A parsed path."""

    kind: Kind
    namespace: str | None
    name: str = ""
    subresource: str = ""


class FakeApiServer:
    """Objects in memory with the HTTP semantics of the Kubernetes API; see the package.

    requests are the last requests, in order. watches are the open ones. With watch_list False the
    server rejects sendInitialEvents, as one without that feature does; list_end_seconds is the
    delay of the bookmark after a streamed list, with changes before it. While `up` is False no
    client can connect.
    """

    def __init__(
        self,
        clock: Clock,
        rng: random.Random,
        *,
        kinds: Iterable[Kind] = BUILT_IN_KINDS,
        bookmark_seconds: float = BOOKMARK_SECONDS,
    ) -> None:
        self.clock = clock
        self.storage = ObjectStorage(first_revision=100)
        self.writes = Writes(self.storage, clock.now, rng)
        self.requests: deque[HttpRequest] = deque(maxlen=REQUESTS_KEPT)
        self.watches: dict[WatchStream, None] = {}
        self.bookmark_seconds = bookmark_seconds
        self.watch_list = True
        self.list_end_seconds = 0.0
        self.up = True
        self._kinds = {
            (kind.resource.group, kind.resource.version, kind.resource.plural): kind
            for kind in kinds
        }
        self.storage.listen(self._tell)

    # For tests --------------------------------------------------------------------------------

    def serve(self, kind: Kind) -> None:
        """Serve one more kind."""
        resource = kind.resource
        self._kinds[(resource.group, resource.version, resource.plural)] = kind

    def put(self, resource: Resource, body: Object, *, manager: str = "test") -> Object:
        """Create or replace an object, as another client does."""
        key = key_of(body)
        target = WriteTarget(self._kind(resource), key, manager=manager)
        if self.storage.get(resource, key) is None:
            return self.writes.create(target, body)
        metadata = {k: v for k, v in body["metadata"].items() if k != "resourceVersion"}
        return self.writes.update(target, {**body, "metadata": metadata})

    def remove(self, resource: Resource, key: ObjectKey) -> None:
        """Delete an object, as another client does; ignored if it does not exist."""
        with suppress(RefusedAnswer):
            self.writes.delete(WriteTarget(self._kind(resource), key), {})

    def get(self, resource: Resource, key: ObjectKey) -> Object | None:
        """The stored object itself; do not change it."""
        return self.storage.get(resource, key)

    def objects(self, resource: Resource) -> list[Object]:
        """The stored objects themselves, in the order of their keys; do not change them."""
        return self.storage.all(resource)

    def restart(self) -> None:
        """Break all streams and compact the history, as a new process with an empty watch cache."""
        for watch in tuple(self.watches):
            watch.reset()
        self.storage.compact()

    def restore(self, revision: int) -> None:
        """Return to an older version, as after a restore from a backup; versions continue from
        there.

        ValueError for a compacted version.
        """
        for watch in tuple(self.watches):
            watch.reset()
        self.storage.go_back(revision)

    # The API ----------------------------------------------------------------------------------

    def handle(self, call: HttpRequest, *, user: str = "unknown") -> Reply:
        """Handle any request but a watch; user is the manager of writes that do not name one."""
        self.requests.append(call)
        if call.path in _READY:
            return Reply(200, b"ok")
        if call.path == "/version":
            return Reply(200, orjson.dumps({"major": "1", "minor": "36", "gitVersion": "v1.36.0"}))
        try:
            status, body = self._answer(call, self._request_path(call.path), user)
        except RefusedAnswer as refused:
            return refused.reply()
        return Reply(status, orjson.dumps(body))

    def open(self, call: HttpRequest) -> WatchStream:
        """Start a watch; raises RefusedAnswer. The caller reads it and calls `leave` at the end."""
        self.requests.append(call)
        path, query = self._request_path(call.path), dict(call.query)
        question, revision = self._question(path, call), version_of(query)
        watch = WatchStream(
            question,
            lambda: self.storage.revision,
            bookmarks=query.get("allowWatchBookmarks") == "true",
            after=revision,
        )
        list_end = None
        if query.get("sendInitialEvents") == "true":
            list_end = self._start_with_list(watch, revision, query)
        elif revision == 0:
            self._show_all(watch)
        elif revision < self.storage.compacted:
            # As real servers do: the watch opens, and its only event is the error.
            watch.fail(expired(revision, self.storage.compacted))
        else:
            for change in self.storage.since(question.kind.resource, revision):
                watch.tell(change)
        self.watches[watch] = None
        seconds = float(query.get("timeoutSeconds") or DEFAULT_WATCH_SECONDS)
        watch.start(self.clock, Times(self.bookmark_seconds, seconds, list_end))
        return watch

    def leave(self, watch: WatchStream) -> None:
        """The reader of a watch has disconnected."""
        watch.stop()
        self.watches.pop(watch, None)

    def _start_with_list(
        self, watch: WatchStream, revision: int, query: dict[str, str]
    ) -> float | None:
        if not self.watch_list:
            text = (
                "Forbidden: sendInitialEvents is forbidden for watch "
                "unless the WatchList feature gate is enabled"
            )
            raise _wrong_option("sendInitialEvents", text)
        if query.get("resourceVersionMatch") != "NotOlderThan":
            text = (
                "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            )
            raise _wrong_option("resourceVersionMatch", text)
        if revision > self.storage.revision:
            watch.fail(too_large(revision, self.storage.revision))
            return None
        self._show_all(watch)
        if self.list_end_seconds:
            return self.list_end_seconds
        watch.bookmark(initial=True)
        return None

    def _show_all(self, watch: WatchStream) -> None:
        for obj in self.storage.all(watch.question.kind.resource):
            if watch.question.selection.matches(obj):
                watch.show(obj)

    def _answer(self, call: HttpRequest, path: RequestPath, user: str) -> tuple[int, Any]:
        target = WriteTarget(
            path.kind,
            ObjectKey(path.namespace or "", path.name),
            path.subresource,
            user,
            call.query,
        )
        if (call.method, path.kind.resource, path.subresource) == ("POST", POD, "eviction"):
            return 201, self._evict(target, _decode_body(call))
        if path.subresource and not (path.subresource == "status" and path.kind.status):
            raise not_served()
        match call.method, bool(path.name):
            case "GET", True:
                return 200, self._one(call, target)
            case "GET", False:
                return 200, list_page(self.storage, self._question(path, call), dict(call.query))
            case "POST", False:
                return 201, self.writes.create(target, _decode_body(call))
            case "PUT", True:
                return 200, self.writes.update(target, _decode_body(call))
            case "PATCH", True:
                obj, created = self.writes.patch(target, _decode_body(call), call.content_type)
                return (201 if created else 200), self._represent(call, target, obj)
            case "DELETE", True:
                return 200, self._delete(call, target)
            case _:
                raise RefusedAnswer(
                    405, "MethodNotAllowed", "the server does not allow this method"
                )

    def _one(self, call: HttpRequest, target: WriteTarget) -> Object:
        live = self.storage.get(target.kind.resource, target.key)
        if live is None:
            raise not_found(target.kind.resource, target.name)
        return self._represent(call, target, live)

    def _delete(self, call: HttpRequest, target: WriteTarget) -> Object:
        before = self.storage.get(target.kind.resource, target.key)
        left = self.writes.delete(target, _decode_body(call) if call.body else {})
        if left is not None:
            return left
        uid = before["metadata"]["uid"] if before else ""
        details = {"name": target.name, "kind": target.kind.resource.plural, "uid": uid}
        return {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details}

    def _evict(self, target: WriteTarget, body: Object) -> Object:
        """See runtime.testing.api_server.eviction."""
        pod = self.storage.get(POD, target.key)
        if pod is None:
            raise not_found(POD, target.name)
        expect_evictable(self.storage, pod)
        self.writes.delete(replace(target, subresource=""), body.get("deleteOptions") or {})
        return {"kind": "Status", "apiVersion": "v1", "status": "Success"}

    def _represent(self, call: HttpRequest, target: WriteTarget, obj: Object) -> Object:
        path = RequestPath(target.kind, target.key.namespace or None)
        return self._question(path, call).shape(obj)

    def _question(self, path: RequestPath, call: HttpRequest) -> ReadQuery:
        selection = selection_of(path.kind, path.namespace, dict(call.query))
        return ReadQuery(path.kind, selection, asks_for_metadata(call.accept))

    def _request_path(self, path: str) -> RequestPath:
        """Parse a path; 404 if it is not served."""
        parts = [unquote(part) for part in path.strip("/").split("/")]
        match parts:
            case ["api", version, *rest]:
                group = ""
            case ["apis", group, version, *rest]:
                pass
            case _:
                raise not_served()
        namespace = None
        if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _SUBRESOURCES_OF_NAMESPACES:
            namespace, rest = rest[1], rest[2:]
        if not any((group, version) == known[:2] for known in self._kinds):
            raise no_such_group()
        kind = self._kinds.get((group, version, rest[0])) if rest else None
        if kind is None or len(rest) > 3 or (namespace and not kind.resource.namespaced):
            raise not_served()
        if kind.resource.namespaced and len(rest) > 1 and namespace is None:
            raise not_served()
        return RequestPath(kind, namespace, *rest[1:])

    def _kind(self, resource: Resource) -> Kind:
        return self._kinds[(resource.group, resource.version, resource.plural)]

    def _tell(self, change: StoredChange) -> None:
        for watch in self.watches:
            watch.tell(change)


def _wrong_option(field: str, text: str) -> RefusedAnswer:
    listing = Resource("meta.k8s.io", "v1", "ListOptions", "listoptions")
    return invalid(listing, "", Cause("FieldValueForbidden", text, field))


def _decode_body(call: HttpRequest) -> Any:
    try:
        return orjson.loads(call.body or b"{}")
    except orjson.JSONDecodeError as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from error
