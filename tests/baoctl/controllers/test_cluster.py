"""baoctl.controllers.cluster: the requests that a change of an object enqueues."""

import asyncio
from typing import Any, NamedTuple

import pytest

from baoctl.controllers.cluster import cluster_of, part_changed, watch_adminops, watch_workload
from contracts.api.group import CLUSTERS
from contracts.naming import labels
from contracts.owned_kinds import CHILDREN, CLAIM_FIELDS, OWNED, POD_FIELDS, PRUNED
from runtime.builtin_kinds import (
    CONFIG_MAP,
    POD,
    POD_DISRUPTION_BUDGET,
    PVC,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from runtime.controller.controller import Controller
from runtime.controller.event import Event
from runtime.limits.object_size import MARK
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Request, Resource
from tests import gen
from tests.gen.api import StillInformer

KEY = ObjectKey(gen.NAMESPACE, "x")


def at(*path: str, value: Any) -> Object:
    """An object with a value at a path."""
    obj: Any = value
    for step in reversed(path):
        obj = {step: obj}
    leaf: Object = obj
    return leaf


# sentence: (object before, object after, whether it passes `part_changed("status", "phase")`)
PARTS: dict[str, tuple[Object | None, Object, bool]] = {
    "an add": (None, {}, True),
    "another value": (
        at("status", "phase", value="A"), at("status", "phase", value="B"), True,
    ),
    "the same value": (
        at("status", "phase", value="A"), at("status", "phase", value="A"), False,
    ),
    "another part": (
        {"status": {"phase": "A", "ready": 1}}, {"status": {"phase": "A", "ready": 2}}, False,
    ),
    "an added part": ({}, at("status", "phase", value="A"), True),
    "a removed part": (at("status", "phase", value="A"), {"status": {}}, True),
    "no part": ({"spec": 1}, {"spec": 2}, False),
    "a part of another type": (at("status", value="text"), {}, False),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "passes"), PARTS.values(), ids=PARTS.keys())
def test_part_changed(old: Object | None, new: Object, passes: bool) -> None:
    event = Event("add", new) if old is None else Event("update", new, old)
    assert part_changed("status", "phase")(event) is passes


def test_an_object_is_mapped_to_its_cluster_by_label() -> None:
    assert list(cluster_of(gen.pod(0).object())) == [KEY]
    assert list(cluster_of({"metadata": {"name": "a", "namespace": "b"}})) == []


async def woken(which: str, resource: Resource, *states: Object | None) -> list[Request]:
    """The requests after the last of these states of one object; None: it is deleted."""
    clock, requests = ManualClock(), list[Request]()

    async def note(request: Request) -> Outcome:
        requests.append(request)
        return Done()

    clusters = StillInformer(CLUSTERS)
    children = {kind: StillInformer(kind) for kind, _ in CHILDREN}
    controller = Controller(which, note, clock=clock, metrics=Metrics())
    {"workload": watch_workload, "adminops": watch_adminops}[which](controller, clusters, children)
    for informer in (clusters, *children.values()):
        informer.says()
    working = asyncio.create_task(controller.run())
    speaking = clusters if resource == CLUSTERS else children[resource]
    for number, state in enumerate(states, start=1):
        await clock.settle()
        requests.clear()
        speaking.says(*([] if state is None else [with_version(state, number)]))
    await clock.settle()
    controller.stop()
    await working
    return requests


def with_version(obj: Object, version: int) -> Object:
    """The object with another resourceVersion, as after each write."""
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}


OLD = gen.cluster().initialized()
PLAIN = OLD.object()
READY = gen.pod(0).ready()
MAP: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "x-config",
        "namespace": gen.NAMESPACE,
        "uid": "u",
        "ownerReferences": [OLD.owner().reference()],
    },
}
CLAIM: Object = {
    "metadata": {"name": "data-x-0", "namespace": gen.NAMESPACE, "labels": labels.base("x")}
}


NETWORK = {"type": "PodReadyToStartContainers", "status": "True"}
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
PENDING = gen.pod(0).object()
SERVERS = gen.stateful_set().object()
CUT: Object = {**PENDING, MARK: {"member": "spec", "why": "a"}}
BUDGET: Object = {**MAP, "metadata": {**MAP["metadata"], "name": "x-pdb"}}
PUBLIC: Object = {**MAP, "metadata": {**MAP["metadata"], "name": "x-public"}}


def with_status(obj: Object, **fields: Any) -> Object:
    """The object with other fields of the status."""
    return {**obj, "status": {**(obj.get("status") or {}), **fields}}


class Wake(NamedTuple):
    """States of an object; the reconcilers that the last state triggers."""

    resource: Resource
    states: tuple[Object | None, ...]
    workload: bool
    adminops: bool


WAKES: dict[str, Wake] = {
    "a new cluster": Wake(CLUSTERS, (PLAIN,), True, True),
    "a deleted cluster": Wake(CLUSTERS, (PLAIN, None), True, True),
    "a new spec": Wake(CLUSTERS, (PLAIN, OLD.with_metadata(generation=2).object()), True, True),
    "a finalizer": Wake(
        CLUSTERS, (PLAIN, OLD.with_metadata(finalizers=["a/b"]).object()), True, False
    ),
    "an annotation": Wake(
        CLUSTERS, (PLAIN, OLD.with_metadata(annotations={"a": "b"}).object()), True, False
    ),
    "a changed status": Wake(
        CLUSTERS, (PLAIN, OLD.with_status(phase="Failed").object()), True, False
    ),
    "a write of the other reconciler": Wake(
        CLUSTERS, (PLAIN, OLD.with_status(adminOps={"raft": {"voters": 1}}).object()), True, True
    ),
    "the end of the first boot": Wake(
        CLUSTERS,
        (gen.cluster().object(), gen.cluster().with_status(initialized=True).object()),
        True,
        True,
    ),
    "only another resourceVersion": Wake(CLUSTERS, (PLAIN, PLAIN), False, False),
    "a changed child": Wake(CONFIG_MAP, (MAP, {**MAP, "data": {"a": "b"}}), True, False),
    "a deleted child": Wake(CONFIG_MAP, (MAP, None), True, False),
    "the status of a StatefulSet": Wake(
        STATEFUL_SET,
        (gen.stateful_set().with_stale_status().object(), gen.stateful_set().object()),
        True,
        False,
    ),
    "a new pod": Wake(POD, (READY.object(),), True, True),
    "a deleted pod": Wake(POD, (READY.object(), None), True, True),
    "a pod that becomes ready": Wake(POD, (gen.pod(0).object(), READY.object()), True, True),
    "a server with a changed label": Wake(
        POD, (READY.object(), READY.with_server_labels(active="true").object()), True, True
    ),
    "a pod with a restarted container": Wake(
        POD, (READY.object(), READY.with_restarts().object()), True, False
    ),
    "a condition of a pod that is no fact": Wake(
        POD, (PENDING, with_status(PENDING, conditions=[NETWORK])), False, False
    ),
    "a pod that does not fit on a node": Wake(
        POD, (PENDING, with_status(PENDING, conditions=[UNSCHEDULABLE])), True, False
    ),
    "the node of a pod": Wake(
        POD, (PENDING, {**PENDING, "spec": {**PENDING["spec"], "nodeName": "n"}}), True, False
    ),
    "an ignored field of the status of a StatefulSet": Wake(
        STATEFUL_SET, (SERVERS, with_status(SERVERS, collisionCount=1)), False, False
    ),
    "a missing pod of a StatefulSet": Wake(
        STATEFUL_SET, (SERVERS, with_status(SERVERS, replicas=2)), True, False
    ),
    "the spec of a StatefulSet": Wake(
        STATEFUL_SET, (SERVERS, {**SERVERS, "spec": {**SERVERS["spec"], "a": 1}}), True, False
    ),
    "the status of a PodDisruptionBudget": Wake(
        POD_DISRUPTION_BUDGET, (BUDGET, with_status(BUDGET, currentHealthy=1)), False, False
    ),
    "the status of a Service": Wake(
        SERVICE, (PUBLIC, with_status(PUBLIC, loadBalancer={"ingress": []})), True, False
    ),
    "a pod that is too large for the cache": Wake(
        POD, (CUT, with_status(CUT, phase="Running")), True, True
    ),
    "a volume": Wake(PVC, (CLAIM,), True, False),
    "a bound volume": Wake(PVC, (CLAIM, with_status(CLAIM, phase="Bound")), True, False),
    "an ignored field of the status of a volume": Wake(
        PVC, (CLAIM, with_status(CLAIM, accessModes=["ReadWriteOnce"])), False, False
    ),
}


@pytest.mark.parametrize(("resource", "states", "workload", "adminops"), WAKES.values(), ids=WAKES)
async def test_a_change_enqueues(
    resource: Resource, states: tuple[Object | None, ...], workload: bool, adminops: bool
) -> None:
    assert await woken("workload", resource, *states) == ([KEY] if workload else [])
    assert await woken("adminops", resource, *states) == ([KEY] if adminops else [])


async def test_a_child_of_another_owner_kind_enqueues_nothing() -> None:
    reference = {**OLD.owner().reference(), "kind": "Deployment", "apiVersion": "apps/v1"}
    foreign = {**MAP, "metadata": {**MAP["metadata"], "ownerReferences": [reference]}}
    assert await woken("workload", CONFIG_MAP, foreign) == []


async def test_a_pod_of_another_operator_enqueues_nothing() -> None:
    pod = READY.object()
    del pod["metadata"]["labels"][labels.CLUSTER]
    assert await woken("workload", POD, pod) == []


def test_secrets_are_never_watched() -> None:
    assert SECRET not in dict(CHILDREN)


def test_every_applied_kind_is_watched_with_all_fields() -> None:
    assert set(OWNED) == {*PRUNED, STATEFUL_SET}
    assert dict(CHILDREN) == {**dict.fromkeys(OWNED, ()), POD: POD_FIELDS, PVC: CLAIM_FIELDS}
