"""runtime.client.client, transport and codec.

The requests, and the errors of bad responses.
"""

import asyncio
from typing import Any

import pytest

from runtime.builtin_kinds import CONFIG_MAP, LEASE
from runtime.client.client import WatchOptions
from runtime.client.codec import PARTIAL_LIST, PARTIAL_OBJECT, decode_event
from runtime.client.listing import ListOptions
from runtime.errors import Gone, Invalid, PatchFailed, TransportError
from runtime.testing.clock import ManualClock
from runtime.testing.scripted import (
    Answer,
    bookmark,
    drop,
    event,
    listing,
    reply,
    silence,
    status,
    stream,
)
from runtime.testing.wait import eventually
from runtime.types import key_of
from tests.runtime.serving import (
    WEB,
    Verb,
    apply,
    config_map,
    create,
    delete,
    get,
    patch,
    run_scripted_server,
    update,
)

PATH = "/api/v1/namespaces/shop/configmaps"
WATCH = WatchOptions(resource_version="100", timeout_seconds=300)


REQUESTS: dict[str, tuple[Verb, str, str, dict[str, str], dict[str, str]]] = {
    "get": (get, "GET", f"{PATH}/web", {}, {"Accept": "application/json"}),
    "get metadata": (
        lambda c: c.get(CONFIG_MAP, WEB, metadata_only=True),
        "GET",
        f"{PATH}/web",
        {},
        {"Accept": PARTIAL_OBJECT},
    ),
    "apply": (
        apply,
        "PATCH",
        f"{PATH}/web",
        {"fieldManager": "me", "force": "true", "fieldValidation": "Strict"},
        {"Content-Type": "application/apply-patch+yaml"},
    ),
    "apply without force to a status, as a trial": (
        lambda c: c.apply(
            CONFIG_MAP,
            config_map("web"),
            field_manager="a b",
            force=False,
            subresource="status",
            dry_run=True,
        ),
        "PATCH",
        f"{PATH}/web/status",
        {"fieldManager": "a b", "force": "false", "fieldValidation": "Strict", "dryRun": "All"},
        {},
    ),
    "create": (create, "POST", PATH, {"fieldManager": "me", "fieldValidation": "Strict"}, {}),
    "update": (update, "PUT", f"{PATH}/web", {"fieldValidation": "Strict"}, {}),
    "patch": (patch, "PATCH", f"{PATH}/web", {}, {"Content-Type": "application/json-patch+json"}),
    "delete": (delete, "DELETE", f"{PATH}/web", {}, {"Content-Type": "application/json"}),
    "create as a trial": (
        lambda c: c.create(CONFIG_MAP, config_map("web"), field_manager="me", dry_run=True),
        "POST",
        PATH,
        {"fieldManager": "me", "fieldValidation": "Strict", "dryRun": "All"},
        {},
    ),
    "update as a trial": (
        lambda c: c.update(CONFIG_MAP, config_map("web"), dry_run=True),
        "PUT",
        f"{PATH}/web",
        {"fieldValidation": "Strict", "dryRun": "All"},
        {},
    ),
    "patch as a trial, by a manager": (
        lambda c: c.json_patch(CONFIG_MAP, WEB, [], field_manager="me", dry_run=True),
        "PATCH",
        f"{PATH}/web",
        {"fieldManager": "me", "dryRun": "All"},
        {},
    ),
    "raw": (lambda c: c.get_raw("/readyz"), "GET", "/readyz", {}, {}),
}


@pytest.mark.parametrize(
    ("verb", "method", "path", "query", "headers"), REQUESTS.values(), ids=REQUESTS
)
async def test_requests(
    verb: Verb, method: str, path: str, query: dict[str, str], headers: dict[str, str]
) -> None:
    async with run_scripted_server(reply(200, config_map("web"))) as (server, client):
        await verb(client)
    [sent] = server.requests
    assert (sent.method, sent.path, sent.query) == (method, path, query)
    expected = {"Authorization": "Bearer t0", "User-Agent": "test/1", **headers}
    assert {name: sent.headers[name] for name in expected} == expected


async def test_a_delete_carries_its_preconditions() -> None:
    async with run_scripted_server(reply(200, {}), reply(202, {}), reply(200, {})) as (
        server,
        client,
    ):
        await client.delete(CONFIG_MAP, WEB, uid="u1")
        await client.delete(
            CONFIG_MAP, WEB, uid="u1", resource_version="7", propagation="Foreground"
        )
        await client.delete(CONFIG_MAP, WEB, uid="u1", dry_run=True)
    plain, strict, trial = (request.json for request in server.requests)
    assert (plain["preconditions"], plain["propagationPolicy"]) == ({"uid": "u1"}, "Background")
    assert strict["preconditions"] == {"uid": "u1", "resourceVersion": "7"}
    assert strict["propagationPolicy"] == "Foreground"
    # The server reads the query only without a body.
    assert ("dryRun" in plain, trial["dryRun"]) == (False, ["All"])


async def test_writes_without_a_precondition_are_rejected() -> None:
    async with run_scripted_server() as (server, client):
        with pytest.raises(ValueError, match="uid"):
            await client.delete(CONFIG_MAP, WEB, uid="")
        with pytest.raises(ValueError, match="resourceVersion"):
            await client.update(LEASE, {"metadata": {"name": "web", "namespace": "shop"}})
    assert server.requests == []


async def test_an_apply_returns_whether_it_created() -> None:
    web = config_map("web")
    async with run_scripted_server(reply(201, web), reply(200, web)) as (_server, client):
        results = [
            await client.apply(CONFIG_MAP, web, field_manager="me", force=False) for _ in range(2)
        ]
    assert [response.created for response in results] == [True, False]
    assert results[0].object == web


async def test_a_failed_patch_is_distinguished_from_an_invalid_object() -> None:
    cause = {"reason": "FieldValueInvalid", "field": "data[a b]", "message": "Invalid value"}
    script = (status(422, "Invalid"), status(422, "Invalid", causes=[cause]))
    async with run_scripted_server(*script) as (_server, client):
        with pytest.raises(PatchFailed):
            await patch(client)
        with pytest.raises(Invalid) as caught:
            await patch(client)
    assert not isinstance(caught.value, PatchFailed)


async def test_text_beyond_the_bmp_is_sent_as_utf8() -> None:
    async with run_scripted_server(reply(200, {})) as (server, client):
        await client.create(CONFIG_MAP, config_map("web", face="\U0001f600"), field_manager="me")
    assert "\U0001f600".encode() in server.requests[0].body


async def test_partial_objects_get_their_real_kind() -> None:
    partial = {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": {"name": "web"},
    }
    async with run_scripted_server(reply(200, partial), listing([partial])) as (server, client):
        live_config_map = await client.get(CONFIG_MAP, WEB, metadata_only=True)
        many = await client.list(CONFIG_MAP, "shop", options=ListOptions(metadata_only=True))
    assert server.requests[1].headers["Accept"] == PARTIAL_LIST
    for obj in (live_config_map, *many.items):
        assert (obj["apiVersion"], obj["kind"]) == ("v1", "ConfigMap")
    _, watched = decode_event(event("ADDED", partial), CONFIG_MAP)
    assert (watched["apiVersion"], watched["kind"]) == ("v1", "ConfigMap")


class TestList:
    """Pages, and changes between them."""

    async def test_all_pages_are_read_and_each_item_has_its_kind(self) -> None:
        bare = {"metadata": {"name": "bare"}}
        script = (
            listing([config_map("a"), bare], "100", token="t/1="),
            listing([config_map("b")], "105"),
        )
        async with run_scripted_server(*script) as (server, client):
            options = ListOptions(label_selector="a in (b,c)", limit=2, resource_version="90")
            answer = await client.list(CONFIG_MAP, "shop", options=options)
        assert [key_of(item).name for item in answer.items] == ["a", "bare", "b"]
        assert {(item["apiVersion"], item["kind"]) for item in answer.items} == {
            ("v1", "ConfigMap")
        }
        # The version of the first page is that of the whole list.
        assert answer.resource_version == "100"
        shared = {"labelSelector": "a in (b,c)", "limit": "2"}
        assert [request.query for request in server.requests] == [
            {**shared, "resourceVersion": "90"},
            {**shared, "continue": "t/1="},
        ]

    async def test_an_expired_token_causes_one_full_list(self) -> None:
        script = (
            listing([config_map("a")], "100", token="t1"),
            status(410, "Expired"),
            listing([config_map("a"), config_map("b")], "200"),
        )
        async with run_scripted_server(*script) as (server, client):
            answer = await client.list(CONFIG_MAP)
        assert [key_of(item).name for item in answer.items] == ["a", "b"]
        assert answer.resource_version == "200"
        assert server.requests[2].query == {}

    async def test_a_full_list_with_410_is_an_error(self) -> None:
        script = (status(410, "Expired"), status(410, "Expired"))
        async with run_scripted_server(*script) as (_server, client):
            with pytest.raises(Gone):
                await client.list(CONFIG_MAP)

    async def test_a_transform_sees_every_item(self) -> None:
        def name_only(obj: dict[str, Any]) -> dict[str, Any]:
            return {"metadata": {"name": obj["metadata"]["name"]}}

        script = (listing([config_map("a")], token="t"), listing([config_map("b")]))
        async with run_scripted_server(*script) as (_server, client):
            answer = await client.list(CONFIG_MAP, options=ListOptions(transform=name_only))
        assert answer.items == [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]

    @pytest.mark.parametrize(
        ("body", "count"),
        [({"kind": "ConfigMapList", "items": None}, 0), ({"kind": "ConfigMapList"}, 0)],
    )
    async def test_an_empty_list_may_have_no_items(self, body: object, count: int) -> None:
        async with run_scripted_server(reply(200, body)) as (_server, client):
            assert len((await client.list(CONFIG_MAP)).items) == count

    async def test_a_response_that_is_no_list_is_an_error(self) -> None:
        async with run_scripted_server(reply(200, {"kind": "Odd"})) as (_server, client):
            with pytest.raises(TransportError, match="not a list"):
                await client.list(CONFIG_MAP)


class TestWatch:
    """Raw lines, opening errors, broken streams."""

    async def lines(self, *script: Answer, options: WatchOptions = WATCH) -> list[bytes]:
        async with (
            run_scripted_server(*script) as (server, client),
            client.watch(CONFIG_MAP, "shop", options) as lines,
        ):
            watch = [line async for line in lines]
        [self.request] = server.requests
        return watch

    async def test_a_watch_requests_bookmarks_and_yields_whole_lines(self) -> None:
        first = event("ADDED", config_map("web"))
        options = WatchOptions("100", 300, label_selector="a=b", metadata_only=True)
        lines = await self.lines(
            stream(first[:10], first[10:] + bookmark("101"), bookmark("102")), options=options
        )
        assert lines == [first, bookmark("101"), bookmark("102")]
        assert self.request.query == {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "100",
            "timeoutSeconds": "300",
            "labelSelector": "a=b",
        }
        assert self.request.headers["Accept"] == PARTIAL_OBJECT

    async def test_a_truncated_line_is_an_error(self) -> None:
        for then in ("end", "cut"):
            with pytest.raises(TransportError, match="stream"):
                await self.lines(stream(bookmark("101"), b'{"type":"ADD', then=then))
        with pytest.raises(TransportError, match="stream broke"):
            await self.lines(stream(bookmark("101"), then="cut"))

    async def test_opening_errors_are_raised_by_entering(self) -> None:
        with pytest.raises(Gone):
            await self.lines(status(410, "Expired"))
        with pytest.raises(TransportError):
            await self.lines(drop)

    async def test_the_opening_of_a_watch_has_a_deadline(self) -> None:
        clock = ManualClock()
        async with run_scripted_server(silence, clock=clock) as (server, client):

            async def watch() -> None:
                async with client.watch(CONFIG_MAP, None, WATCH):
                    pass

            task = asyncio.create_task(watch())
            await eventually(lambda: server.requests)
            await clock.advance(10.1)
            with pytest.raises(TransportError, match="within 10 s"):
                await task

    async def test_watches_do_not_use_up_the_connections_of_requests(self) -> None:
        async with run_scripted_server(otherwise=stream(then="silence")) as (server, client):

            async def watch() -> None:
                async with client.watch(CONFIG_MAP, None, WATCH) as lines:
                    async for _ in lines:
                        pass

            watches = [asyncio.create_task(watch()) for _ in range(40)]
            await eventually(lambda: len(server.requests) == 40)
            server.extend(reply(200, config_map("web")))
            assert await get(client) == config_map("web")
            for task in watches:
                task.cancel()
            await asyncio.gather(*watches, return_exceptions=True)
