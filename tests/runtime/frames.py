"""Objects, bookmarks and errors for frames of runtime.cache.watch."""

from typing import Any, NamedTuple

from runtime.cache.watch import (
    INITIAL_EVENTS_END,
    Effect,
    Frame,
    Phase,
    SilentStreamError,
    State,
    step,
)
from runtime.errors import ApiError, TransportError, status_error
from runtime.testing.scripted import status_body
from runtime.types import ObjectKey

WEB = ObjectKey("shop", "web")


def obj(version: str, name: str = "web") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "shop", "resourceVersion": version}}


def mark(version: str, end: str = "") -> dict[str, Any]:
    annotations = {INITIAL_EVENTS_END: end} if end else {}
    return {"metadata": {"resourceVersion": version, "annotations": annotations}}


def api(code: int, reason: str, **details: object) -> ApiError:
    return status_error(status_body(code, reason, "", **details))


RESET = TransportError("reset")
EXPIRED = api(410, "Expired")
TOO_LARGE = api(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge"}])
BUSY = api(429, "TooManyRequests", retryAfterSeconds=2)
BROKEN = api(500, "InternalError")
DENIED = api(403, "Forbidden")
INVALID = api(422, "Invalid")
SILENT = SilentStreamError("the watch timed out: no data")


class Row(NamedTuple):
    """A state, a frame, and the resulting phase, version and effects."""

    state: State
    frame: Frame
    phase: Phase
    version: str
    effects: tuple[Effect, ...]


def check(row: Row) -> None:
    """Take the step of that row."""
    state, frame, phase, version, effects = row
    after, actions = step(state, frame)
    assert (after.phase, after.resource_version) == (phase, version)
    assert actions == effects
