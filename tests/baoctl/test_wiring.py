"""baoctl.wiring: the parts of a process fit together, and it may do no more than it needs."""

import asyncio
import dataclasses
import gc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
import yaml
from aiohttp import web

from baoctl.controllers import CHILDREN
from baoctl.settings import Settings, from_environment
from baoctl.wiring import Parts, build_controllers, build_manager, build_parts
from runtime.clock import SystemClock
from runtime.resources import SECRET
from runtime.testing.clock import ManualClock
from runtime.testing.scripted import ScriptedServer, listing, silence, stream
from runtime.testing.wait import eventually
from tests.runtime.reflecting import end_of_list

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
    "current-context": "x",
}


def settings(tmp_path: Path, server: str = "http://127.0.0.1:1", **changes: Any) -> Settings:
    file = tmp_path / "kubeconfig"
    clusters = [{"name": "c", "cluster": {"server": server}}]
    file.write_text(yaml.safe_dump({**KUBECONFIG, "clusters": clusters}), encoding="utf-8")
    return dataclasses.replace(from_environment({"KUBECONFIG": str(file)}), **changes)


@pytest_asyncio.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Parts]:
    made = await build_parts(settings(tmp_path), ManualClock())
    yield made
    await made.client.close()
    await made.lease_client.close()


def test_two_controllers_with_names_of_their_own(parts: Parts) -> None:
    assert [controller.name for controller in build_controllers(parts)] == [
        "openbaocluster-workload",
        "openbaocluster-adminops",
    ]


def selections(parts: Parts) -> dict[str, Any]:
    return {str(found.resource): found for found in parts.informers._informers}


def test_what_is_watched_and_how_much_of_it(parts: Parts) -> None:
    build_controllers(parts)
    found = selections(parts)
    assert set(found) == {"openbaoclusters.openbao.org", *(str(kind) for kind, _ in CHILDREN)}
    assert str(SECRET) not in found
    assert [name for name, one in found.items() if one.metadata_only] == ["persistentvolumeclaims"]
    for name, one in found.items():
        ours = (
            ""
            if name.startswith("openbaoclusters")
            else ("app.kubernetes.io/managed-by=openbao-operator")
        )
        assert one.label_selector == ours
        assert one.namespace is None


async def test_one_namespace_is_watched_when_asked_for(tmp_path: Path) -> None:
    made = await build_parts(settings(tmp_path, watch_namespace="a"), ManualClock())
    build_controllers(made)
    assert {one.namespace for one in selections(made).values()} == {"a"}
    await made.client.close()
    await made.lease_client.close()


async def test_a_lease_is_a_matter_of_settings(tmp_path: Path, parts: Parts) -> None:
    assert parts.elector is not None
    alone = await build_parts(settings(tmp_path, leader_election=False), ManualClock())
    assert alone.elector is None
    await alone.client.close()
    await alone.lease_client.close()


async def empty_cluster(request: web.BaseRequest) -> web.StreamResponse:
    """An API server without objects, where nothing ever happens."""
    answer = listing([]) if "watch" not in request.query else silence
    if "sendInitialEvents" in request.query:
        answer = stream(end_of_list("100"), then="silence")
    return await answer(request)


async def test_a_process_starts_waits_and_ends_without_a_single_write(tmp_path: Path) -> None:
    async with ScriptedServer(otherwise=empty_cluster) as server:
        chosen = settings(tmp_path, server.url, leader_election=False, listen="127.0.0.1", port=0)
        made = await build_parts(chosen, SystemClock())
        manager = build_manager(made, build_controllers(made))
        running = asyncio.create_task(manager.run())
        await eventually(lambda: made.informers.unsynced() is None, say="synced")
        await eventually(lambda: gc.get_freeze_count() > 0, say="caches settled")
        manager.stop()
        await running
        await made.client.close()
        await made.lease_client.close()
    gc.unfreeze()
    assert {request.method for request in server.requests} == {"GET"}
    kinds = {request.path.rpartition("/")[2] for request in server.requests}
    assert "secrets" not in kinds
    assert len(kinds) == len(CHILDREN) + 1
