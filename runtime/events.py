"""Kubernetes events: short messages to users about an object.

Uses one method of a client and the clock. Reconcilers call `EventRecorder.event`, which never waits
and never fails; the manager runs the recorder, which sends them. No code may rely on an event:
events are dropped on overload and on errors, and the server deletes them after an hour.

They are events.k8s.io/v1; the limits are those of the API server's validation
(pkg/apis/core/validation/events.go).
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import structlog

from runtime.builtin_kinds import EVENT
from runtime.clock import Clock
from runtime.types import Object, Resource, key_of, resource_version_of, uid_of

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

NOTE_LIMIT: Final = 1024
"""Longest note, in bytes."""

WORD_LIMIT: Final = 128
"""Longest reason, action and reporting instance, in characters."""

QUEUE_LIMIT: Final = 256
"""Maximum number of events that wait to be sent; more are dropped."""

REPEAT_SECONDS: Final = 600.0
"""How long a repetition of the same note about the same object is suppressed."""

REMEMBER_LIMIT: Final = 4096
"""Maximum number of notes that are stored to detect repetitions; the oldest are dropped first."""

FALLBACK_NAMESPACE: Final = "default"
"""The namespace of events about cluster-scoped objects, as the API server requires."""

EventType = Literal["Normal", "Warning"]


class EventClient(Protocol):
    """The one call a recorder makes."""

    async def create(
        self, resource: Resource, body: Object, /, *, field_manager: str
    ) -> object: ...


@dataclass(frozen=True, slots=True)
class Reporter:
    """The sender: `controller` is a qualified name ("example.org/operator"), `instance` the pod."""

    controller: str
    instance: str


_Fingerprint = tuple[str, str, str]


class EventRecorder:
    """Records events from anywhere in the process and sends them one at a time."""

    def __init__(self, client: EventClient, reporter: Reporter, *, clock: Clock) -> None:
        self._client = client
        self._reporter = reporter
        self._clock = clock
        self._queue: asyncio.Queue[tuple[_Fingerprint, Object] | None] = asyncio.Queue()
        self._recent: OrderedDict[_Fingerprint, float] = OrderedDict()
        self._failing = False
        self._overflowing = False

    def event(
        self, obj: Object, kind: EventType, reason: str, note: str, *, action: str = "Reconcile"
    ) -> None:
        """Record an event about `obj`: `reason` and `action` are CamelCase words, `note` a
        sentence.

        The same reason and note about the same object within REPEAT_SECONDS are recorded once.
        `obj` needs apiVersion, kind and its metadata.
        """
        fingerprint = (uid_of(obj), reason, note)
        now = self._clock.monotonic()
        if now - self._recent.get(fingerprint, -REPEAT_SECONDS) < REPEAT_SECONDS:
            return
        if self._queue.qsize() >= QUEUE_LIMIT:
            if not self._overflowing:
                log.warning("events dropped: the queue is full")
            self._overflowing = True
            return
        self._overflowing = False
        self._remember(fingerprint, now)
        self._queue.put_nowait((fingerprint, self._body(obj, kind, reason, _cut(note), action)))

    async def run(self) -> None:
        """Send until cancelled, or until `stop`, and then what is still queued."""
        while (entry := await self._queue.get()) is not None:
            await self._send(*entry)

    def stop(self) -> None:
        """End `run` once every recorded event was sent or rejected."""
        self._queue.put_nowait(None)

    async def _send(self, fingerprint: _Fingerprint, body: Object) -> None:
        try:
            await self._client.create(EVENT, body, field_manager=self._reporter.controller)
        except Exception as error:  # noqa: BLE001 - a failed event only causes a log line
            # Try again at the next occurrence.
            self._recent.pop(fingerprint, None)
            if not self._failing:
                log.warning("events cannot be sent", error=type(error).__name__, detail=str(error))
            self._failing = True
        else:
            self._failing = False

    def _remember(self, fingerprint: _Fingerprint, now: float) -> None:
        self._recent[fingerprint] = now
        self._recent.move_to_end(fingerprint)
        while self._recent:
            oldest = next(iter(self._recent))
            if len(self._recent) <= REMEMBER_LIMIT and now - self._recent[oldest] < REPEAT_SECONDS:
                return
            del self._recent[oldest]

    def _body(self, obj: Object, kind: EventType, reason: str, note: str, action: str) -> Object:
        key = key_of(obj)
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {
                "generateName": f"{key.name}-",
                "namespace": key.namespace or FALLBACK_NAMESPACE,
            },
            "eventTime": self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "type": kind,
            "reason": reason[:WORD_LIMIT],
            "action": action[:WORD_LIMIT],
            "note": note,
            "regarding": _reference(obj),
            "reportingController": self._reporter.controller,
            "reportingInstance": self._reporter.instance[:WORD_LIMIT],
        }


def _reference(obj: Mapping[str, Any]) -> dict[str, str]:
    key = key_of(obj)
    reference = {
        "apiVersion": obj.get("apiVersion", ""),
        "kind": obj.get("kind", ""),
        "namespace": key.namespace,
        "name": key.name,
        "uid": uid_of(obj),
        "resourceVersion": resource_version_of(obj),
    }
    return {name: value for name, value in reference.items() if value}


def _cut(note: str) -> str:
    """Escape control characters and cut to NOTE_LIMIT bytes, at a character boundary.

    A note may contain text of users and of servers, and users read it in a terminal.
    """
    escaped = "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode()
        for char in note
    )
    return escaped.encode("utf-8", "replace")[:NOTE_LIMIT].decode("utf-8", "ignore")
