"""The state machine of a list and watch, as a pure step function.

    step(state, frame) -> (state, effects)

Frames are the inputs, effects the outputs, in order. No I/O, no clock, no randomness:
runtime.cache.reflector converts responses and errors to frames and performs the effects.

    SNAPSHOT  a full list is needed, and a watch is to be opened that begins with one
    COLLECT   that watch is open; its list is collected outside of the store until complete
    LIST      a full list is needed, page by page
    OPEN      the store is at `resource_version`; a watch is to be opened there
    STREAM    that watch is open

The rules are those of client-go's reflector (tools/cache/reflector.go, 1.37) with two changes.

A list, streamed or paged, always requests the most recent state, instead of any cached one or one
at least as new as the last version seen. A controller that starts from an old state acts on objects
that no longer exist, and since 1.31 servers respond to such lists from their cache too (KEP-2340,
consistent reads from cache).

A watch that ends within its first second is not reopened before that second is over, even if it
delivered events: if a server or a proxy ends each watch after one event, this causes one request
per second and not a busy loop.
"""

from dataclasses import dataclass
from enum import Enum, unique
from typing import Any, NamedTuple

from runtime.cache.store import version_number
from runtime.errors import (
    ApiError,
    Gone,
    ResourceVersionTooLarge,
    TooManyRequests,
    TransportError,
    status_error,
)
from runtime.types import Object, ObjectKey, annotations_of, key_of, resource_version_of

SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner and delivered nothing is treated as a failure."""

SNAPSHOT_TRIES = 3
"""Streamed lists that may fail in a row before the list is fetched in pages: the cause (a proxy
that limits or buffers bytes) may persist."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark that ends a streamed list (KEP-3157)."""

_UNSUPPORTED_CODES = frozenset({400, 405, 406, 415, 422, 501})
"""Codes with which servers without support reject the request for a streamed list."""


@unique
class Phase(Enum):
    """The next action; the module docstring describes each phase."""

    SNAPSHOT = "snapshot"
    COLLECT = "collect"
    LIST = "list"
    OPEN = "open"
    STREAM = "stream"


class State(NamedTuple):
    """The state of one list and watch.

    resource_version is the last one of an object or a bookmark, but never of an object of a
    streamed list, because these have no order. listed_version and opened_version are its values
    after the last list and at the last opening: while they are equal to it, that list or that watch
    has delivered nothing. opened_at is in monotonic seconds. streams: whether lists are requested
    as streams; broken: how many of these failed in a row.
    """

    phase: Phase = Phase.LIST
    resource_version: str = ""
    listed_version: str = ""
    opened_version: str = ""
    opened_at: float = 0.0
    reason: str = "initial"
    streams: bool = False
    broken: int = 0


def start(*, watch_list: bool) -> State:
    """The initial state."""
    return State(Phase.SNAPSHOT if watch_list else Phase.LIST, streams=watch_list)


class SilentStreamError(TransportError):
    """The idle timeout of an open watch expired."""


# Frames ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListResult:
    """A complete snapshot of the collection, already transformed."""

    items: list[Object]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WatchStarted:
    """The server accepted the watch."""

    at: float


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One line of the watch: ADDED, MODIFIED, DELETED, BOOKMARK, ERROR or a future type."""

    kind: str
    object: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WatchEnded:
    """The server ended the watch cleanly, as it does after timeoutSeconds."""

    at: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A list, an opening or a stream failed."""

    at: float
    error: ApiError | TransportError


Frame = ListResult | WatchStarted | WatchEvent | WatchEnded | Failed


# Effects --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace the content of the store."""

    items: list[Object]
    resource_version: str
    reason: str


@dataclass(frozen=True, slots=True)
class Upsert:
    """The object exists in this state."""

    object: Object


@dataclass(frozen=True, slots=True)
class Remove:
    """The object was deleted or is no longer selected; this is its last state."""

    object: Object


@dataclass(frozen=True, slots=True)
class WatchProgress:
    """Nothing changed up to this version."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Gather:
    """The object is part of the streamed list, in this state."""

    key: ObjectKey
    object: Object


@dataclass(frozen=True, slots=True)
class Forget:
    """The object is no longer part of the streamed list."""

    key: ObjectKey


@dataclass(frozen=True, slots=True)
class Complete:
    """The gathered objects are the complete list: a Replace with them follows."""

    resource_version: str
    reason: str


@dataclass(frozen=True, slots=True)
class Discard:
    """Drop the gathered objects: the list failed."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Ignore an event that cannot be used; the watch continues."""

    kind: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Back off before the next request; error is None after a watch that ended too soon."""

    error: ApiError | TransportError | None


@dataclass(frozen=True, slots=True)
class Rest:
    """Wait that many seconds before the next request, because the last one was too recent."""

    seconds: float


Mirror = Replace | Upsert | Remove | WatchProgress
"""The effects that concern the mirrored objects."""

Effect = Mirror | Gather | Forget | Complete | Discard | Skip | Pause | Rest
Step = tuple[State, tuple[Effect, ...]]

_EXPECTED: dict[Phase, tuple[type[Frame], ...]] = {
    Phase.SNAPSHOT: (WatchStarted, Failed),
    Phase.COLLECT: (WatchEvent, WatchEnded, Failed),
    Phase.LIST: (ListResult, Failed),
    Phase.OPEN: (WatchStarted, Failed),
    Phase.STREAM: (WatchEvent, WatchEnded, Failed),
}


def step(state: State, frame: Frame) -> Step:
    """Return the next state and the effects.

    Raises ValueError for a frame that cannot occur in this phase: a bug of the caller.
    """
    if not isinstance(frame, _EXPECTED[state.phase]):
        raise ValueError(f"{type(frame).__name__} in phase {state.phase.value}")
    match frame:
        case WatchEvent():
            return _on_event(state, frame)
        case ListResult(items, version):
            listed = _listed_at(state, version, Phase.OPEN)
            return listed, (Replace(items, version, state.reason),)
        case WatchStarted(at):
            phase = Phase.COLLECT if state.phase is Phase.SNAPSHOT else Phase.STREAM
            return _in_phase(state, phase)._replace(opened_at=at), ()
        case WatchEnded(at) if state.phase is Phase.COLLECT:
            return _on_broken_list(state, None)
        case WatchEnded(at):
            return _in_phase(state, Phase.OPEN), _spacing(state, at, None)
        case Failed(at, error) if state.phase in (Phase.SNAPSHOT, Phase.COLLECT):
            return _on_failed_snapshot(state, error)
        case Failed(at, error):
            return _on_failure(state, at, error)


def _on_event(state: State, event: WatchEvent) -> Step:
    if event.kind == "ERROR":
        # A 410 has two forms: the response to the opening, and an event like this. Its time does
        # not matter: only connection errors are handled by age.
        return step(state, Failed(state.opened_at, status_error(event.object)))
    version = resource_version_of(event.object)
    key = key_of(event.object)
    if not version or (event.kind != "BOOKMARK" and not key.name):
        return state, (Skip(event.kind),)
    if state.phase is Phase.COLLECT:
        return _on_listed_event(state, event, key)
    effect: Effect
    match event.kind:
        case "ADDED" | "MODIFIED":
            effect = Upsert(event.object)
        case "DELETED":
            effect = Remove(event.object)
        case "BOOKMARK":
            effect = WatchProgress(version)
        case _:
            return state, (Skip(event.kind),)
    if version == state.resource_version:
        return state, (effect,)
    if _is_repetition(version, state.resource_version):
        return state, (Skip(event.kind),)
    return state._replace(resource_version=version), (effect,)


def _on_listed_event(state: State, event: WatchEvent, key: ObjectKey) -> Step:
    """An event of a streamed list; it may be a change that was made meanwhile."""
    match event.kind:
        case "ADDED" | "MODIFIED":
            return state, (Gather(key, event.object),)
        case "DELETED":
            return state, (Forget(key),)
        case "BOOKMARK" if annotations_of(event.object).get(INITIAL_EVENTS_END) == "true":
            version = resource_version_of(event.object)
            listed = _listed_at(state, version, Phase.STREAM)
            return listed, (Complete(version, state.reason),)
        case "BOOKMARK":
            return state, ()
        case _:
            return state, (Skip(event.kind),)


def _on_failed_snapshot(state: State, error: ApiError | TransportError) -> Step:
    match error:
        case SilentStreamError():
            # Either a dead connection or a server that never sends the end of a list, such as an
            # old aggregated one that ignores unknown parameters.
            return state._replace(phase=Phase.LIST, broken=0), (Discard(),)
        case TransportError():
            return _on_broken_list(state, error)
        case TooManyRequests() | Gone() | ResourceVersionTooLarge():
            return state._replace(phase=Phase.SNAPSHOT), (Discard(), Pause(error))
        case _ if error.code in _UNSUPPORTED_CODES:
            # Do not try again: the server does not support streamed lists.
            return state._replace(phase=Phase.LIST, streams=False), (Discard(),)
        case _:
            # Only this time: the paged list may succeed, or fail for another reason.
            return state._replace(phase=Phase.LIST), (Discard(), Pause(error))


def _on_broken_list(state: State, error: TransportError | None) -> Step:
    broken = state.broken + 1
    phase = Phase.SNAPSHOT if broken < SNAPSHOT_TRIES else Phase.LIST
    return state._replace(phase=phase, broken=broken), (Discard(), Pause(error))


def _on_failure(state: State, at: float, error: ApiError | TransportError) -> Step:
    match error:
        case Gone() | ResourceVersionTooLarge():
            # Immediately, unless the server rejects the version of its last list: that would be a
            # busy loop.
            reason = "expired" if isinstance(error, Gone) else "too_large"
            spins = state.phase is Phase.LIST or state.resource_version == state.listed_version
            return _relist(state, reason), (Pause(error),) if spins else ()
        case SilentStreamError() if state.resource_version == state.opened_version:
            # Not even a bookmark: the server may have been restored from a backup, and waits for a
            # version in its future (seen with 1.36).
            return _relist(state, "silent"), ()
        case TransportError() if state.phase is Phase.STREAM:
            return _in_phase(state, Phase.OPEN), _spacing(state, at, error)
        case TransportError() | TooManyRequests():
            phase = Phase.LIST if state.phase is Phase.LIST else Phase.OPEN
            return _in_phase(state, phase), (Pause(error),)
        case _:
            return _relist(state, type(error).__name__), (Pause(error),)


def _in_phase(state: State, phase: Phase) -> State:
    """Return the state at the same version, in another phase."""
    return state._replace(phase=phase, opened_version=state.resource_version, opened_at=0.0)


def _listed_at(state: State, version: str, phase: Phase) -> State:
    return state._replace(
        phase=phase,
        resource_version=version,
        listed_version=version,
        opened_version="",
        broken=0,
    )


def _relist(state: State, reason: str) -> State:
    if state.phase is Phase.LIST:
        return state
    phase = Phase.SNAPSHOT if state.streams else Phase.LIST
    return state._replace(phase=phase, opened_version="", opened_at=0.0, reason=reason)


def _spacing(state: State, at: float, error: TransportError | None) -> tuple[Effect, ...]:
    """Return the pause before the next watch, if this one ended too soon."""
    age = at - state.opened_at
    if age >= SHORT_WATCH_SECONDS:
        return ()
    if state.resource_version == state.opened_version:
        return (Pause(error),)
    return (Rest(SHORT_WATCH_SECONDS - age),)


def _is_repetition(version: str, previous: str) -> bool:
    """Whether a later version was delivered already.

    A repeated event could restore an object that was deleted since. API servers do not repeat
    events, but a proxy may.
    """
    number, last = version_number(version), version_number(previous)
    return number is not None and last is not None and number < last
