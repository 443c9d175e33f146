"""baoctl.process.wiring.

The parts of a process are connected correctly, and watch no more than it needs.
"""

import asyncio
import gc
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest_asyncio
from aiohttp import web
from prometheus_client import generate_latest

from baoctl.controllers.components import Parts
from baoctl.process.operator import run
from baoctl.process.wiring import build_controllers
from baoctl.settings import from_environment
from contracts.admission.policy import PREFIX
from contracts.datacenter.kinds import DATACENTERS
from contracts.naming import labels
from contracts.optional_kinds import OPTIONAL_KINDS
from contracts.owned_kinds import CHILDREN, CLAIM_FIELDS, POD_FIELDS
from managers.context.reads.served_schemas import DOCUMENT
from managers.datacenter.provider.kubernetes import RESOURCES
from runtime.builtin_kinds import SECRET
from runtime.cache.optional import DEFINITION
from runtime.clock import SystemClock
from runtime.leader.shard import Shard
from runtime.testing.scripted import ScriptedServer, listing, silence, stream
from runtime.testing.wait import eventually
from runtime.types import ObjectKey
from tests.baoctl.process.process_settings import make_parts, settings
from tests.runtime.reflecting import end_of_list


@pytest_asyncio.fixture
async def parts(tmp_path: Path) -> Parts:
    return await make_parts(settings(tmp_path))


def test_the_names_of_controllers_are_unique(parts: Parts) -> None:
    names = [controller.name for controller in build_controllers(parts)]
    assert len(names) == len(set(names))
    assert {"openbaocluster-workload", "openbaocluster-adminops", "openbaorestore"} <= set(names)


def test_only_frequent_reconciles_keep_the_results_about_a_cluster(parts: Parts) -> None:
    """The others would keep the cluster as it was when they reconciled it last."""
    keys = {
        controller.name: controller._options.memo_keys for controller in build_controllers(parts)
    }
    assert [name for name, number in keys.items() if number] == [
        "openbaocluster-workload",
        "openbaorestore",
    ]


OWN = {"openbaobackups.openbao.org", "openbaoclusters.openbao.org", "openbaorestores.openbao.org"}


def selections(parts: Parts) -> dict[str, Any]:
    """The required selections; tests/runtime/cache/test_optional.py has those of optional kinds."""
    informers = parts.informers._informers
    return {
        str(resource.resource): resource
        for resource, informer in informers.items()
        if not informer.optional
    }


def test_optional_kinds_are_not_watched_before_they_are_installed(parts: Parts) -> None:
    build_controllers(parts)
    informers = parts.informers._informers
    optional = {resource for resource, informer in informers.items() if informer.optional}
    enabled = {informer.field_selector for informer in optional - parts.informers._disabled}
    assert enabled == {f"metadata.name={kind.definition}" for kind in OPTIONAL_KINDS}
    disabled = {informer.resource for informer in parts.informers._disabled}
    assert disabled == {resource for kind in OPTIONAL_KINDS for resource in kind.resources}


def test_the_watched_kinds_and_fields(parts: Parts) -> None:
    build_controllers(parts)
    selectors = selections(parts)
    assert set(selectors) == {*OWN, *(str(kind) for kind, _ in CHILDREN)}
    assert str(SECRET) not in selectors
    reduced = {
        name: selection.fields
        for name, selection in selectors.items()
        if selection.fields or selection.metadata_only
    }
    assert reduced == {"persistentvolumeclaims": CLAIM_FIELDS, "pods": POD_FIELDS}
    for name, selection in selectors.items():
        ours = "" if name in OWN else "app.kubernetes.io/managed-by=openbao-operator"
        selector, _, more = selection.label_selector.partition(",")
        assert selector == ours
        assert bool(more) is (name == "pods")
        assert selection.namespace is None


def test_equal_parts_of_objects_of_all_kinds_are_stored_once(parts: Parts) -> None:
    build_controllers(parts)
    watched = [kind for kind in parts.informers._informers if kind.resource != DEFINITION]
    text = orjson.dumps({"metadata": {"name": "x", "labels": labels.server_pod("x")}})
    stored = [selection.reducer()(orjson.loads(text)) for selection in watched]
    assert len(stored) > len(CHILDREN)
    assert len({id(obj["metadata"]["labels"]) for obj in stored}) == 1


def test_pods_of_jobs_are_not_watched(parts: Parts) -> None:
    """One of them may have the name of a server, and would be counted as one."""
    build_controllers(parts)
    pods = selections(parts)["pods"]
    assert pods.matches({"metadata": {"name": "x-0", "labels": labels.server_pod("x")}})
    for job in labels.JOBS:
        metadata = {"name": "x-24567", "labels": labels.component("x", job)}
        assert not pods.matches({"metadata": metadata})


async def test_one_namespace_is_watched_if_configured(tmp_path: Path) -> None:
    parts = await make_parts(settings(tmp_path, namespaces=("a",)))
    build_controllers(parts)
    assert {selection.namespace for selection in selections(parts).values()} == {"a"}


async def test_leader_election_can_be_disabled(tmp_path: Path, parts: Parts) -> None:
    assert parts.elector is not None
    alone = await make_parts(settings(tmp_path, leader_election=False))
    assert alone.elector is None


async def empty_cluster(request: web.BaseRequest) -> web.StreamResponse:
    """An API server without objects, where nothing ever happens."""
    answer = listing([]) if "watch" not in request.query else silence
    if "sendInitialEvents" in request.query:
        answer = stream(end_of_list("100"), then="silence")
    return await answer(request)


async def test_a_process_without_clusters_sends_no_writes(tmp_path: Path) -> None:
    async with ScriptedServer(otherwise=empty_cluster) as server:
        chosen = settings(
            tmp_path, server.url, leader_election=False, listen="127.0.0.1", port=0,
            platform="kubernetes",
        )  # fmt: skip
        thresholds, frozen = gc.get_threshold(), gc.get_freeze_count()
        running = asyncio.create_task(run(chosen, SystemClock()))
        await eventually(
            lambda: running.done() or gc.get_freeze_count() > frozen, goal="the heap is frozen"
        )
        assert not running.done()
        os.kill(os.getpid(), signal.SIGTERM)
        await running
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    assert {request.method for request in server.requests} == {"GET"}
    # The admission policies are read by name.
    listed = [request.path for request in server.requests if PREFIX not in request.path]
    kinds = {path.rpartition("/")[2] for path in listed if path != DOCUMENT}
    assert "secrets" not in kinds
    # Our own kinds, the kinds that clusters own, and the definitions of optional kinds.
    assert len(kinds) == len(CHILDREN) + len(OWN) + 1


async def parts_of(tmp_path: Path, **environment: str) -> Parts:
    """The parts of a process in some mode."""
    kubeconfig = settings(tmp_path).api_server.kubeconfig
    return await make_parts(from_environment({"KUBECONFIG": str(kubeconfig), **environment}))


async def controlled_parts(tmp_path: Path, **environment: str) -> Parts:
    """The same with its controllers."""
    parts = await parts_of(tmp_path, **environment)
    build_controllers(parts)
    return parts


async def test_each_namespace_of_a_list_has_its_own_informers(
    tmp_path: Path,
) -> None:
    parts = await controlled_parts(tmp_path, WATCH_NAMESPACE="a,b,a")
    informers = [
        informer for informer in parts.informers._informers if informer.resource.namespaced
    ]
    assert {informer.namespace for informer in informers} == {"a", "b"}
    assert len(informers) == 2 * (
        len(OWN) + len(CHILDREN) + sum(len(k.resources) for k in OPTIONAL_KINDS)
    )
    assert parts.informers.unsynced() is None


async def test_polled_tenants_need_watches_of_our_kinds_only(tmp_path: Path) -> None:
    parts = await controlled_parts(tmp_path, TENANCY_MODE="multi-tenant")
    assert {str(informer.resource) for informer in parts.informers._informers} == {
        *OWN,
        "openbaotenants.openbao.org",
    }
    assert [runnable.name for runnable in parts.runnables][-2:] == [
        "definitions",
        "cache refresher",
    ]


async def test_namespaces_of_tenants_are_watched_after_provisioning(
    tmp_path: Path,
) -> None:
    parts = await controlled_parts(tmp_path, TENANCY_MODE="multi-tenant", TENANT_READS="watch")
    assert set(selections(parts)) == {*OWN, "openbaotenants.openbao.org"}
    assert "definitions" in [runnable.name for runnable in parts.runnables]


PLATFORM = {"datacenters", "bootstrapservicesets", "bootstrapworkloads"}


async def test_kinds_of_datacenters_are_not_watched_by_default(tmp_path: Path) -> None:
    parts = await controlled_parts(tmp_path)
    kinds = {informer.resource.plural for informer in parts.informers._informers}
    assert not kinds & {*PLATFORM, "deployments", "daemonsets"}
    assert b"openbao_datacenter" not in generate_latest(parts.metrics.registry)


async def test_datacenters_can_be_enabled(tmp_path: Path) -> None:
    parts = await parts_of(tmp_path, DATACENTERS="true")
    names = [controller.name for controller in build_controllers(parts)]
    assert names[-2:] == ["datacenter", "bootstrapworkload"]
    assert len(names) == len(set(names))
    selectors = selections(parts)
    own = {f"{kind}.openbao.org" for kind in PLATFORM}
    ours = "app.kubernetes.io/managed-by=openbao-operator"
    more = {"deployments.apps": ours, "daemonsets.apps": ours, **dict.fromkeys(own, "")}
    assert set(selectors) == {*OWN, *(str(kind) for kind, _ in CHILDREN), *more}
    assert {name: selectors[name].label_selector for name in more} == more
    # A kind that clusters own as well is watched once for both.
    watched = Counter(informer.resource for informer in parts.informers._informers)
    assert {watched[kind] for kind in RESOURCES} == {1}
    assert b"openbao_datacenter_services" in generate_latest(parts.metrics.registry)


async def test_each_controller_accepts_requests_of_its_shard(tmp_path: Path) -> None:
    clusters = [ObjectKey("ns", f"cluster-{number}") for number in range(20)]
    for shard in (Shard(0, 2), Shard(1, 2)):
        parts = await make_parts(settings(tmp_path, shard=shard))
        controllers = build_controllers(parts)
        assert len(controllers) == 6
        for controller in controllers:
            if controller.name in ("openbaobackup", "openbaorestore"):
                continue
            owned = [key for key in clusters if controller._options.owns(key)]
            assert owned == [key for key in clusters if shard.owns(key)], controller.name


async def test_only_the_first_shard_manages_datacenters(tmp_path: Path) -> None:
    for shard, there in ((Shard(), True), (Shard(0, 2), True), (Shard(1, 2), False)):
        parts = await make_parts(settings(tmp_path, shard=shard, datacenters=True))
        controllers = {controller.name: controller for controller in build_controllers(parts)}
        assert ("datacenter" in controllers, "bootstrapworkload" in controllers) == (there, there)
        assert (str(DATACENTERS) in selections(parts)) is there
        for name in {"datacenter", "bootstrapworkload"} & set(controllers):
            keys = [ObjectKey("", f"fra{number}") for number in range(9)]
            assert all(controllers[name]._options.owns(key) for key in keys)
