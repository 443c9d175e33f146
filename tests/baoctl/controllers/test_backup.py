"""baoctl.controllers.backup: which change of which object wakes a backup, or those of a cluster."""

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
    """Whom a change wakes, beside one backup that waits and one that has ended."""
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
    """A change; are the backups of the cluster woken, and is the one that waits."""

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
    "a lock that is taken": Wake(
        CLUSTERS, cluster_with_status(), cluster_with_status(operationLock=LOCK), True, True
    ),
    "a lock that is given back": Wake(
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
    "the end of a roll": Wake(
        CLUSTERS,
        cluster_with_status(operation={"kind": "Rolling"}),
        cluster_with_status(),
        False,
        False,
    ),
    "a record that somebody edited": Wake(
        CLUSTERS,
        cluster_with_status(),
        cluster_with_status(backup={"schedule": "0 1 * * *"}),
        True,
        False,
    ),
    "a detail of the status": Wake(
        CLUSTERS, cluster_with_status(), cluster_with_status(readyReplicas=2), False, False
    ),
    "a restore that comes": Wake(RESTORES, None, restore(), True, True),
    "a restore that ends": Wake(RESTORES, restore(), restore(phase="Completed"), False, True),
    "a restore that is gone": Wake(RESTORES, restore(), None, True, True),
    "a backup that ends": Wake(
        BACKUPS, by_hand("third"), {**by_hand("third"), "status": {"phase": "Failed"}}, True, False
    ),
    "the waiting one itself": Wake(
        BACKUPS, WAITING, {**WAITING, "status": {"report": {"outcome": "Failed"}}}, False, True
    ),
    "a backup that is deleted": Wake(BACKUPS, by_hand("third"), None, True, False),
}


@pytest.mark.parametrize(("kind", "before", "after", "schedule", "run"), WAKES.values(), ids=WAKES)
async def test_who_is_woken(
    kind: Resource, before: Object | None, after: Object | None, schedule: bool, run: bool
) -> None:
    assert (KEY in await woken(True, kind, before, after)) is schedule
    assert (RUN in await woken(False, kind, before, after)) is run


async def test_nothing_wakes_what_has_ended() -> None:
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
