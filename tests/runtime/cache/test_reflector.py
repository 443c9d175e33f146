"""runtime.cache.reflector: the loop, with real sockets and manual time. Its decisions: test_watch.

Lists are paged here; test_watch_list has the streamed ones.
"""

import asyncio

import pytest
from aiohttp import web

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.reflector import IDLE_SECONDS, LIST_PAGE
from runtime.cache.selection import Selection
from runtime.testing.scripted import (
    Answer,
    bookmark,
    drop,
    event,
    listing,
    reply,
    status,
    status_body,
    stream,
    trickle,
)
from tests.runtime.reflecting import OPEN, added_event, reflecting
from tests.runtime.serving import config_map


async def test_a_list_then_a_watch_from_where_it_ended() -> None:
    chosen = Selection(CONFIG_MAP, "shop", label_selector="a=b", field_selector="metadata.name=x")
    script = (
        listing([config_map("a", "90")], "100"),
        stream(
            added_event("b", "101"),
            event("MODIFIED", config_map("b", "102")),
            event("DELETED", config_map("b", "103")),
            bookmark("150"),
            then="silence",
        ),
    )
    async with reflecting(*script, selection=chosen) as rig:
        await rig.hears("=a@100", "+b@101", "+b@102", "-b@103", "^150")
    listed, watched = rig.server.requests
    selectors = {"labelSelector": "a=b", "fieldSelector": "metadata.name=x"}
    # The first list requests the most recent state: no resourceVersion.
    assert listed.query == {**selectors, "limit": str(LIST_PAGE)}
    assert 300 <= int(watched.query["timeoutSeconds"]) <= 600
    expected = {**selectors, "resourceVersion": "100", "allowWatchBookmarks": "true"}
    assert expected.items() <= watched.query.items()


async def test_t09_an_expired_watch_is_reopened_at_the_last_bookmark() -> None:
    script = (listing([]), stream(bookmark("150")), OPEN)
    async with reflecting(*script) as rig:
        await rig.waits()
        assert (await rig.await_request(3)).query["resourceVersion"] == "150"
        assert rig.relists("initial") == 1


@pytest.mark.parametrize(
    "refusal",
    [
        status(410, "Expired"),
        stream(event("ERROR", status_body(410, "Expired"))),
        stream(event("ERROR", status_body(410, "Gone"))),
    ],
    ids=["answer", "event Expired", "event Gone"],
)
async def test_t09_410_in_both_forms_causes_a_list_of_the_most_recent_state(
    refusal: Answer,
) -> None:
    script = (
        listing([config_map("a", "90")], "100"),
        stream(added_event("b", "110")),
        refusal,
        listing([config_map("c", "190")], "200"),
        OPEN,
    )
    async with reflecting(*script) as rig:
        await rig.waits()
        await rig.hears("=a@100", "+b@110", "=c@200")
        # The list requests the most recent state: no resourceVersion.
        assert "resourceVersion" not in rig.server.requests[3].query
        assert (await rig.await_request(5)).query["resourceVersion"] == "200"
        assert rig.relists("expired") == 1
        assert rig.clock.monotonic() == 1.0


async def test_t14_a_server_that_rejects_its_own_lists_causes_no_busy_loop() -> None:
    async with reflecting(listing([]), status(410, "Expired"), listing([]), OPEN) as rig:
        await rig.await_request(2)
        pause = await rig.pauses()
        assert 0.8 <= pause <= 1.6
        assert len(rig.server.requests) == 2
        await rig.clock.advance(pause)
        await rig.await_request(4)


TORN: dict[str, Answer] = {
    "cut connection": stream(added_event("b", "110"), then="cut"),
    "cut line": stream(added_event("b", "110"), b'{"type":"MODIF'),
    "garbage": stream(added_event("b", "110"), b"<html>\n", then="silence"),
    "bad text": stream(added_event("b", "110"), b'{"type":"\xff"}\n', then="silence"),
}


@pytest.mark.parametrize("torn", TORN.values(), ids=TORN)
async def test_t15_a_truncated_stream_continues_at_its_last_version(torn: Answer) -> None:
    script = (listing([]), torn, stream(added_event("c", "111"), then="silence"))
    async with reflecting(*script) as rig:
        # It delivered an event, but ended immediately: the next watch waits until a second is over.
        assert await rig.waits() == 1.0
        await rig.hears("=@100", "+b@110", "+c@111")
        assert rig.server.requests[2].query["resourceVersion"] == "110"


async def test_t15_an_event_of_eight_mebibytes_is_read() -> None:
    large = config_map("large", "101", data="x" * (8 << 20))
    async with reflecting(listing([]), stream(event("ADDED", large), then="silence")) as rig:
        await rig.hears("=@100", "+large@101")


async def test_events_that_cannot_be_used_are_skipped() -> None:
    script = (
        listing([]),
        stream(
            event("NEWS", config_map("a", "105")),
            event("ADDED", {"metadata": {"name": "x"}}),
            added_event("b", "110"),
            added_event("old", "109"),
            then="silence",
        ),
    )
    async with reflecting(*script) as rig:
        await rig.hears("=@100", "+b@110")


async def test_t14_a_half_open_connection_ends_at_the_idle_timeout() -> None:
    script = (
        listing([]),
        stream(bookmark("110"), then="silence"),
        stream(added_event("b", "111"), then="silence"),
    )
    async with reflecting(*script) as rig:
        await rig.hears("=@100", "^110")
        await rig.clock.advance(IDLE_SECONDS - 1.0)
        assert len(rig.server.requests) == 2
        assert rig.reflector.last_contact == 0.0
        await rig.clock.advance(1.5)
        await rig.hears("=@100", "^110", "+b@111")
        assert rig.server.requests[2].query["resourceVersion"] == "110"
        assert rig.reflector.last_contact == IDLE_SECONDS


async def test_each_line_resets_the_idle_timeout_but_not_the_end_of_the_watch() -> None:
    lines = asyncio.Queue[bytes]()
    async with reflecting(listing([]), trickle(lines), OPEN) as rig:
        await rig.await_request(2)
        version = 200
        while len(rig.server.requests) < 3:
            version += 1
            lines.put_nowait(bookmark(str(version)))
            await rig.ends_with(f"^{version}")
            await rig.clock.advance(50.0)
        # timeoutSeconds is 300 to 600 s, the grace 30 s, and the test checks every 50 s.
        count = int(rig.server.requests[1].query["timeoutSeconds"])
        assert count + 30.0 <= rig.clock.monotonic() <= count + 80.0


async def test_t14_watches_that_end_immediately_back_off() -> None:
    async with reflecting(listing([]), otherwise=stream()) as rig:
        for low in (0.8, 1.6, 3.2, 6.4, 12.8, 15.0, 15.0):
            assert low <= await rig.waits() <= 2 * low
        assert len(rig.server.requests) <= 9


async def test_t14_short_watches_with_events_are_opened_once_a_second() -> None:
    versions = iter(range(101, 1000))

    async def one_bookmark_each(request: web.BaseRequest) -> web.StreamResponse:
        return await stream(bookmark(str(next(versions))))(request)

    async with reflecting(listing([]), otherwise=one_bookmark_each) as rig:
        for _ in range(20):
            await rig.waits()
        assert len(rig.server.requests) <= rig.clock.monotonic() + 2
        assert len(rig.words) >= 20


async def test_an_unreachable_server_is_retried_often_at_the_same_version() -> None:
    script = (listing([]), stream(added_event("b", "110"), then="cut"), drop, drop, drop, OPEN)
    async with reflecting(*script) as rig:
        assert await rig.waits() == 1.0
        for low in (0.1, 0.2, 0.4):
            assert low <= await rig.waits() <= 2 * low
        assert (await rig.await_request(6)).query["resourceVersion"] == "110"
        assert rig.words == ["=@100", "+b@110"]


async def test_t14_the_retry_after_of_a_busy_server_is_respected() -> None:
    busy = status(429, "TooManyRequests", retryAfterSeconds=20)
    async with reflecting(listing([]), busy, OPEN) as rig:
        assert await rig.pauses() == 20.0
        await rig.clock.advance(20.0)
        assert (await rig.await_request(3)).query["resourceVersion"] == "100"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (status(403, "Forbidden"), "Forbidden"),
        (status(404, "NotFound"), "NotFound"),
        (status(500, "InternalError"), "ServerError"),
        (reply(200, b"<html>"), "TransportError"),
        (drop, "TransportError"),
    ],
)
async def test_every_error_of_a_list_is_retried(answer: Answer, error: str) -> None:
    again = (answer, answer) if answer is drop else (answer,)
    async with reflecting(*again, listing([config_map("a")]), OPEN) as rig:
        pause = await rig.pauses()
        assert type(rig.reflector.last_error).__name__ == error
        assert rig.effects == []
        await rig.clock.advance(pause)
        await rig.hears("=a@100")
        assert rig.reflector.last_error is None


async def test_a_list_without_a_version_is_an_error() -> None:
    """A watch without version would send every object again, in no order."""
    async with reflecting(listing([], ""), listing([config_map("a")]), OPEN) as rig:
        await rig.waits()
        await rig.hears("=a@100")
        assert (await rig.await_request(3)).query["resourceVersion"] == "100"
