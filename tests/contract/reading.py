"""Cases about lists and watches."""

from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.codec import PARTIAL_LIST
from runtime.client.listing import ListOptions
from runtime.client.transport import HttpRequest
from runtime.errors import BadRequest, NotFound, ResourceVersionTooLarge, status_error
from runtime.types import Object, ObjectKey, Resource, uid_of
from tests.contract.bench import Bench, number, refusal_of, rv

FOREIGN = "kube-root-ca.crt"
"""A ConfigMap that the controllers of a complete cluster create in each namespace."""

NOT_FOREIGN = f"metadata.name!={FOREIGN}"


def _names(items: list[Object]) -> list[str]:
    return [
        item["metadata"]["name"] for item in items if item["metadata"]["name"] != "kube-root-ca.crt"
    ]


async def case_pages_of_a_list_have_one_version(bench: Bench) -> None:
    for name in "abcde":
        await bench.create(name)
    first = await bench.listed(limit="2")
    assert first["kind"] == "ConfigMapList"
    assert first["apiVersion"] == "v1"
    assert _names(first["items"]) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    await bench.create("bb")
    await bench.client.delete(CONFIG_MAP, bench.key("d"), uid=uid_of(await bench.live("d")))
    second = await bench.listed(limit="2", **{"continue": first["metadata"]["continue"]})
    third = await bench.listed(limit="2", **{"continue": second["metadata"]["continue"]})
    assert _names([*second["items"], *third["items"]]) == ["c", "d", "e"]
    assert rv(first) == rv(second) == rv(third)
    assert not third["metadata"].get("continue")


async def case_items_of_a_list_have_no_kind(bench: Bench) -> None:
    await bench.create()
    (item,) = (await bench.listed(labelSelector="", fieldSelector="metadata.name=a"))["items"]
    assert "kind" not in item
    assert "apiVersion" not in item


async def case_an_empty_list_has_items_and_a_version(bench: Bench) -> None:
    answer = await bench.listed(labelSelector="no=such")
    assert answer["items"] == []
    assert number(answer) > 0


async def case_a_list_may_request_a_minimum_version(bench: Bench) -> None:
    config_map = await bench.create()
    answer = await bench.listed(resourceVersion=rv(config_map))
    assert number(answer) >= number(config_map)
    assert "a" in _names(answer["items"])


async def case_a_list_at_a_future_version_is_refused(bench: Bench) -> None:
    future = str(number(await bench.listed()) + 1_000_000)
    error = await refusal_of(bench.listed(resourceVersion=future))
    assert isinstance(error, ResourceVersionTooLarge), error
    assert error.reason == "Timeout"
    assert [cause.reason for cause in error.causes] == ["ResourceVersionTooLarge"]
    assert error.retry_after is not None


async def case_an_invalid_version_is_refused(bench: Bench) -> None:
    error = await refusal_of(bench.listed(resourceVersion="soon"))
    assert error.code in (400, 422, 500), error


async def case_selectors_filter_lists(bench: Bench) -> None:
    await bench.create("a", labels={"app": "web"})
    await bench.create("b", labels={"app": "web", "tier": "x"})
    await bench.create("c", labels={"app": "db"})
    await bench.create("d")
    expected = {
        "app=web": "ab",
        "app==web": "ab",
        "app!=web": "cd",
        "app in (web,db)": "abc",
        "app notin (web)": "cd",
        "app": "abc",
        "!app": "d",
        "app=web,tier": "b",
        "app=web,!tier": "a",
        "app in (db),tier!=x": "c",
    }
    for selector, names in expected.items():
        config_maps = await bench.client.list(
            CONFIG_MAP, bench.namespace, options=ListOptions(label_selector=selector)
        )
        assert _names(config_maps.items) == list(names), selector


async def case_only_some_fields_can_be_selected(bench: Bench) -> None:
    for name in "ab":
        await bench.create(name)
    one = await bench.listed(fieldSelector="metadata.name=b")
    assert _names(one["items"]) == ["b"]
    error = await refusal_of(bench.listed(fieldSelector="data.k=v"))
    assert isinstance(error, BadRequest)


async def case_lists_and_objects_with_metadata_only(bench: Bench) -> None:
    live = await bench.create(k="v")
    answer = await bench.listed(PARTIAL_LIST, fieldSelector="metadata.name=a")
    assert answer["kind"] == "PartialObjectMetadataList"
    assert answer["apiVersion"] == "meta.k8s.io/v1"
    (item,) = answer["items"]
    assert item.keys() - {"kind", "apiVersion"} == {"metadata"}
    assert item["metadata"]["uid"] == uid_of(live)
    config_map = await bench.client.get(CONFIG_MAP, bench.key(), metadata_only=True)
    assert config_map.keys() == {"kind", "apiVersion", "metadata"}
    assert config_map["metadata"] == live["metadata"]


async def case_a_watch_continues_from_a_version(bench: Bench) -> None:
    before = await bench.create("a", k="1")
    config_map = await bench.create("b")
    changed = await bench.patch([{"op": "add", "path": "/data", "value": {"k": "2"}}], "b")
    await bench.client.delete(CONFIG_MAP, bench.key("b"), uid=uid_of(config_map))
    events = await bench.watched(3, resourceVersion=rv(before))
    assert [event.word for event in events] == ["ADDED b", "MODIFIED b", "DELETED b"]
    versions = [number(event.object) for event in events]
    assert versions[:2] == [number(config_map), number(changed)]
    # A deletion has a new version, on the last state of the object.
    assert versions[2] > versions[1]
    assert events[2].object["data"] == {"k": "2"}
    assert events[0].object["kind"] == "ConfigMap"


async def case_a_watch_without_a_version_starts_with_existing_objects(bench: Bench) -> None:
    await bench.create("a")
    await bench.create("b")
    for start in ("", "0"):
        events = await bench.watched(2, resourceVersion=start, fieldSelector=NOT_FOREIGN)
        assert sorted(event.word for event in events) == ["ADDED a", "ADDED b"]


async def case_an_object_that_leaves_or_enters_a_selection_is_deleted_or_added(
    bench: Bench,
) -> None:
    config_map = await bench.create("a", labels={"app": "web"}, k="1")
    left = await bench.patch([{"op": "replace", "path": "/metadata/labels/app", "value": "db"}])
    back = await bench.patch([{"op": "replace", "path": "/metadata/labels/app", "value": "web"}])
    events = await bench.watched(2, resourceVersion=rv(config_map), labelSelector="app=web")
    assert [event.word for event in events] == ["DELETED a", "ADDED a"]
    # The last selected state, with the version at which it left the selection.
    assert events[0].object["metadata"]["labels"] == {"app": "web"}
    assert number(events[0].object) == number(left)
    assert number(events[1].object) == number(back)


async def case_a_metadata_only_watch(bench: Bench) -> None:
    listed = await bench.listed()
    await bench.create("a", k="v")
    (event,) = await bench.watched(1, partial=True, resourceVersion=rv(listed))
    assert event.object["kind"] == "PartialObjectMetadata"
    assert event.object.keys() == {"kind", "apiVersion", "metadata"}


async def case_a_streamed_list_ends_with_a_bookmark(bench: Bench) -> None:
    await bench.create("a")
    config_map = await bench.create("b")
    events = await bench.watched(
        0,
        until="BOOKMARK",
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        fieldSelector=NOT_FOREIGN,
    )
    assert sorted(event.word for event in events[:-1]) == ["ADDED a", "ADDED b"]
    end = events[-1].object
    assert end["kind"] == "ConfigMap"
    assert end["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert number(end) >= number(config_map)
    assert end["metadata"].get("name") is None


async def case_a_streamed_list_requires_the_version_match(bench: Bench) -> None:
    error = await refusal_of(bench.watched(1, sendInitialEvents="true"))
    assert error.code == 422
    assert error.causes[0].field == "resourceVersionMatch"


async def case_a_streamed_list_at_a_future_version_is_refused(bench: Bench) -> None:
    future = str(number(await bench.listed()) + 1_000_000)
    (event,) = await bench.watched(
        1, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", resourceVersion=future
    )
    assert event.type == "ERROR"
    assert isinstance(status_error(event.object), ResourceVersionTooLarge)


async def case_a_watch_from_a_future_version_is_silent(bench: Bench) -> None:
    future = str(number(await bench.listed()) + 1_000_000)
    query = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "2",
        "resourceVersion": future,
    }
    async with bench.wire.stream(HttpRequest("GET", bench.collection(), query)) as lines:
        await bench.create()
        assert [line async for line in lines] == []


async def case_an_idle_watch_ends_with_a_bookmark_after_its_timeout(bench: Bench) -> None:
    config_map = await bench.create()
    query = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "3",
        "resourceVersion": rv(config_map),
        "labelSelector": "no=such",
    }
    async with bench.wire.stream(HttpRequest("GET", bench.collection(), query)) as lines:
        stream = [line async for line in lines]
    assert all(b'"BOOKMARK"' in line for line in stream), stream
    assert len(stream) <= 2


async def case_an_invalid_continue_token_is_refused(bench: Bench) -> None:
    error = await refusal_of(bench.listed(limit="1", **{"continue": "nonsense"}))
    assert isinstance(error, BadRequest)


async def case_unknown_paths_and_objects_are_not_found(bench: Bench) -> None:
    unknown = Resource("", "v1", "Nothing", "nothings")
    error = await refusal_of(bench.client.get(unknown, bench.key()))
    assert isinstance(error, NotFound)
    assert error.reason == "NotFound"
    foreign = Resource("shop.example.com", "v1", "Shop", "shops")
    error = await refusal_of(bench.client.list(foreign, bench.namespace))
    assert isinstance(error, NotFound)
    assert (error.reason, error.message) == ("", "404 page not found")
    error = await refusal_of(bench.client.get(CONFIG_MAP, ObjectKey(bench.namespace, "nobody")))
    assert isinstance(error, NotFound)
    assert error.reason == "NotFound"
    assert error.message == 'configmaps "nobody" not found'
