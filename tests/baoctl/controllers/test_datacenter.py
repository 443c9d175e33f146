"""baoctl.controllers.datacenter: the changes that enqueue a Datacenter or a BootstrapWorkload."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import pytest

from baoctl.controllers.datacenter import FIRST_STATUS, watch_datacenters, watch_workloads
from contracts.api.group import API_VERSION
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from managers.datacenter.store.kubernetes import DATACENTER_INDEX, by_datacenter
from runtime.builtin_kinds import DEPLOYMENT, STATEFUL_SET
from runtime.controller.controller import Controller
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Object, Request, Resource
from tests.gen.api import StillInformer

KINDS = (DATACENTERS, WORKLOADS, DEPLOYMENT, STATEFUL_SET)
FRA: Object = {"metadata": {"name": "fra1", "generation": 1}, "spec": {"state": "Active"}}


def workload(name: str, *depends: str, where: str = "fra1", **parts: Any) -> Object:
    """A workload as the operator creates it."""
    metadata = {
        "name": f"{where}.{name}",
        "generation": 1,
        "labels": {"openbao.org/datacenter": where},
        **parts.pop("metadata", {}),
    }
    spec = {"datacenter": where, "service": {"name": name, "dependsOn": [*depends]}}
    return {"metadata": metadata, "spec": spec, **parts}


def child(status: Object, owner: str = "BootstrapWorkload") -> Object:
    """A Deployment of the shipper."""
    reference = {
        "apiVersion": API_VERSION,
        "kind": owner,
        "name": "fra1.shipper",
        "uid": "u",
        "controller": True,
    }
    metadata = {"name": "fra1-shipper", "namespace": "dc-fra1", "ownerReferences": [reference]}
    return {"metadata": metadata, "status": status}


def with_version(obj: Object, version: int) -> Object:
    metadata = {"uid": obj["metadata"]["name"], **obj["metadata"], "resourceVersion": str(version)}
    return {**obj, "metadata": metadata}


# Two datacenters: one workload without dependencies, one that waits, one that terminates, and one
# of the other datacenter.
OTHERS: dict[Resource, list[Object]] = {
    DATACENTERS: [FRA, {**FRA, "metadata": {"name": "ams1", "generation": 1}}],
    WORKLOADS: [
        workload("alone"),
        workload("waits", "shipper"),
        workload("goes", metadata={"deletionTimestamp": "2030-01-01T00:00:00Z"}),
        workload("waits", "shipper", where="ams1"),
    ],
}


async def woken(resource: Resource, before: Object | None, after: Object | None) -> set[str]:
    """The requests that a change enqueues, with OTHERS; names of workloads contain a dot."""
    caches = {kind: StillInformer(kind) for kind in KINDS}
    caches[WORKLOADS].add_index(DATACENTER_INDEX, by_datacenter)
    there = {kind: {obj["metadata"]["name"]: obj for obj in OTHERS.get(kind, ())} for kind in KINDS}
    if before is not None:
        there[resource][before["metadata"]["name"]] = before
    for kind, cache in caches.items():
        cache.says(*(with_version(item, n) for n, item in enumerate(there[kind].values(), start=1)))
    requests: set[str] = set()
    heard = asyncio.Event()

    async def reconcile(request: Request, /) -> Outcome:
        if heard.is_set():
            requests.add(request.name)
        return Done()

    clock = ManualClock()
    first, second = (
        Controller(name, reconcile, clock=clock, metrics=Metrics()) for name in ("first", "second")
    )
    watch_datacenters(first, caches[DATACENTERS], caches[WORKLOADS])
    children = {kind: caches[kind] for kind in (DEPLOYMENT, STATEFUL_SET)}
    watch_workloads(second, caches[WORKLOADS], caches[DATACENTERS], children)
    working = [asyncio.create_task(operator.run()) for operator in (first, second)]
    await clock.settle()
    heard.set()
    names = [obj["metadata"]["name"] for obj in (before, after) if obj is not None]
    kept = [obj for obj in caches[resource].list() if obj["metadata"]["name"] not in names]
    caches[resource]._version = 99
    caches[resource].says(*kept, *([with_version(after, 99)] if after else []))
    await clock.advance(FIRST_STATUS)
    for operator in (first, second):
        operator.stop()
    await asyncio.gather(*working)
    return requests


RUNNING, PENDING = {"state": "Running"}, {"state": "Pending"}
SHIPPER = workload("shipper", status=PENDING)
HELD = {**FRA, "metadata": {**FRA["metadata"], "finalizers": ["openbao.org/datacenter-finalizer"]}}
LISTEN = {"fra1.waits", "fra1.goes"}
ALL_WORKLOADS = {"fra1.alone", *LISTEN}


class Wake(NamedTuple):
    kind: Resource
    before: Object | None
    after: Object | None
    whom: set[str]


WAKES: dict[str, Wake] = {
    "a new datacenter": Wake(
        DATACENTERS, None, {**FRA, "metadata": {"name": "lon1", "generation": 1}}, {"lon1"}
    ),
    "its spec": Wake(
        DATACENTERS, FRA, {**FRA, "metadata": {"name": "fra1", "generation": 2}}, {"fra1"}
    ),
    "its state": Wake(
        DATACENTERS,
        FRA,
        {"metadata": {"name": "fra1", "generation": 2}, "spec": {"state": "Offline"}},
        {"fra1", *ALL_WORKLOADS},
    ),
    "another allowlist": Wake(
        DATACENTERS,
        FRA,
        {
            "metadata": {"name": "fra1", "generation": 2},
            "spec": {"state": "Active", "nodeAccess": {"runAsRoot": True}},
        },
        {"fra1", *ALL_WORKLOADS},
    ),
    "its status": Wake(DATACENTERS, FRA, {**FRA, "status": {"running": 1}}, set()),
    "our finalizer, added by us": Wake(DATACENTERS, FRA, HELD, set()),
    "our finalizer, removed by another client": Wake(DATACENTERS, HELD, FRA, {"fra1"}),
    "a finalizer of another controller": Wake(
        DATACENTERS, {**FRA, "metadata": {**FRA["metadata"], "finalizers": ["a.b/c"]}}, FRA, set()
    ),
    "its end": Wake(DATACENTERS, FRA, None, {"fra1", *ALL_WORKLOADS}),
    "a new workload": Wake(WORKLOADS, None, SHIPPER, {"fra1", "fra1.shipper", *LISTEN}),
    "the spec of a workload": Wake(
        WORKLOADS,
        SHIPPER,
        {**SHIPPER, "metadata": {**SHIPPER["metadata"], "generation": 2}},
        {"fra1", "fra1.shipper", *LISTEN},
    ),
    "a running workload": Wake(
        WORKLOADS, SHIPPER, {**SHIPPER, "status": RUNNING}, {"fra1", *LISTEN}
    ),
    "another field of the status of a workload": Wake(
        WORKLOADS, SHIPPER, {**SHIPPER, "status": {**PENDING, "message": "waits"}}, set()
    ),
    "labels of a workload": Wake(
        WORKLOADS,
        SHIPPER,
        {
            **SHIPPER,
            "metadata": {
                **SHIPPER["metadata"],
                "labels": {**SHIPPER["metadata"]["labels"], "team": "net"},
            },
        },
        {"fra1.shipper"},
    ),
    "a deleted workload": Wake(WORKLOADS, SHIPPER, None, {"fra1", "fra1.shipper", *LISTEN}),
    "the status of a child of a workload": Wake(
        DEPLOYMENT, child({}), child({"replicas": 1}), {"fra1.shipper"}
    ),
    "a deleted child of a workload": Wake(DEPLOYMENT, child({}), None, {"fra1.shipper"}),
    "an object of another owner": Wake(
        DEPLOYMENT, child({}, "Other"), child({"replicas": 1}, "Other"), set()
    ),
}


@pytest.mark.parametrize(("kind", "before", "after", "whom"), WAKES.values(), ids=WAKES)
async def test_a_change_enqueues(
    kind: Resource, before: Object | None, after: Object | None, whom: set[str]
) -> None:
    assert await woken(kind, before, after) == whom
