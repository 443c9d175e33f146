"""baoctl.controllers.backup: the changes that enqueue a backup, or those of a cluster."""

import asyncio
from typing import Any, NamedTuple

import pytest

from baoctl.controllers.backup import clusters_of_run, watch_runs, watch_schedules
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from managers.backup.caches import BackupCaches
from runtime.controller.controller import Controller
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Request, Resource
from tests import gen
from tests.gen.api import StillInformer
from tests.managers.backup.bench import by_hand, cluster, restore

KEY = ObjectKey(gen.NAMESPACE, "x")
WAITING, ENDED = by_hand("waiting"), {**by_hand("ended"), "status": {"phase": "Completed"}}
RUN = ObjectKey(gen.NAMESPACE, "waiting")
PLAIN = cluster()
LOCK = {"operation": "Restore", "holder": "openbaorestore/a", "epoch": 1}


def with_version(obj: Object, version: int) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}


async def woken(
    schedule: bool, resource: Resource, before: Object | None, after: Any
) -> set[Request]:
    """The requests that a change enqueues, with one waiting and one finished backup."""
    caches = {kind: StillInformer(kind) for kind in (CLUSTERS, BACKUPS, RESTORES)}
    others = {BACKUPS: [with_version(WAITING, 1), with_version(ENDED, 2)]}
    for kind, cache in caches.items():
        there = [with_version(before, 3)] if kind == resource and before is not None else []
        names = {obj["metadata"]["name"] for obj in there}
        kept = [obj for obj in others.get(kind, []) if obj["metadata"]["name"] not in names]
        cache.says(*kept, *there)
    sight = BackupCaches(*caches.values())
    requests: set[Request] = set()
    heard = asyncio.Event()

    async def reconcile(request: Request, /) -> Outcome:
        if heard.is_set():
            requests.add(request)
        return Done()

    clock = ManualClock()
    controller = Controller("test", reconcile, clock=clock, metrics=Metrics())
    (watch_schedules if schedule else watch_runs)(controller, sight)
    working = asyncio.create_task(controller.run())
    await clock.settle()
    heard.set()
    names = {after["metadata"]["name"]} if after else set()
    gone = {before["metadata"]["name"]} if before else set()
    kept = [o for o in others.get(resource, []) if o["metadata"]["name"] not in names | gone]
    cache = caches[resource]
    cache._version = 9
    cache.says(*kept, *([with_version(after, 9)] if after else []))
    await clock.settle()
    controller.stop()
    await working
    return requests


def cluster_with_status(**status: Any) -> Object:
    return PLAIN.with_status(**status).object()


class Wake(NamedTuple):
    """A change; whether it enqueues the schedule of the cluster, and the waiting backup."""

    kind: Resource
    before: Object | None
    after: Object | None
    schedule: bool
    run: bool


WAKES: dict[str, Wake] = {
    "a new spec": Wake(
        CLUSTERS, cluster_with_status(), PLAIN.with_metadata(generation=2).object(), True, True
    ),
    "an annotation": Wake(
        CLUSTERS,
        cluster_with_status(),
        PLAIN.with_metadata(annotations={"a": "b"}).object(),
        True,
        False,
    ),
    "an acquired lock": Wake(
        CLUSTERS, cluster_with_status(), cluster_with_status(operationLock=LOCK), True, True
    ),
    "a released lock": Wake(
        CLUSTERS, cluster_with_status(operationLock=LOCK), cluster_with_status(), True, True
    ),
    "the end of a rolling upgrade": Wake(
        CLUSTERS,
        cluster_with_status(upgrade={"targetVersion": "2.7.2"}),
        cluster_with_status(),
        False,
        True,
    ),
    "a phase of a blue/green upgrade": Wake(
        CLUSTERS,
        cluster_with_status(blueGreen={"phase": "Cleanup"}),
        cluster_with_status(blueGreen={"phase": "Idle"}),
        False,
        True,
    ),
    "the end of a rollout": Wake(
        CLUSTERS,
        cluster_with_status(operation={"kind": "Rolling"}),
        cluster_with_status(),
        False,
        False,
    ),
    "an edited record": Wake(
        CLUSTERS,
        cluster_with_status(),
        cluster_with_status(backup={"schedule": "0 1 * * *"}),
        True,
        False,
    ),
    "another field of the status": Wake(
        CLUSTERS, cluster_with_status(), cluster_with_status(readyReplicas=2), False, False
    ),
    "a new restore": Wake(RESTORES, None, restore(), True, True),
    "a finished restore": Wake(RESTORES, restore(), restore(phase="Completed"), False, True),
    "a deleted restore": Wake(RESTORES, restore(), None, True, True),
    "a finished backup": Wake(
        BACKUPS, by_hand("third"), {**by_hand("third"), "status": {"phase": "Failed"}}, True, False
    ),
    "the waiting backup itself": Wake(
        BACKUPS, WAITING, {**WAITING, "status": {"report": {"outcome": "Failed"}}}, False, True
    ),
    "a deleted backup": Wake(BACKUPS, by_hand("third"), None, True, False),
}


@pytest.mark.parametrize(("kind", "before", "after", "schedule", "run"), WAKES.values(), ids=WAKES)
async def test_a_change_enqueues(
    kind: Resource, before: Object | None, after: Object | None, schedule: bool, run: bool
) -> None:
    assert (KEY in await woken(True, kind, before, after)) is schedule
    assert (RUN in await woken(False, kind, before, after)) is run


async def test_a_finished_backup_is_not_enqueued() -> None:
    requests = await woken(
        False, CLUSTERS, cluster_with_status(), cluster_with_status(operationLock=LOCK)
    )
    assert ObjectKey(gen.NAMESPACE, "ended") not in requests


@pytest.mark.parametrize("terminating", [False, True])
def test_a_pause_stops_a_run_but_not_its_deletion(terminating: bool) -> None:
    run = by_hand("waiting")
    deletion = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if terminating else {}
    runs = StillInformer(BACKUPS)
    runs.says(with_version({**run, "metadata": {**run["metadata"], **deletion}}, 1))
    assert tuple(clusters_of_run(runs, RUN)) == (() if terminating else (KEY,))
