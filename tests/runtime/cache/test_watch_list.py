"""runtime.cache.reflector with streamed lists (WatchList), with sockets and manual time."""

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.reflector import COLLECT_IDLE_SECONDS, IDLE_SECONDS
from runtime.cache.selection import Selection
from runtime.cache.watch import SNAPSHOT_TRIES, Replace
from runtime.testing.scripted import (
    Answer,
    bookmark,
    drop,
    event,
    listing,
    status,
    status_body,
    stream,
)
from runtime.types import Object
from tests.runtime.reflecting import OPEN, Rig, added_event, end_of_list, reflecting
from tests.runtime.serving import config_map

WHOLE = stream(added_event("a", "95"), added_event("b", "90"), end_of_list("100"), then="silence")


def asks_for_a_snapshot(rig: Rig) -> list[bool]:
    """Whether each request so far requested a streamed list."""
    return ["sendInitialEvents" in request.query for request in rig.server.requests]


async def test_a_list_and_the_watch_after_it_are_one_request() -> None:
    chosen = Selection(CONFIG_MAP, "shop", label_selector="a=b", field_selector="metadata.name=x")
    script = stream(
        added_event("a", "95"),
        added_event("b", "90"),
        end_of_list("100"),
        event("MODIFIED", config_map("b", "102")),
        bookmark("150"),
        then="silence",
    )
    async with reflecting(script, selection=chosen, watch_list=True) as rig:
        await rig.hears("=a,b@100", "+b@102", "^150")
        [request] = rig.server.requests
        assert 300 <= int(request.query["timeoutSeconds"]) <= 600
        expected = {
            "watch": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
            "labelSelector": "a=b",
            "fieldSelector": "metadata.name=x",
            "timeoutSeconds": request.query["timeoutSeconds"],
        }
        assert request.query == expected
        assert rig.relists("initial") == 1


@pytest.mark.parametrize("then", ["cut", "end"])
async def test_t10_an_incomplete_list_changes_nothing(then: str) -> None:
    part = stream(added_event("z", "80"), added_event("a", "95"), then=then)
    async with reflecting(part, WHOLE, watch_list=True) as rig:
        await rig.waits()
        await rig.hears("=a,b@100")
        assert asks_for_a_snapshot(rig) == [True, True]


async def test_t10_changes_in_the_middle_of_a_list_are_part_of_it() -> None:
    script = stream(
        added_event("a", "95"),
        added_event("b", "90"),
        event("DELETED", config_map("a", "101")),
        bookmark("102"),
        event("MODIFIED", config_map("b", "103")),
        event("NEWS", config_map("c", "104")),
        end_of_list("105"),
        then="silence",
    )
    async with reflecting(script, watch_list=True) as rig:
        await rig.hears("=b@105")
        [replaced] = rig.effects
        assert isinstance(replaced, Replace)
        assert replaced.items[0]["metadata"]["resourceVersion"] == "103"


async def test_t10_a_store_is_replaced_only_by_a_complete_list() -> None:
    gone = event("ERROR", status_body(410, "Expired"))
    script = (
        stream(added_event("a", "95"), end_of_list("100"), bookmark("110"), gone),
        stream(added_event("c", "195"), then="cut"),
        stream(added_event("c", "195"), end_of_list("200"), then="silence"),
    )
    async with reflecting(*script, watch_list=True) as rig:
        await rig.hears("=a@100", "^110")
        await rig.waits()
        await rig.hears("=a@100", "^110", "=c@200")
        # The most recent state is requested, not one as new as the last.
        assert all("resourceVersion" not in request.query for request in rig.server.requests)
        assert rig.relists("expired") == 1


async def test_t10_lists_whose_stream_always_breaks_are_paged() -> None:
    part = stream(added_event("a", "95"), then="cut")
    script = (*(part,) * SNAPSHOT_TRIES, listing([config_map("a", "95")]), OPEN)
    async with reflecting(*script, watch_list=True) as rig:
        for _ in range(SNAPSHOT_TRIES):
            await rig.waits()
        await rig.hears("=a@100")
        await rig.await_request(SNAPSHOT_TRIES + 2)
        assert asks_for_a_snapshot(rig) == [True] * SNAPSHOT_TRIES + [False, False]


REFUSALS: dict[str, Answer] = {
    "400": status(400, "BadRequest"),
    "422": status(422, "Invalid", "sendInitialEvents is forbidden for watch"),
    "an event": stream(event("ERROR", status_body(422, "Invalid"))),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
async def test_t10_a_server_without_streamed_lists_gets_one_request(
    refusal: Answer,
) -> None:
    script = (
        refusal,
        listing([config_map("a", "90")]),
        status(410, "Expired"),
        listing([config_map("b", "190")], "200"),
        OPEN,
    )
    async with reflecting(*script, watch_list=True) as rig:
        await rig.hears("=a@100")
        assert rig.clock.monotonic() == 0.0
        await rig.waits()
        await rig.hears("=a@100", "=b@200")
        await rig.await_request(5)
        assert asks_for_a_snapshot(rig) == [True, False, False, False, False]


@pytest.mark.parametrize("code", [401, 403, 404, 500, 503])
async def test_t10_any_other_error_causes_one_paged_list(code: int) -> None:
    refused = (status(code, "Refused"),) * (2 if code == 401 else 1)
    script = (*refused, listing([config_map("a", "90")]), status(410, "Expired"), WHOLE)
    async with reflecting(*script, watch_list=True) as rig:
        await rig.waits()
        await rig.waits()
        await rig.hears("=a@100", "=a,b@100")
        assert asks_for_a_snapshot(rig)[-3:] == [False, False, True]


BUSY = status(429, "TooManyRequests", retryAfterSeconds=20)
TROUBLE = {"busy": (BUSY, 20.0), "gone": (status(410, "Expired"), 0.8), "unreachable": (drop, 0.1)}


@pytest.mark.parametrize(("trouble", "low"), TROUBLE.values(), ids=TROUBLE)
async def test_t10_a_stream_is_requested_again_after_a_server_error(
    trouble: Answer, low: float
) -> None:
    async with reflecting(trouble, WHOLE, watch_list=True) as rig:
        assert low <= await rig.waits() <= max(20.0, 2 * low)
        await rig.hears("=a,b@100")
        assert asks_for_a_snapshot(rig) == [True, True]


async def test_t10_a_list_without_an_end_is_paged() -> None:
    """As by a server that ignores unknown parameters."""
    endless = stream(added_event("a", "95"), bookmark("100"), then="silence")
    async with reflecting(endless, listing([config_map("a", "95")]), OPEN, watch_list=True) as rig:
        await rig.await_request(1)
        await rig.clock.advance(COLLECT_IDLE_SECONDS)
        await rig.hears("=a@100")
        assert rig.clock.monotonic() == COLLECT_IDLE_SECONDS


async def test_t10_after_the_list_a_quiet_watch_stays_open() -> None:
    """Bookmarks arrive about once a minute: the idle timeout of a list does not apply to a
    watch."""
    async with reflecting(WHOLE, OPEN, watch_list=True) as rig:
        await rig.hears("=a,b@100")
        await rig.clock.advance(IDLE_SECONDS - 1.0)
        assert len(rig.server.requests) == 1
        await rig.clock.advance(1.0)
        await rig.await_request(2)


async def test_t16_the_gathered_list_is_reduced_object_by_object() -> None:
    seen: list[str] = []

    def watched(obj: Object) -> Object:
        seen.append(obj["metadata"]["name"])
        return {**obj, "data": {}}

    chosen = Selection(CONFIG_MAP, "shop", transform=watched)
    async with reflecting(WHOLE, selection=chosen, watch_list=True) as rig:
        await rig.hears("=a,b@100")
        [replaced] = rig.effects
        assert isinstance(replaced, Replace)
        assert seen == ["a", "b"]
        for obj in replaced.items:
            assert obj["data"] == {}
            assert "managedFields" not in obj["metadata"]


async def test_t14_lists_that_end_immediately_back_off() -> None:
    """Streams break, pages fail, and so on: less than two requests a second."""
    async with reflecting(otherwise=stream(), watch_list=True) as rig:
        for _ in range(20):
            await rig.waits()
        assert len(rig.server.requests) < 2 * rig.clock.monotonic()
