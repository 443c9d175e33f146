"""Informers on a real API server, also while it is killed, restarted and frozen."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial

import pytest

from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informer import Informer, InformerOptions, Selection
from runtime.client.client import Client
from runtime.client.credentials import KubeconfigCredentials
from runtime.clock import SystemClock
from runtime.errors import ApiError, TransportError
from runtime.metrics.metrics import Metrics
from runtime.testing.wait import DEADLINE, eventually
from runtime.types import Object, ObjectKey, key_of, resource_version_of, uid_of
from tests.integration.config_maps import config_map

Start = Callable[..., AbstractAsyncContextManager["Mirror"]]
"""Takes a selection, and `watch_list`: whether lists are streamed."""


class Mirror:
    """An informer and the events of its handler: "+name", "~name", "-name"."""

    def __init__(self, informer: Informer, task: asyncio.Task[None]) -> None:
        self.informer = informer
        self.task = task
        self.words: list[str] = []
        informer.add_handler(self)

    def on_add(self, obj: Object, initial: bool) -> None:
        self.words.append(f"+{key_of(obj).name}")

    def on_update(self, old: Object, new: Object) -> None:
        assert uid_of(old) == uid_of(new)
        self.words.append(f"~{key_of(new).name}")

    def on_delete(self, obj: Object) -> None:
        self.words.append(f"-{key_of(obj).name}")

    def on_resync(self, obj: Object) -> None:
        raise AssertionError("no resync was requested")

    def states(self) -> dict[str, str]:
        return states(self.informer.list())

    def shows(self, truth: dict[str, str]) -> bool:
        return self.states() == truth


def states(items: list[Object]) -> dict[str, str]:
    return {key_of(item).name: resource_version_of(item) for item in items}


async def write(client: Client, body: Object) -> Object:
    response = await client.apply(CONFIG_MAP, body, field_manager="itest", force=True)
    return response.object


async def remove(client: Client, obj: Object) -> None:
    await client.delete(CONFIG_MAP, key_of(obj), uid=uid_of(obj))


@pytest.fixture
def start(client: Client, metrics: Metrics) -> Start:
    """Run a synced informer of a selection."""

    @asynccontextmanager
    async def running(selection: Selection, *, watch_list: bool = True) -> AsyncIterator[Mirror]:
        informer = Informer(
            client,
            selection,
            clock=SystemClock(),
            rng=random.Random(1),
            metrics=metrics,
            options=InformerOptions(watch_list=watch_list),
        )
        task = asyncio.create_task(informer.run())
        mirror = Mirror(informer, task)
        try:
            await informer.wait_synced(DEADLINE)
            yield mirror
            assert not task.done()
        finally:
            task.cancel()
            await asyncio.wait([task])

    return running


def reads(metrics: Metrics) -> float:
    """The number of completed GET requests, with watches."""
    name = "rest_client_requests_total"
    return sum(
        sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == name and sample.labels["method"] == "GET"
    )


@pytest.mark.parametrize(
    ("watch_list", "requests"), [(True, 1), (False, 2)], ids=["streamed", "in pages"]
)
async def test_t10_the_list_is_at_the_head_of_the_watch(
    client: Client, namespace: str, start: Start, metrics: Metrics, watch_list: bool, requests: int
) -> None:
    objects = [await write(client, config_map(namespace, f"n{number}")) for number in range(20)]
    before = reads(metrics)
    selection = Selection(CONFIG_MAP, namespace, label_selector="app=web")
    async with start(selection, watch_list=watch_list) as mirror:
        assert mirror.states() == states(objects)
        assert sorted(mirror.words) == sorted(f"+{key_of(obj).name}" for obj in objects)
        objects.append(await write(client, config_map(namespace, "later")))
        await eventually(
            lambda: mirror.states() == states(objects), goal="the cache equals the server"
        )
        assert reads(metrics) - before == requests


async def test_t10_nothing_is_lost_between_the_list_and_the_watch(
    client: Client, namespace: str, start: Start
) -> None:
    """Objects change continuously while ten informers start."""
    done = asyncio.Event()

    async def change() -> list[Object]:
        dice = random.Random(3)
        alive: dict[str, Object] = {}
        number = 0
        while not done.is_set():
            number += 1
            name = dice.choice("abcdef")
            if name in alive and dice.random() < 0.4:
                await remove(client, alive.pop(name))
            else:
                alive[name] = await write(client, config_map(namespace, name, n=str(number)))
        return [*alive.values()]

    changing = asyncio.create_task(change())
    async with AsyncExitStack() as stack:
        selection = Selection(CONFIG_MAP, namespace, label_selector="app=web")
        mirrors = [await stack.enter_async_context(start(selection)) for _ in range(10)]
        done.set()
        truth = states(await changing)
        for mirror in mirrors:
            await eventually(partial(mirror.shows, truth), goal="the cache equals the server")


@pytest.mark.parametrize("metadata_only", [False, True])
async def test_the_informer_converges_to_the_state_of_the_server(
    client: Client, namespace: str, start: Start, metadata_only: bool
) -> None:
    dice = random.Random(5)
    alive = {
        name: await write(client, config_map(namespace, name, n="0")) for name in ("early", "a")
    }
    selection = Selection(
        CONFIG_MAP, namespace, label_selector="app=web", metadata_only=metadata_only
    )
    async with start(selection) as mirror:
        for number in range(150):
            name = dice.choice("abcdefgh")
            if name in alive and dice.random() < 0.3:
                await remove(client, alive.pop(name))
            else:
                alive[name] = await write(client, config_map(namespace, name, n=str(number)))
        await eventually(
            lambda: mirror.states() == states([*alive.values()]), goal="the cache equals the server"
        )
        for obj in mirror.informer.list():
            assert (obj["apiVersion"], obj["kind"]) == ("v1", "ConfigMap")
            assert "managedFields" not in obj["metadata"]
            assert ("data" in obj) is not metadata_only


async def test_t12_a_recreated_object_is_a_delete_and_an_add(
    client: Client, namespace: str, start: Start
) -> None:
    async with start(Selection(CONFIG_MAP, namespace)) as mirror:
        first = await write(client, config_map(namespace, "web"))
        await remove(client, first)
        second = await write(client, config_map(namespace, "web"))
        await eventually(lambda: mirror.words == ["+web", "-web", "+web"])
        live = mirror.informer.get(ObjectKey(namespace, "web"))
        assert live is not None
        assert uid_of(live) == uid_of(second) != uid_of(first)


async def test_t28_own_writes_are_visible_immediately_and_reported_once(
    client: Client, namespace: str, start: Start
) -> None:
    async with start(Selection(CONFIG_MAP, namespace, label_selector="app=web")) as mirror:
        for number in range(30):
            answer = await write(client, config_map(namespace, "web", n=str(number)))
            mirror.informer.observe(answer)
            assert mirror.states() == states([answer])
        # All earlier events have arrived when this one has.
        await write(client, config_map(namespace, "last"))
        await eventually(lambda: "+last" in mirror.words)
        assert mirror.words == ["+web", *["~web"] * 29, "+last"]


async def _answers(client: Client) -> bool:
    try:
        await client.get_raw("/readyz")
    except (ApiError, TransportError):
        return False
    return True


async def test_t11_informers_catch_up_after_a_killed_and_restarted_server(
    control_plane: Rig, client: Client, namespace: str, start: Start, metrics: Metrics
) -> None:
    clock = SystemClock()
    async with start(Selection(CONFIG_MAP, namespace)) as mirror:
        kept = await write(client, config_map(namespace, "kept"))
        await eventually(lambda: mirror.words == ["+kept"])
        # Moves the revision of the server beyond the last event of this informer.
        await write(client, config_map("default", f"elsewhere-{namespace}"))
        control_plane.stop("kube-apiserver", grace=0.0)
        try:
            # Long enough to reach the maximum backoff for an unreachable server.
            await clock.sleep(4.0)
            assert not mirror.task.done()
            assert mirror.states() == states([kept])
        finally:
            control_plane.start("kube-apiserver")
        while not await _answers(client):
            await clock.sleep(0.05)
        await write(client, config_map(namespace, "after"))
        await eventually(lambda: "+after" in mirror.words)
        # A restarted server has no earlier history: 410, and a new list. Objects that did not
        # change meanwhile cause no event.
        assert mirror.words == ["+kept", "+after"]
        labels = {"resource": "configmaps", "reason": "expired"}
        assert metrics.registry.get_sample_value("informer_relists_total", labels) == 1


async def test_a_frozen_server_causes_a_timeout_and_loses_no_event(
    control_plane: Rig,
    client: Client,
    credentials: KubeconfigCredentials,
    namespace: str,
    start: Start,
) -> None:
    hasty = Client(credentials, user_agent="itest", clock=SystemClock(), timeout=0.5)
    try:
        async with start(Selection(CONFIG_MAP, namespace)) as mirror:
            await write(client, config_map(namespace, "before"))
            control_plane.pause("kube-apiserver")
            try:
                with pytest.raises(TransportError, match=r"within 0\.5 s"):
                    await hasty.get(CONFIG_MAP, ObjectKey(namespace, "before"))
            finally:
                control_plane.resume("kube-apiserver")
            await write(client, config_map(namespace, "after"))
            await eventually(lambda: mirror.words == ["+before", "+after"])
    finally:
        await hasty.close()
