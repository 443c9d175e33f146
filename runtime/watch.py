"""How a list and watch goes on after each thing the server does: a pure step function.

    step(state, frame) -> (state, effects)

Frames are what happened, effects are what to do about it, in order. No I/O, no clock, no
randomness: runtime.reflector turns answers and errors into frames and performs the effects.

    LIST    a full list is needed; `reason` says why
    OPEN    the store stands at `resource_version`; a watch is to be opened there
    STREAM  that watch is open

The rules are those of client-go's reflector (tools/cache/reflector.go, 1.37) with one change: a
list always asks for the most recent state instead of any cached one. A controller that starts
from the past takes decisions about objects that are gone, and servers since 1.31 answer such
lists from their cache too (KEP-2340, consistent reads from cache). Whatever way a snapshot is
obtained, it enters as one Listed frame.
"""

from dataclasses import dataclass
from enum import Enum, unique
from typing import Any

from runtime.errors import (
    ApiError,
    Gone,
    ResourceVersionTooLarge,
    TooManyRequests,
    TransportError,
    status_error,
)
from runtime.types import Object, key_of, resource_version_of

SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner than this and brought nothing counts as a failed one."""


@unique
class Phase(Enum):
    """What has to happen next; see the module."""

    LIST = "list"
    OPEN = "open"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class State:
    """Where we stand.

    resource_version is the last one seen, of an object or a bookmark. listed_version and
    opened_version are what it was after the last list and at the last opening: as long as they
    are equal to it, that list or that watch has brought nothing yet. opened_at is in monotonic
    seconds.
    """

    phase: Phase = Phase.LIST
    resource_version: str = ""
    listed_version: str = ""
    opened_version: str = ""
    opened_at: float = 0.0
    reason: str = "initial"


# Frames ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listed:
    """A complete snapshot of the collection, already transformed."""

    items: list[Object]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Opened:
    """The server accepted the watch."""

    at: float


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the watch: ADDED, MODIFIED, DELETED, BOOKMARK, ERROR or a word of the future."""

    kind: str
    object: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """The server ended the watch in good order, as it does after timeoutSeconds."""

    at: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A list, an opening or a stream failed; a silent stream fails with a TransportError."""

    at: float
    error: ApiError | TransportError


Frame = Listed | Opened | Event | Ended | Failed


# Effects --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replace:
    """The store becomes exactly this."""

    items: list[Object]
    resource_version: str
    reason: str


@dataclass(frozen=True, slots=True)
class Upsert:
    """The object exists in this state."""

    object: Object


@dataclass(frozen=True, slots=True)
class Remove:
    """The object is gone, or no longer selected; this was its last state."""

    object: Object


@dataclass(frozen=True, slots=True)
class Progress:
    """Nothing changed up to this version."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Skip:
    """An event that cannot be used; the watch goes on."""

    kind: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Back off before the next request; error is None after watches that end at once."""

    error: ApiError | TransportError | None


Mirror = Replace | Upsert | Remove | Progress
"""The effects that concern the mirrored objects."""

Effect = Mirror | Skip | Pause
Step = tuple[State, tuple[Effect, ...]]

_EXPECTED: dict[Phase, tuple[type[Frame], ...]] = {
    Phase.LIST: (Listed, Failed),
    Phase.OPEN: (Opened, Failed),
    Phase.STREAM: (Event, Ended, Failed),
}


def step(state: State, frame: Frame) -> Step:
    """The next state and what to do on the way there.

    Raises ValueError for a frame that cannot occur in this phase: a bug of the loop around it.
    """
    if not isinstance(frame, _EXPECTED[state.phase]):
        raise ValueError(f"{type(frame).__name__} in phase {state.phase.value}")
    match frame:
        case Event():
            return _on_event(state, frame)
        case Listed(items, version):
            listed = State(Phase.OPEN, version, listed_version=version, reason=state.reason)
            return listed, (Replace(items, version, state.reason),)
        case Opened(at):
            return _stand(state, Phase.STREAM, opened_at=at), ()
        case Ended(at):
            pause = (Pause(None),) if _fruitless(state, at) else ()
            return _stand(state, Phase.OPEN), pause
        case Failed(at, error):
            return _on_failure(state, at, error)


def _on_event(state: State, event: Event) -> Step:
    if event.kind == "ERROR":
        # A 410 comes in two shapes: as the answer to the opening, and as an event like this.
        # Its time does not matter: only errors of the connection are judged by their age.
        return _on_failure(state, state.opened_at, status_error(event.object))
    version = resource_version_of(event.object)
    if not version or (event.kind != "BOOKMARK" and not key_of(event.object).name):
        return state, (Skip(event.kind),)
    effect: Effect
    match event.kind:
        case "ADDED" | "MODIFIED":
            effect = Upsert(event.object)
        case "DELETED":
            effect = Remove(event.object)
        case "BOOKMARK":
            effect = Progress(version)
        case _:
            return state, (Skip(event.kind),)
    moved = State(
        Phase.STREAM,
        version,
        state.listed_version,
        state.opened_version,
        state.opened_at,
        state.reason,
    )
    return moved, (effect,)


def _on_failure(state: State, at: float, error: ApiError | TransportError) -> Step:
    match error:
        case Gone() | ResourceVersionTooLarge():
            # At once, unless the very version of the last list is refused: that would spin.
            reason = "expired" if isinstance(error, Gone) else "too_large"
            spins = state.phase is Phase.LIST or state.resource_version == state.listed_version
            return _relist(state, reason), (Pause(error),) if spins else ()
        case TransportError() if state.phase is Phase.STREAM:
            pause = (Pause(error),) if _fruitless(state, at) else ()
            return _stand(state, Phase.OPEN), pause
        case TransportError() | TooManyRequests():
            phase = Phase.LIST if state.phase is Phase.LIST else Phase.OPEN
            return _stand(state, phase), (Pause(error),)
        case _:
            return _relist(state, type(error).__name__), (Pause(error),)


def _stand(state: State, phase: Phase, *, opened_at: float = 0.0) -> State:
    """The same place in history, in another phase."""
    version = state.resource_version
    return State(phase, version, state.listed_version, version, opened_at, state.reason)


def _relist(state: State, reason: str) -> State:
    kept = state.reason if state.phase is Phase.LIST else reason
    return State(Phase.LIST, state.resource_version, state.listed_version, reason=kept)


def _fruitless(state: State, at: float) -> bool:
    brought_nothing = state.resource_version == state.opened_version
    return brought_nothing and at - state.opened_at < SHORT_WATCH_SECONDS
