"""A client whose server is a dict in this process, for effects: it records and fails requests.

The writes to a real API server are tested in tests/integration; this one knows only names, UIDs and
versions.
"""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, Self, TypeVar

import orjson

from managers.bao.login import Logins
from managers.cluster.observe.from_objects import SecretReading, secret_reading
from managers.context.context import FIELD_MANAGER, MARKS, Context
from managers.context.pause_guard import check
from managers.context.reads.secrets import SecretStore
from runtime.apply.apply import OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.builtin_kinds import POD
from runtime.cache.cache import Cache
from runtime.cache.informer import Informer
from runtime.cache.selection import Selection
from runtime.cache.watch import Replace
from runtime.client.client import ApplyResult, Client
from runtime.clock import Clock
from runtime.errors import ApiError, PatchFailed, StatusInfo, status_error
from runtime.events import EventRecorder, Reporter
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.fields import Path, leaves, merge_fields, tree_of, without
from runtime.testing.api_server.patching import Impossible, apply_json_patch
from runtime.testing.api_server.schema import Schema
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Resource, key_of, resource_version_of, uid_of
from tests.gen.worlds import INSTALLATION

Where = tuple[Resource, ObjectKey]
VERSION = "/metadata/resourceVersion"
PLAIN = Schema()
"""Every list is replaced as a whole."""
UNREAD = Metrics()
"""Shared by all informers: creating metrics takes longer than a reconcile."""
READS = frozenset({"get", "peek"})
"""Verbs of calls that write nothing."""
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Gone",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its verb, the kind and name, and its body."""

    verb: str
    kind: str
    name: str
    body: Any = None
    force: bool = False
    manager: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.kind} {self.name}"


def _answering(
    method: Callable[Concatenate[FakeApi, Arguments], Awaitable[Answer]],
) -> Callable[Concatenate[FakeApi, Arguments], Coroutine[Any, Any, Answer]]:
    """Call the hook of a test between the execution of a call and its response."""

    @wraps(method)
    async def call(self: FakeApi, /, *args: Arguments.args, **more: Arguments.kwargs) -> Answer:
        answer = await method(self, *args, **more)
        await self.answering(self.calls[-1])
        return answer

    return call


class FakeApi(Client):
    """Objects by resource and key; `calls` are all requests in order."""

    def __init__(self) -> None:
        self.guard = check
        self.objects: dict[Where, Object] = {}
        self.raw: dict[str, Any] = {}
        self.calls: list[Call] = []
        self._versions = itertools.count(10)
        self._tokens = 0
        self._refusals: dict[str, Exception] = {}
        self._applied: dict[tuple[Resource, ObjectKey, str], frozenset[Path]] = {}

    def with_objects(self, *objects: tuple[Resource, Object]) -> FakeApi:
        """Add objects without recording a call."""
        for resource, obj in objects:
            self._store(resource, _copy(obj))
        return self

    def copied(self) -> Self:
        """Another server with the same objects, without the calls."""
        other = copy.copy(self)
        other.objects = {where: _copy(obj) for where, obj in self.objects.items()}
        other.raw, other.calls = _copy(self.raw), []
        other._versions = copy.copy(self._versions)
        other._refusals, other._applied = dict(self._refusals), dict(self._applied)
        return other

    def of(self, resource: Resource) -> list[Object]:
        """Copies of all objects of a kind."""
        return [_copy(obj) for (kind, _), obj in self.objects.items() if kind == resource]

    def refuse(self, what: str, error: Exception) -> None:
        """Answer the next request with the text `what` ("create Secret x") with an error."""
        self._refusals[what] = error

    def take_requests(self) -> list[str]:
        """Return the calls as texts, and clear the record."""
        words = [str(call) for call in self.calls]
        self.calls.clear()
        return words

    def body_of(self, what: str) -> Any:
        """The body of the only call with the text `what`."""
        (body,) = [call.body for call in self.calls if str(call) == what]
        return body

    @_answering
    async def get(
        self, resource: Resource, key: ObjectKey, *, metadata_only: bool = False
    ) -> Object:
        self._note(Call("peek" if metadata_only else "get", resource.kind, key.name))
        live = _copy(self._find(resource, key))
        return {f: live[f] for f in ("apiVersion", "kind", "metadata")} if metadata_only else live

    @_answering
    async def create(
        self,
        resource: Resource,
        body: Object,
        *,
        field_manager: str,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        body = _copy(body)
        if subresource == "token":
            return self._token(body)
        if prefix := body["metadata"].pop("generateName", ""):
            body["metadata"]["name"] = f"{prefix}{next(self._versions)}"
        key = key_of(body)
        self._note(Call("create", resource.kind, key.name, _copy(body)))
        if (resource, key) in self.objects:
            _fail(409, "AlreadyExists", f"{key.name} exists")
        return self._store(resource, body)

    def _token(self, body: Object) -> Object:
        """Answer a TokenRequest; nothing is stored."""
        self._note(Call("create/token", "ServiceAccount", key_of(body).name, body))
        self._tokens += 1
        return {**body, "status": {"token": f"jwt-{self._tokens}"}}

    @_answering
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
        key = key_of(body)
        verb = f"apply/{subresource}" if subresource else "apply"
        self._note(Call(verb, resource.kind, key.name, body, force, field_manager))
        live = self.objects.get((resource, key))
        wanted_uid = uid_of(body)
        if wanted_uid and (live is None or uid_of(live) != wanted_uid):
            _fail(404 if subresource else 409, "NotFound" if subresource else "Conflict", "uid")
        wanted_version = resource_version_of(body)
        if wanted_version and live and wanted_version != resource_version_of(live):
            _fail(409, "Conflict", "the object has been modified")
        left = live
        if subresource == "status":
            left = self._without_former(live, (resource, key, field_manager), body)
        after = self.admitted(_copy(merge_fields(left or {}, body, PLAIN)))
        if after == live:
            # Without a change the version stays the same, as on a real server.
            return ApplyResult(_copy(live), created=False)
        return ApplyResult(self._store(resource, after), created=live is None)

    def _without_former(
        self, live: Object | None, who: tuple[Resource, ObjectKey, str], body: Object
    ) -> Object | None:
        """Remove status fields that this manager applied before and does not apply any more."""
        former = self._applied.get(who, frozenset())
        present = self._applied[who] = frozenset(path for path, _ in leaves(body["status"], PLAIN))
        gone = former - present
        if live is None or not gone:
            return live
        return {**live, "status": without(live["status"], tree_of(gone), PLAIN) or {}}

    async def answering(self, call: Call) -> None:
        """A hook between the execution of a call and its response; does nothing by default."""

    def admitted(self, obj: Object) -> Object:
        """The form in which the server stores an object; unchanged by default."""
        return obj

    @_answering
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
        self._note(Call("patch", resource.kind, key.name, list(ops)))
        live = _copy(self._find(resource, key))
        try:
            for op in _copy(list(ops)):
                replaced = op["path"] if op["op"] == "replace" else ""
                if replaced == VERSION and op["value"] != resource_version_of(live):
                    _fail(409, "Conflict", "the object has been modified")
                live = apply_json_patch(live, [op])
        except Impossible as error:
            # The message of the real client.
            raise PatchFailed(StatusInfo(422, "Invalid", str(error))) from error
        return self._store(resource, live)

    @_answering
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
        body = {"uid": uid, "propagation": propagation}
        if resource_version is not None:
            body["version"] = resource_version
        self._note(Call("delete", resource.kind, key.name, body))
        if uid_of(self._find(resource, key)) != uid:
            _fail(409, "Conflict", "the uid differs")
        del self.objects[(resource, key)]

    @_answering
    async def evict(self, key: ObjectKey, *, uid: str) -> None:
        self._note(Call("evict", POD.kind, key.name, {"uid": uid}))
        if uid_of(self._find(POD, key)) != uid:
            _fail(409, "Conflict", "the uid differs")
        del self.objects[(POD, key)]

    @_answering
    async def get_raw(self, path: str, *, most: int | None = None) -> bytes:
        self._note(Call("get", "path", path))
        if path not in self.raw:
            _fail(404, "NotFound", path)
        return orjson.dumps(self.raw[path])

    def _note(self, call: Call) -> None:
        self.calls.append(call)
        error = self._refusals.pop(str(call), None)
        if error is not None:
            raise error

    def _find(self, resource: Resource, key: ObjectKey) -> Object:
        if (resource, key) not in self.objects:
            _fail(404, "NotFound", f"no {resource.kind} {key}")
        return self.objects[(resource, key)]

    def _store(self, resource: Resource, obj: Object) -> Object:
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(next(self._versions))
        metadata.setdefault("uid", f"uid-{metadata['name']}")
        self.objects[(resource, key_of(obj))] = obj
        copied: Object = _copy(obj)
        return copied


def owned_apply(
    client: Client,
    caches: Mapping[Resource, Cache],
    clock: Clock | None = None,
    metrics: Metrics = UNREAD,
) -> OwnedApply:
    """The apply of the operator, through this client and over these caches."""
    return OwnedApply(
        client,
        caches,
        field_manager=FIELD_MANAGER,
        marks=MARKS,
        metrics=metrics,
        apply_cache=ApplyCache(clock or ManualClock(), random.Random(1)),
    )


def api_error(code: int) -> ApiError:
    """An error response of the API server with that code."""
    return status_error({"code": code, "reason": REASONS[code], "message": f"told to say {code}"})


def _fail(code: int, reason: str, message: str) -> NoReturn:
    raise status_error({"code": code, "reason": reason, "message": message})


def _copy(value: Any) -> Any:
    # Objects are JSON, and this is ten times faster than copy.deepcopy.
    return orjson.loads(orjson.dumps(value))


class StillInformer(Informer):
    """An informer whose objects a test sets."""

    def __init__(self, resource: Resource, label_selector: str = "") -> None:
        selection = Selection(resource, label_selector=label_selector)
        rng = random.Random(1)
        super().__init__(FakeApi(), selection, clock=ManualClock(), rng=rng, metrics=UNREAD)
        self._version = 0

    def says(self, *objects: Object) -> None:
        """Set the objects."""
        versions = [int(resource_version_of(obj) or 0) for obj in objects]
        self._version = max(self._version, *versions, 0)
        self._take_in(Replace(list(objects), str(self._version), "initial"))


class Outside:
    """A context for effects, and its parts."""

    def __init__(self, api: FakeApi | None = None) -> None:
        self.api = api or FakeApi()
        self.clock = ManualClock()
        self.secrets: SecretStore[SecretReading] = SecretStore(self.api, self.clock, secret_reading)
        self.events = EventRecorder(
            self.api, Reporter("test.example.com/op", "1"), clock=self.clock
        )
        self.logins = Logins(self.api, self.clock, INSTALLATION)
        self.context = Context(
            self.api, self.secrets, self.clock, lambda count: b"\x07" * count, self.events
        )

    async def flush_events(self) -> list[tuple[str, str, str]]:
        """Send all queued events, and return kind, reason and note of each."""
        before = len(self.api.calls)
        self.events.stop()
        await self.events.run()
        sent = self.api.calls[before:]
        del self.api.calls[before:]
        return [(e.body["type"], e.body["reason"], e.body["note"]) for e in sent]
