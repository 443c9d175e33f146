"""A pause stops all writes of all reconcilers of a process, whatever happens during it.

Tests of single reconcilers are in tests/managers; here all of them run together, over days of
virtual time, and every write is counted.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from contracts.api.group import API_VERSION, BACKUP_KIND, BACKUPS, CLUSTERS, RESTORE_KIND, RESTORES
from contracts.api.job_result import EXECUTOR_MANAGER
from contracts.naming import labels, names
from contracts.rfc3339 import rfc3339
from runtime.builtin_kinds import CONFIG_MAP, JOB, POD, SERVICE, STATEFUL_SET
from runtime.testing.simulation import Simulation, simulate
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.clusters import REQUEST
from tests.managers.backup.bench import SNAPSHOT, STORE
from tests.simulation.whole_operator import World

pytestmark = pytest.mark.usefixtures("quiet")
DAY = 86400.0
STATUS = "PATCH /apis/openbao.org/v1alpha1/namespaces/ns/openbaoclusters/x/status"
CHILDREN = ((CONFIG_MAP, "x-config"), (SERVICE, "x"), (SERVICE, "x-public"))


async def boot_cluster(world: World) -> None:
    """Start a cluster of three servers."""
    cluster = gen.cluster(replicas=3).with_metadata(finalizers=[names.FINALIZER])
    world.put(CLUSTERS, cluster.object())
    await world.rest()
    world.start_pods(1)
    await world.rest()
    world.start_pods(3)
    await world.rest(60.0)


async def back_up(world: World) -> None:
    """Start a cluster with a running backup and a schedule that is due at three every night."""
    await boot_cluster(world)
    world.edit_spec(
        backup={"schedule": "0 3 * * *", "target": STORE},
        selfInit={"enabled": True, "requests": [REQUEST], "oidc": {"enabled": True}},
    )
    world.put(BACKUPS, our_kind(BACKUP_KIND, "by-hand"))
    await world.rest(60.0)
    world.start_pods(3)
    await world.rest(60.0)
    assert phase(world, "by-hand") == ("Running", "BackupRunning")


def our_kind(kind: str, name: str, **spec: Any) -> Object:
    metadata = {"name": name, "namespace": gen.NAMESPACE}
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": metadata,
        "spec": {"cluster": "x", **spec},
    }


def phase(world: World, name: str) -> tuple[str, str]:
    status = world.live(BACKUPS, name).get("status") or {}
    return status.get("phase", ""), status.get("reason", "")


def disturb(world: World) -> None:
    """Change everything that would cause a write: drift, a lost pod, a trigger annotation."""
    for resource, name in CHILDREN:
        world.server.remove(resource, ObjectKey(gen.NAMESPACE, name))
    live = world.live(STATEFUL_SET)
    live["spec"]["replicas"] = 1
    world.put(STATEFUL_SET, live)
    world.server.remove(POD, ObjectKey(gen.NAMESPACE, "x-2"))
    world.change_metadata(annotations={labels.TRIGGER_BACKUP: "now"})


async def end_job(world: World, name: str) -> None:
    """Write the report of a successful backup Job, and its completion."""
    status = world.live(BACKUPS, name)["status"]
    report = {
        "jobUID": status["jobUID"],
        "outcome": "Succeeded",
        "finishedAt": rfc3339(world.clock.now()),
        "snapshot": SNAPSHOT,
        "seconds": 1.5,
    }
    await world.apply_status(BACKUPS, name, {"report": report}, EXECUTOR_MANAGER)
    done = {"type": "Complete", "status": "True", "lastTransitionTime": rfc3339(world.clock.now())}
    world.write_status(JOB, status["jobName"], {"conditions": [done]})


def test_nothing_is_written_during_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(simulation: Simulation) -> None:
        world = World(simulation, monkeypatch)
        async with world.operator():
            await back_up(world)
            world.edit_spec(paused=True)
            await world.rest(60.0)
            assert world.condition("Paused") == ("True", "Paused")
            assert phase(world, "by-hand") == ("Running", "Paused")
            world.wire.writes.clear()
            world.requests.clear()
            disturb(world)
            await end_job(world, "by-hand")
            await world.rest(2 * DAY)
            assert world.wire.writes == []
        # Neither by a new operator.
        async with world.operator():
            await world.rest(DAY)
            assert world.wire.writes == []
            assert world.requests == []
            world.edit_spec(paused=False)
            await world.rest(5.0)
            assert phase(world, "by-hand") == ("Completed", "BackupCompleted")
            await world.rest(60.0)
            for resource, name in CHILDREN:
                assert world.live(resource, name), name
            assert world.live(STATEFUL_SET)["spec"]["replicas"] == 3
            # One backup replaces those of three nights, and is not reported as late.
            scheduled = [obj for obj in world.server.objects(BACKUPS) if is_scheduled(obj)]
            assert len(scheduled) == 1
            assert world.condition("BackupHealthy") == ("True", "LastBackupSucceeded")

    simulate(main, seed=1)


def is_scheduled(backup: Object) -> bool:
    return bool(backup["spec"].get("scheduledTime"))


def test_each_object_reports_the_pause_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(simulation: Simulation) -> None:
        world = World(simulation, monkeypatch)
        async with world.operator():
            await back_up(world)
            world.take_writes()
            world.edit_spec(paused=True)
            await world.rest(600.0)
            results = sorted(what.rpartition("/namespaces/ns/")[2] for what in world.take_writes())
            assert results == ["openbaobackups/by-hand/status", "openbaoclusters/x/status"]

    simulate(main, seed=2)


def test_requests_during_a_pause_are_reported_once_and_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(simulation: Simulation) -> None:
        world = World(simulation, monkeypatch)
        async with world.operator():
            await boot_cluster(world)
            world.edit_spec(paused=True)
            await world.rest(60.0)
            world.take_writes()
            world.put(BACKUPS, our_kind(BACKUP_KIND, "asked"))
            source = {"key": "prod/ns/x/a.snap", "target": STORE}
            finalizers = ["openbao.org/openbaorestore-finalizer"]
            restore = our_kind(RESTORE_KIND, "monday", source=source)
            restore["metadata"]["finalizers"] = finalizers
            world.put(RESTORES, restore)
            await world.rest(DAY)
            assert phase(world, "asked") == ("Pending", "Paused")
            status = world.live(RESTORES, "monday")["status"]
            assert status["phase"] == "Validating"
            assert "spec.paused" in status["message"]
            assert {what.rpartition("/namespaces/ns/")[2] for what in world.take_writes()} == {
                "openbaobackups/asked/status",
                "openbaorestores/monday/status",
            }
            await world.rest(DAY)
            assert world.take_writes() == []

    simulate(main, seed=3)


@pytest.mark.parametrize("number", range(1, 16))
def test_a_running_reconcile_stops_writing_after_the_pause(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Pause at each write of a first boot: later writes are not sent."""

    async def main(simulation: Simulation) -> None:
        world = World(simulation, monkeypatch)
        sent = 0

        def meanwhile(what: str) -> None:
            nonlocal sent
            sent += 1
            if sent == number:
                world.edit_spec(paused=True)

        world.wire.meanwhile = meanwhile
        async with world.operator():
            cluster = gen.cluster(replicas=3).with_metadata(finalizers=[names.FINALIZER])
            world.put(CLUSTERS, cluster.object())
            await world.rest(120.0)
            assert sent >= number
            late = [write.what for write in world.wire.writes if write.during_pause]
            assert late == [STATUS]
            assert world.condition("Paused") == ("True", "Paused")

    simulate(main, seed=number)


def test_a_paused_first_boot_continues_after_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause and resume repeatedly: all interrupted steps are completed."""

    async def main(simulation: Simulation) -> None:
        world = World(simulation, monkeypatch)
        async with world.operator():
            cluster = gen.cluster(replicas=3).with_metadata(finalizers=[names.FINALIZER])
            world.put(CLUSTERS, cluster.object())
            for _ in range(10):
                await world.rest(simulation.rng.uniform(0.0, 0.2))
                world.edit_spec(paused=True)
                await world.rest(simulation.rng.uniform(0.0, 0.2))
                world.edit_spec(paused=False)
            await world.rest()
            world.start_pods(1)
            await world.rest()
            world.start_pods(3)
            await world.rest(60.0)
            assert world.condition("Available")[0] == "True"
            resumed = world.live(CLUSTERS)["status"]["resumedAt"]
            assert world.clock.now() - timedelta(minutes=5) < datetime.fromisoformat(resumed)

    simulate(main, seed=5)
