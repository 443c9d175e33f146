"""runtime.cache.watch: the effects of each frame while a list is streamed."""

import pytest

from runtime.cache.watch import (
    SNAPSHOT_TRIES,
    Complete,
    Discard,
    Failed,
    Forget,
    Frame,
    Gather,
    ListResult,
    Pause,
    Phase,
    Rest,
    Skip,
    State,
    WatchEnded,
    WatchEvent,
    WatchProgress,
    WatchStarted,
    start,
    step,
)
from runtime.errors import ApiError
from runtime.testing.scripted import status_body
from tests.runtime.frames import (
    BROKEN,
    BUSY,
    DENIED,
    EXPIRED,
    INVALID,
    RESET,
    SILENT,
    WEB,
    Row,
    check,
    mark,
    obj,
)

# Before a streamed list; during it; after it, while the watch continues.
ASK = start(watch_list=True)
COLLECTING = State(Phase.COLLECT, opened_at=50.0, streams=True)
STREAMED = State(Phase.STREAM, "107", "100", "", opened_at=50.0, streams=True)
LIST_REFUSED = State(Phase.LIST, "107", "100", streams=True)

TABLE: dict[str, Row] = {
    "an accepted snapshot": Row(ASK, WatchStarted(50.0), Phase.COLLECT, "", ()),
    "an object of a snapshot does not change the version": Row(
        COLLECTING, WatchEvent("ADDED", obj("101")), Phase.COLLECT, "", (Gather(WEB, obj("101")),)
    ),
    "an object that changes during a snapshot": Row(
        COLLECTING,
        WatchEvent("MODIFIED", obj("108")),
        Phase.COLLECT,
        "",
        (Gather(WEB, obj("108")),),
    ),
    "an object that is deleted during a snapshot": Row(
        COLLECTING, WatchEvent("DELETED", obj("108")), Phase.COLLECT, "", (Forget(WEB),)
    ),
    "a bookmark in the middle of a snapshot is ignored": Row(
        COLLECTING, WatchEvent("BOOKMARK", mark("108")), Phase.COLLECT, "", ()
    ),
    "a bookmark without the end marker": Row(
        COLLECTING, WatchEvent("BOOKMARK", mark("108", "false")), Phase.COLLECT, "", ()
    ),
    "the end of a snapshot": Row(
        COLLECTING,
        WatchEvent("BOOKMARK", mark("108", "true")),
        Phase.STREAM,
        "108",
        (Complete("108", "initial"),),
    ),
    "the end of a snapshot without a version is ignored": Row(
        COLLECTING, WatchEvent("BOOKMARK", mark("", "true")), Phase.COLLECT, "", (Skip("BOOKMARK"),)
    ),
    "an end marker in a watch is a bookmark": Row(
        STREAMED,
        WatchEvent("BOOKMARK", mark("108", "true")),
        Phase.STREAM,
        "108",
        (WatchProgress("108"),),
    ),
    "a watch that ends after its snapshot counts as one with events": Row(
        STREAMED._replace(resource_version="100"),
        WatchEnded(50.25),
        Phase.OPEN,
        "100",
        (Rest(0.75),),
    ),
    "a snapshot that breaks off": Row(
        COLLECTING, Failed(90.0, RESET), Phase.SNAPSHOT, "", (Discard(), Pause(RESET))
    ),
    "a snapshot that ends before its end": Row(
        COLLECTING, WatchEnded(400.0), Phase.SNAPSHOT, "", (Discard(), Pause(None))
    ),
    "a snapshot that broke off too often": Row(
        COLLECTING._replace(broken=SNAPSHOT_TRIES - 1),
        Failed(90.0, RESET),
        Phase.LIST,
        "",
        (Discard(), Pause(RESET)),
    ),
    "a snapshot that becomes silent": Row(
        COLLECTING, Failed(90.0, SILENT), Phase.LIST, "", (Discard(),)
    ),
    "a snapshot that could not be opened too often": Row(
        ASK._replace(broken=SNAPSHOT_TRIES - 1),
        Failed(1.0, RESET),
        Phase.LIST,
        "",
        (Discard(), Pause(RESET)),
    ),
    "a silent opening": Row(ASK, Failed(1.0, RESET), Phase.SNAPSHOT, "", (Discard(), Pause(RESET))),
    "a busy server and a snapshot": Row(
        ASK, Failed(1.0, BUSY), Phase.SNAPSHOT, "", (Discard(), Pause(BUSY))
    ),
    "a server that streams no lists": Row(ASK, Failed(1.0, INVALID), Phase.LIST, "", (Discard(),)),
    "a server that forbids a snapshot": Row(
        ASK, Failed(1.0, DENIED), Phase.LIST, "", (Discard(), Pause(DENIED))
    ),
    "an expired watch requests a snapshot again": Row(
        STREAMED, Failed(90.0, EXPIRED), Phase.SNAPSHOT, "107", ()
    ),
    "a list in place of a snapshot stays a list until it succeeds": Row(
        LIST_REFUSED, Failed(90.0, BROKEN), Phase.LIST, "107", (Pause(BROKEN),)
    ),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_table(row: Row) -> None:
    check(row)


@pytest.mark.parametrize("code", [410, 429])
def test_an_error_event_in_a_snapshot_restarts_it(code: int) -> None:
    after, effects = step(COLLECTING, WatchEvent("ERROR", status_body(code, "odd")))
    assert after.phase is Phase.SNAPSHOT
    discard, pause = effects
    assert discard == Discard()
    assert isinstance(pause, Pause)
    assert isinstance(pause.error, ApiError)
    assert pause.error.code == code


def test_t09_no_version_is_stored_before_the_end_of_a_snapshot() -> None:
    state = ASK
    for frame in (
        WatchStarted(1.0),
        WatchEvent("ADDED", obj("999")),
        WatchEvent("BOOKMARK", mark("100", "true")),
    ):
        state, _ = step(state, frame)
    assert state == State(Phase.STREAM, "100", "100", "", opened_at=1.0, streams=True)
    state, _ = step(state, WatchEvent("MODIFIED", obj("101")))
    assert state.resource_version == "101"


def test_t10_only_unsupported_streams_are_remembered() -> None:
    refused, _ = step(ASK, Failed(1.0, INVALID))
    denied, _ = step(ASK, Failed(1.0, DENIED))
    for state, phase in ((refused, Phase.LIST), (denied, Phase.SNAPSHOT)):
        for frame in (ListResult([], "100"), WatchStarted(2.0), Failed(9.0, EXPIRED)):
            state, _ = step(state, frame)
        assert state.phase is phase


def test_t10_only_snapshots_in_a_row_count_as_broken() -> None:
    state = COLLECTING._replace(broken=SNAPSHOT_TRIES - 1)
    state, _ = step(state, WatchEvent("BOOKMARK", mark("100", "true")))
    assert state.broken == 0


@pytest.mark.parametrize(
    ("state", "frame"),
    [
        (ASK, ListResult([], "1")),
        (ASK, WatchEvent("ADDED", obj("1"))),
        (ASK, WatchEnded(1.0)),
        (COLLECTING, WatchStarted(1.0)),
        (COLLECTING, ListResult([], "1")),
    ],
)
def test_frames_that_cannot_occur_are_refused(state: State, frame: Frame) -> None:
    with pytest.raises(ValueError, match="in phase"):
        step(state, frame)
