"""A cluster on a fake API server that recreates pods: upgrades from end to end."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from contracts.api.backup import OpenBaoBackup
from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.api.group import BACKUPS, CLUSTERS
from contracts.naming import labels, names
from managers.bao import login
from runtime.builtin_kinds import JOB, POD, STATEFUL_SET
from runtime.outcome import Outcome
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import FakeApi
from tests.managers.cluster.bench import KEY, Bench
from tests.managers.membership.servers import Servers

OLD = "2.4.0"
NEW = "2.4.1"
SIZE = 3


class UpgradeLife(Bench):
    """A cluster whose deleted pods are recreated from the present template."""

    def __init__(self, cluster: gen.Cluster, api: FakeApi | None = None) -> None:
        super().__init__(cluster, api)
        self.gone: list[str] = []
        """Names of the pods that were deleted, in order."""
        self.broken: frozenset[str] = frozenset()
        """Versions that cannot start."""
        self.births = 0
        self.leads = "x-0"

    @property
    def template(self) -> Object:
        """The template of the StatefulSet."""
        template: Object = self.api.objects[(STATEFUL_SET, KEY)]["spec"]["template"]
        return template

    @property
    def version(self) -> str:
        """The version in the template."""
        image: str = self.template["spec"]["containers"][0]["image"]
        return image.rpartition(":")[2]

    @property
    def status(self) -> ClusterStatus:
        """The stored status."""
        return ClusterStatus.lenient(self.cluster.get("status") or {})

    @property
    def upgrade(self) -> UpgradeStatus:
        """`status.upgrade`, which must exist."""
        return gen.present(self.status.upgrade)

    def running(self) -> Iterator[str]:
        """Names of the existing pods."""
        for pod in self.api.of(POD):
            yield pod["metadata"]["name"]

    def revive(self) -> None:
        """Create missing pods, and elect another leader if the leader was deleted."""
        live = self.api.objects[(STATEFUL_SET, KEY)]
        if live.get("status", {}).get("observedGeneration") is None:
            self.api.with_objects((STATEFUL_SET, {**live, "status": {"observedGeneration": 9}}))
        for job in self.api.of(JOB):
            if "creationTimestamp" not in job["metadata"]:
                job["metadata"]["creationTimestamp"] = self.outside.clock.now().isoformat()
                self.api.with_objects((JOB, job))
        there = set(self.running())
        missing = [n for n in range(SIZE) if f"x-{n}" not in there]
        for n in missing:
            name = f"x-{n}"
            self.gone.append(name)
            if name == self.leads:
                self.leads = next(f"x-{other}" for other in range(SIZE) if other not in missing)
                self.label_as_leader(int(self.leads[-1]))
            self.births += 1
            self.api.with_objects((POD, self._new_pod(n)))

    def hand_over(self) -> None:
        """Let the next server lead."""
        before = self.leads
        self.leads = f"x-{(int(before[-1]) + 1) % SIZE}"
        for name, leads in ((before, "false"), (self.leads, "true")):
            live = copy.deepcopy(self.api.objects[(POD, ObjectKey(gen.NAMESPACE, name))])
            live["metadata"]["labels"][labels.SERVER_ACTIVE] = leads
            self.api.with_objects((POD, live))

    def _new_pod(self, ordinal: int) -> Object:
        annotations = self.template["metadata"]["annotations"]
        pod = gen.pod(ordinal).with_template(annotations[labels.TEMPLATE_HASH])
        pod = pod.with_files(annotations[labels.RELOAD_HASH])
        pod = pod.running(self.template["spec"]["containers"][0]["image"])
        if self.version in self.broken:
            pod = pod.waiting("ImagePullBackOff", "no such image")
        else:
            pod = pod.ready(version=self.version)
        obj = pod.object()
        obj["metadata"]["uid"] = f"uid-{ordinal}-{self.births}"
        return obj

    async def restart(self) -> UpgradeLife:
        """Start another operator without any state."""
        live = self.cluster
        life = UpgradeLife(gen.cluster(version=OLD), self.api)
        life.api.objects[(CLUSTERS, KEY)] = live
        life.gone, life.births, life.leads = self.gone, self.births, self.leads
        life.broken = self.broken
        age = self.outside.clock.now() - life.outside.clock.now()
        await life.outside.clock.advance(age.total_seconds())
        return life

    async def on(self, turns: int = 1) -> Outcome:
        """Run reconciles, and let the world react after each."""
        outcome = await self.turn()
        for _ in range(turns - 1):
            self.revive()
            await self.outside.clock.advance(2.0)
            outcome = await self.turn()
        self.revive()
        await self.outside.clock.advance(2.0)
        return outcome

    async def until_idle(self, turns: int = 60) -> None:
        """Run reconciles until there is no upgrade and the lock is free."""
        for _ in range(turns):
            await self.on()
            if self.status.upgrade is None and self.status.operation_lock is None:
                return
        raise AssertionError(f"still at {self.status.upgrade} after {turns} passes")

    async def until(self, phase: str, turns: int = 40) -> None:
        """Run reconciles until the upgrade is in that phase, or Failed."""
        for _ in range(turns):
            await self.on()
            upgrade = self.status.upgrade
            if upgrade and (upgrade.phase == phase or (phase == "Failed" and upgrade.failure)):
                return
        raise AssertionError(f"{self.status.upgrade} after {turns} passes, and not {phase}")

    async def later(self, time: timedelta) -> None:
        """Advance the clock."""
        await self.outside.clock.advance(time.total_seconds())

    def jobs(self) -> list[str]:
        """Names of the created Jobs, in order."""
        return [job["metadata"]["name"] for job in self.api.of(JOB)]

    def end_job(self, how: str) -> None:
        """End the newest Job."""
        live = self.api.of(JOB)[-1]
        live["status"] = {"conditions": [{"type": how, "status": "True", "reason": "Said"}]}
        self.api.with_objects((JOB, live))

    def backups(self) -> list[OpenBaoBackup]:
        """The created OpenBaoBackups."""
        return [OpenBaoBackup.from_object(backup) for backup in self.api.of(BACKUPS)]

    def end_backup(self, phase: str) -> None:
        """End the newest OpenBaoBackup."""
        live = copy.deepcopy(self.api.of(BACKUPS)[-1])
        live["status"] = {"phase": phase, "message": "as the test says"}
        self.api.with_objects((BACKUPS, live))


class Raft(Servers):
    """The servers of the cluster: a leader steps down on request."""

    def __init__(self, life: UpgradeLife) -> None:
        super().__init__()
        self.life = life

    async def step_down(self, address: str, token: str) -> None:
        await super().step_down(address, token)
        self.life.hand_over()


_BOOTED: dict[str, UpgradeLife] = {}


async def serving(monkeypatch: pytest.MonkeyPatch, **spec: Any) -> UpgradeLife:
    """A ready cluster of three servers with the old version.

    Each spec boots once per process; its copies have a new operator.
    """
    cluster = gen.cluster(version=OLD, **spec).with_login()
    key = repr((gen.INSTALLATION, cluster))
    if key not in _BOOTED:
        _BOOTED[key] = await _boot(monkeypatch, cluster)
    life = UpgradeLife(cluster, _BOOTED[key].api.copied())
    monkeypatch.setattr(login, "Bao", lambda authority, name, guard: Raft(life))
    await life.resume(_BOOTED[key])
    return life


async def _boot(monkeypatch: pytest.MonkeyPatch, cluster: gen.Cluster) -> UpgradeLife:
    life = UpgradeLife(cluster)
    monkeypatch.setattr(login, "Bao", lambda authority, name, guard: Raft(life))
    await life.until_quiet()
    life.start_pods(1)
    await life.until_quiet()
    life.start_pods(SIZE)
    for ordinal in range(SIZE):
        key = (POD, ObjectKey(gen.NAMESPACE, names.pod("x", ordinal)))
        live = copy.deepcopy(life.api.objects[key])
        live["metadata"]["labels"][labels.SERVER_VERSION] = OLD
        life.api.with_objects((POD, live))
    await life.until_quiet()
    return life
