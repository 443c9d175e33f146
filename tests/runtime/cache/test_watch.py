"""runtime.cache.watch: the table of the effects of each frame in each phase.

test_watch_snapshot has the table of the phases of a streamed list.
"""

import pytest

from runtime.cache.watch import (
    Failed,
    Frame,
    ListResult,
    Pause,
    Phase,
    Remove,
    Replace,
    Rest,
    Skip,
    State,
    Upsert,
    WatchEnded,
    WatchEvent,
    WatchProgress,
    WatchStarted,
    step,
)
from runtime.errors import ApiError
from runtime.testing.scripted import status_body
from tests.runtime.frames import (
    BROKEN,
    BUSY,
    DENIED,
    EXPIRED,
    RESET,
    TOO_LARGE,
    Row,
    check,
    mark,
    obj,
)

START = State()
LISTED = State(Phase.OPEN, "100", listed_version="100", opened_version="")
# Opened at 50 s without events; the same later, after the watch has delivered events.
FRESH = State(Phase.STREAM, "100", "100", "100", opened_at=50.0)
MOVED = State(Phase.STREAM, "107", "100", "100", opened_at=50.0)
# Between two watches that have delivered events since the list.
AGAIN = State(Phase.OPEN, "107", "100", "107")


TABLE: dict[str, Row] = {
    "the first list fills the store": Row(
        START,
        ListResult([obj("90")], "100"),
        Phase.OPEN,
        "100",
        (Replace([obj("90")], "100", "initial"),),
    ),
    "an accepted watch starts where the list ended": Row(
        LISTED, WatchStarted(50.0), Phase.STREAM, "100", ()
    ),
    "an added object": Row(
        FRESH, WatchEvent("ADDED", obj("101")), Phase.STREAM, "101", (Upsert(obj("101")),)
    ),
    "a changed object": Row(
        MOVED, WatchEvent("MODIFIED", obj("108")), Phase.STREAM, "108", (Upsert(obj("108")),)
    ),
    "a deleted object": Row(
        MOVED, WatchEvent("DELETED", obj("109")), Phase.STREAM, "109", (Remove(obj("109")),)
    ),
    "a bookmark moves the version and nothing else": Row(
        MOVED, WatchEvent("BOOKMARK", mark("200")), Phase.STREAM, "200", (WatchProgress("200"),)
    ),
    "an event type of the future is skipped": Row(
        MOVED, WatchEvent("PAUSED", obj("108")), Phase.STREAM, "107", (Skip("PAUSED"),)
    ),
    "a repeated event is ignored": Row(
        MOVED, WatchEvent("ADDED", obj("106")), Phase.STREAM, "107", (Skip("ADDED"),)
    ),
    "an older bookmark is ignored": Row(
        MOVED, WatchEvent("BOOKMARK", mark("99")), Phase.STREAM, "107", (Skip("BOOKMARK"),)
    ),
    "objects that expire together are deleted at one version": Row(
        MOVED, WatchEvent("DELETED", obj("107")), Phase.STREAM, "107", (Remove(obj("107")),)
    ),
    "versions that are not numbers have no order": Row(
        State(Phase.STREAM, "b7", "a1", "a1", opened_at=50.0),
        WatchEvent("MODIFIED", obj("a9")),
        Phase.STREAM,
        "a9",
        (Upsert(obj("a9")),),
    ),
    "an object without a version is skipped": Row(
        MOVED, WatchEvent("ADDED", obj("")), Phase.STREAM, "107", (Skip("ADDED"),)
    ),
    "an object without a name is skipped": Row(
        MOVED, WatchEvent("DELETED", obj("108", name="")), Phase.STREAM, "107", (Skip("DELETED"),)
    ),
    "a watch that reached its timeout is reopened immediately": Row(
        MOVED, WatchEnded(400.0), Phase.OPEN, "107", ()
    ),
    "a watch with events that ended early is reopened after a second": Row(
        MOVED, WatchEnded(50.25), Phase.OPEN, "107", (Rest(0.75),)
    ),
    "a watch with events that broke early is reopened after a second": Row(
        MOVED, Failed(50.25, RESET), Phase.OPEN, "107", (Rest(0.75),)
    ),
    "an idle watch that reached its timeout is reopened immediately": Row(
        FRESH, WatchEnded(51.0), Phase.OPEN, "100", ()
    ),
    "a watch that ended immediately without events backs off": Row(
        FRESH, WatchEnded(50.9), Phase.OPEN, "100", (Pause(None),)
    ),
    "a stream that broke after some time is reopened immediately": Row(
        FRESH, Failed(90.0, RESET), Phase.OPEN, "100", ()
    ),
    "a stream that broke immediately backs off": Row(
        FRESH, Failed(50.1, RESET), Phase.OPEN, "100", (Pause(RESET),)
    ),
    "an unreachable server: the list is retried": Row(
        START, Failed(1.0, RESET), Phase.LIST, "", (Pause(RESET),)
    ),
    "an unreachable server: the watch is reopened at the same version": Row(
        AGAIN, Failed(1.0, RESET), Phase.OPEN, "107", (Pause(RESET),)
    ),
    "410 as the answer to an opening": Row(AGAIN, Failed(1.0, EXPIRED), Phase.LIST, "107", ()),
    "410 as an event of the stream": Row(
        MOVED, WatchEvent("ERROR", status_body(410, "Expired")), Phase.LIST, "107", ()
    ),
    "410 for the version of the very last list backs off": Row(
        LISTED, Failed(1.0, EXPIRED), Phase.LIST, "100", (Pause(EXPIRED),)
    ),
    "410 for a list backs off": Row(START, Failed(1.0, EXPIRED), Phase.LIST, "", (Pause(EXPIRED),)),
    "a server with an older history": Row(AGAIN, Failed(1.0, TOO_LARGE), Phase.LIST, "107", ()),
    "a busy server keeps the version": Row(
        AGAIN, Failed(1.0, BUSY), Phase.OPEN, "107", (Pause(BUSY),)
    ),
    "a busy server in a list": Row(START, Failed(1.0, BUSY), Phase.LIST, "", (Pause(BUSY),)),
    "an internal error may invalidate the version": Row(
        AGAIN, Failed(1.0, BROKEN), Phase.LIST, "107", (Pause(BROKEN),)
    ),
    "lost permissions": Row(AGAIN, Failed(1.0, DENIED), Phase.LIST, "107", (Pause(DENIED),)),
    "no permission from the start": Row(
        START, Failed(1.0, DENIED), Phase.LIST, "", (Pause(DENIED),)
    ),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_table(row: Row) -> None:
    check(row)


@pytest.mark.parametrize("code", [429, 500])
def test_an_error_event_is_handled_like_the_same_error_of_an_opening(code: int) -> None:
    body = status_body(code, "odd", retryAfterSeconds=2)
    after, effects = step(MOVED, WatchEvent("ERROR", body))
    assert after.phase is (Phase.OPEN if code == 429 else Phase.LIST)
    [pause] = effects
    assert isinstance(pause, Pause)
    assert isinstance(pause.error, ApiError)
    assert pause.error.code == code
    assert pause.error.retry_after == 2


@pytest.mark.parametrize(
    ("state", "error", "reason"),
    [
        (START, DENIED, "initial"),
        (AGAIN, EXPIRED, "expired"),
        (AGAIN, TOO_LARGE, "too_large"),
        (AGAIN, BROKEN, "ServerError"),
        (State(Phase.LIST, "107", reason="expired"), BROKEN, "expired"),
    ],
)
def test_the_reason_of_a_list_is_its_first_cause(
    state: State, error: ApiError, reason: str
) -> None:
    after, _ = step(state, Failed(1.0, error))
    assert after.reason == reason
    _, effects = step(after, ListResult([], "300"))
    assert effects == (Replace([], "300", reason),)


def test_a_watch_that_is_opened_again_starts_fresh() -> None:
    state = MOVED
    for frame in (WatchEnded(400.0), WatchStarted(401.0)):
        state, _ = step(state, frame)
    assert state == State(Phase.STREAM, "107", "100", "107", opened_at=401.0)
    _, effects = step(state, WatchEnded(401.5))
    assert effects == (Pause(None),)


@pytest.mark.parametrize(
    ("state", "frame"),
    [
        (START, WatchStarted(1.0)),
        (START, WatchEvent("ADDED", obj("1"))),
        (START, WatchEnded(1.0)),
        (LISTED, ListResult([], "1")),
        (LISTED, WatchEvent("ADDED", obj("1"))),
        (LISTED, WatchEnded(1.0)),
        (FRESH, ListResult([], "1")),
        (FRESH, WatchStarted(1.0)),
    ],
)
def test_frames_that_cannot_occur_are_refused(state: State, frame: Frame) -> None:
    with pytest.raises(ValueError, match="in phase"):
        step(state, frame)
