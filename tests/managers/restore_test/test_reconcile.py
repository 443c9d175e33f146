"""managers.restore_test.reconcile: one Job, one report, no repeats, with server-side apply.

The test writes the report that a Job would write. What the Job does with servers and stores is
tested in tests/integration/test_restore_test_server.py.
"""

from __future__ import annotations

import contextlib
import random
from datetime import timedelta
from typing import Any

import pytest

from contracts.api.backup import OpenBaoBackup
from contracts.api.group import BACKUPS, CLUSTERS
from contracts.api.job_result import TEST_MANAGER
from managers.jobs.client import Jobs
from managers.restore_test.actions import RestoreTestCaches, RestoreTestDependencies
from managers.restore_test.facts import TEST_RESTORE
from managers.restore_test.reconcile import RestoreTestReconciler
from runtime.builtin_kinds import (
    CONFIG_MAP,
    EVENT,
    JOB,
    NETWORK_POLICY,
    ROLE,
    ROLE_BINDING,
    STATEFUL_SET,
)
from runtime.client.client import Client
from runtime.errors import Transient
from runtime.events import EventRecorder, Reporter
from runtime.outcome import Blocked, Outcome, Wait
from runtime.testing.api_server.kinds import custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Resource
from tests import gen
from tests.gen.api import StillInformer
from tests.gen.clusters import NAMESPACE, cluster
from tests.gen.job_templates import KEY, FixedJobTemplates, job_template
from tests.gen.job_templates import target as store
from tests.gen.stateful_sets import stateful_set
from tests.managers.restore_test.situations import DIGEST

CLUSTER = ObjectKey(NAMESPACE, "x")
BACKUP = ObjectKey(NAMESPACE, "monday")
SEAL = 'seal "static" {\n  current_key = "file:///etc/bao/unseal/key"\n}\n'


class World:
    """A cluster with one stored snapshot, and an operator that can be killed at any write."""

    def __init__(self, *, every: int | None = 1) -> None:
        self.clock = ManualClock()
        self._others: list[tuple[Resource, ObjectKey, Object, str]] = []
        self.server = FakeApiServer(self.clock, random.Random(1))
        for kind in (CLUSTERS, BACKUPS):
            self.server.serve(custom(kind))
        self.job_templates = FixedJobTemplates()
        self.calls_before_crash: int | None = None
        test = {"restoreTest": {"everySuccessfulBackups": every}} if every else {}
        backup = {"schedule": "0 3 * * *", "target": store().to_object(), **test}
        self.put(CLUSTERS, cluster().with_spec(backup=backup).object(), backup_count=1)
        self.put(STATEFUL_SET, _servers())
        self.put(CONFIG_MAP, _with_name(CONFIG_MAP, "x-config", data={"config.hcl": SEAL}))
        self.put(BACKUPS, _with_name(BACKUPS, "monday", spec={"cluster": "x"}))
        self.write_status(BACKUPS, BACKUP, _stored_snapshot(self.uid(CLUSTERS, CLUSTER)), "backup")
        self.start()

    def put(self, resource: Resource, obj: Object, backup_count: int = 0) -> None:
        obj = {**obj, "metadata": {**obj["metadata"]}}
        for field in ("uid", "resourceVersion", "generation"):
            obj["metadata"].pop(field, None)
        self.server.put(resource, obj)
        if backup_count:
            status = {"backup": {"successfulBackups": backup_count}}
            self.write_status(resource, CLUSTER, status, "backup")

    def write_status(
        self, resource: Resource, key: ObjectKey, status: Object, manager: str
    ) -> None:
        """Apply a part of a status, as another writer does."""
        self._others.append((resource, key, status, manager))

    def start(self) -> None:
        """Start a new process, without any state in memory."""
        wire = FakeWire(self.server, random.Random(2), latency=(0.0, 0.0))
        self.client = client_of(wire, guard=self._guard)
        self.free: Client = client_of(wire)
        self.caches = {
            kind: StillInformer(kind) for kind in (CLUSTERS, BACKUPS, STATEFUL_SET, CONFIG_MAP)
        }
        self.events = EventRecorder(
            self.client, Reporter("test.example.com/op", "1"), clock=self.clock
        )
        caches = RestoreTestCaches(self.caches[CLUSTERS], self.caches[BACKUPS], self.caches)
        dependencies = RestoreTestDependencies(
            self.client, Jobs(self.client), self.job_templates, self.events, self.clock
        )
        self.reconcile = RestoreTestReconciler(caches, dependencies)

    def _guard(self) -> None:
        if self.calls_before_crash is not None:
            self.calls_before_crash -= 1
            if self.calls_before_crash < 0:
                raise Transient("the process died before this write")

    async def others(self) -> None:
        for resource, key, status, manager in self._others:
            body = {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": key.name, "namespace": key.namespace},
                "status": status,
            }
            await self.free.apply(
                resource, body, field_manager=manager, force=True, subresource="status"
            )
        self._others.clear()

    async def step(self) -> Outcome:
        """Run one pass with fresh caches."""
        await self.others()
        for kind, informer in self.caches.items():
            informer.says(*self.server.objects(kind))
        return await self.reconcile(CLUSTER)

    def uid(self, resource: Resource, key: ObjectKey) -> str:
        live = gen.present(self.server.get(resource, key))
        uid: str = live["metadata"]["uid"]
        return uid

    @property
    def backup(self) -> OpenBaoBackup:
        return OpenBaoBackup.from_object(gen.present(self.server.get(BACKUPS, BACKUP)))

    @property
    def summary(self) -> Any:
        live = gen.present(self.server.get(CLUSTERS, CLUSTER))
        return live["status"]["backup"].get("restoreTest", {})

    @property
    def jobs(self) -> list[Object]:
        return self.server.objects(JOB)

    def says(self, reason: str = "Restored", job: Object | None = None) -> None:
        """Report a result, as the Job does."""
        (reporting,) = [job] if job else self.jobs
        report = {
            "jobUID": reporting["metadata"]["uid"],
            "outcome": "Succeeded" if reason == "Restored" else "Failed",
            "reason": reason,
            "message": "so it is",
            "finishedAt": "2030-01-01T00:10:00Z",
            "snapshot": {"digest": DIGEST},
        }
        self.write_status(BACKUPS, BACKUP, {"testReport": report}, TEST_MANAGER)

    def ask(self, value: str) -> None:
        live = gen.present(self.server.get(BACKUPS, BACKUP))
        metadata = {**live["metadata"], "annotations": {TEST_RESTORE: value}}
        self.server.put(BACKUPS, {**live, "metadata": metadata})


def _with_name(resource: Resource, name: str, **content: Any) -> Object:
    metadata = {"name": name, "namespace": NAMESPACE}
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return kind | {"metadata": metadata} | content


def _servers() -> Object:
    obj = stateful_set().object()
    obj["spec"]["template"]["spec"]["containers"] = [
        {"name": "openbao", "image": "registry.example.com/openbao:2.4.0"}
    ]
    return obj


def _stored_snapshot(cluster_uid: str) -> Object:
    snapshot = {
        "key": KEY, "digest": DIGEST, "size": 9, "index": 7, "term": 2, "version": "2.4.0",
        "clusterID": "c-1",
    }  # fmt: skip
    return {
        "phase": "Completed",
        "clusterUID": cluster_uid,
        "completedAt": "2030-01-01T00:00:00Z",
        "snapshot": snapshot,
    }


async def test_a_snapshot_is_tested_by_one_job() -> None:
    world = World()
    await world.step()
    (job,) = world.jobs
    run = gen.present(world.backup.status.test)
    assert (run.cause, run.job_name, run.job_uid) == (
        "Counted", job["metadata"]["name"], job["metadata"]["uid"],
    )  # fmt: skip
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("OpenBaoBackup", "monday")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert (env["TEST_KEY"], env["TEST_EXPECTED_DIGEST"]) == (KEY, DIGEST)
    (server,) = job["spec"]["template"]["spec"]["initContainers"]
    assert (server["image"], server["restartPolicy"]) == (
        "registry.example.com/openbao:2.4.0", "Always",
    )  # fmt: skip
    assert world.summary["active"]["run"] == run.run
    (role,) = world.server.objects(ROLE)
    (policy,) = world.server.objects(NETWORK_POLICY)
    assert policy["metadata"]["name"] == role["metadata"]["name"]
    assert {name for rule in role["rules"] for name in rule["resourceNames"]} == {"monday"}


async def test_the_result_is_recorded_on_backup_and_cluster() -> None:
    world = World()
    await world.step()
    world.says()
    await world.step()
    status = world.backup.status
    assert status.test is None
    assert status.proof is not None
    assert (status.proof.outcome, status.proof.reason, status.proof.digest) == (
        "Passed", "Restored", DIGEST,
    )  # fmt: skip
    # The fields of other writers are unchanged.
    assert status.phase == "Completed"
    assert status.test_report is not None
    assert (world.summary["passed"], world.summary["last"]["key"]) == (1, KEY)
    assert "active" not in world.summary
    (job,) = world.jobs
    assert job["spec"]["ttlSecondsAfterFinished"] == 3600
    for resource in (ROLE, ROLE_BINDING, NETWORK_POLICY):
        assert world.server.objects(resource) == []


async def test_a_hundred_more_passes_change_nothing() -> None:
    world = World()
    await world.step()
    world.says("SealDiffers")
    await world.step()
    before = world.server.storage.revision
    for _ in range(100):
        await world.step()
    assert world.server.storage.revision == before
    assert (world.summary["failed"], len(world.jobs)) == (1, 1)
    # The result causes one event.
    world.events.stop()
    await world.events.run()
    (event,) = world.server.objects(EVENT)
    assert (event["type"], event["reason"]) == ("Warning", "RestoreTestFailed")
    assert (event["note"], event["regarding"]["name"]) == ("SealDiffers: so it is", "monday")


@pytest.mark.parametrize("before", range(12))
async def test_a_crash_before_any_write_causes_no_second_test(before: int) -> None:
    world = World()
    await world.others()
    world.calls_before_crash = before
    for _ in range(20):
        try:
            await world.step()
        except Transient:
            world.calls_before_crash = None
            world.start()
        report = world.backup.status.test_report
        if world.jobs and report is None:
            world.says()
    assert len(world.jobs) == 1
    status = world.backup.status
    assert status.test is None
    assert status.proof is not None
    assert (status.proof.outcome, world.summary["passed"], world.summary["failed"]) == (
        "Passed", 1, 0,
    )  # fmt: skip
    assert world.server.objects(ROLE) == []


async def test_each_new_annotation_value_causes_a_test() -> None:
    world = World(every=None)
    await world.step()
    assert world.jobs == []
    for number, value in enumerate(("one", "two", "one"), start=1):
        world.ask(value)
        await world.clock.advance(60)
        await world.step()
        newest = max(world.jobs, key=lambda job: int(job["metadata"]["resourceVersion"]))
        assert len(world.jobs) == number
        world.says(job=newest)
        await world.step()
        await world.step()
        proof = gen.present(world.backup.status.proof)
        assert (proof.request, world.summary["passed"]) == (value, number)


async def test_a_deleted_job_makes_the_test_inconclusive() -> None:
    world = World()
    await world.step()
    (job,) = world.jobs
    world.server.remove(JOB, ObjectKey(NAMESPACE, job["metadata"]["name"]))
    await world.step()
    proof = gen.present(world.backup.status.proof)
    assert (proof.outcome, proof.reason) == ("Unknown", "JobGone")
    assert world.summary["failed"] == 1


async def test_the_report_is_read_once_more_after_the_job_ended() -> None:
    world = World()
    await world.step()
    world.says()
    await world.others()
    # The cache does not have the report yet, and the Job is already deleted.
    cached = [obj for obj in world.caches[BACKUPS].list()]
    (job,) = world.jobs
    world.server.remove(JOB, ObjectKey(NAMESPACE, job["metadata"]["name"]))
    world.caches[BACKUPS].says(*cached)
    await world.reconcile(CLUSTER)
    assert gen.present(world.backup.status.proof).outcome == "Passed"


async def test_a_temporary_obstacle_is_waited_for_with_a_limit() -> None:
    world = World()
    world.job_templates.answer = Wait("JobServiceAccountMissing", "not there yet", 1.0)
    assert (await world.step()) == (await world.step())
    assert world.jobs == []
    assert world.backup.status.test is not None
    await world.clock.advance(timedelta(minutes=11).total_seconds())
    await world.step()
    proof = gen.present(world.backup.status.proof)
    assert (proof.outcome, proof.reason) == ("Unknown", "PreparationFailed")
    assert "not there yet" in proof.message


async def test_a_permanent_obstacle_is_reported_immediately() -> None:
    world = World()
    world.job_templates.answer = Blocked("JobImageUnknown", "there is no image")
    await world.step()
    proof = gen.present(world.backup.status.proof)
    assert (proof.reason, proof.message) == (
        "PreparationFailed", "JobImageUnknown: there is no image",
    )  # fmt: skip


async def test_a_foreign_job_of_that_name_is_not_changed() -> None:
    world = World()
    world.job_templates.answer = Wait("JobServiceAccountMissing", "not there yet", 1.0)
    await world.step()
    run = gen.present(world.backup.status.test)
    foreign = _with_name(JOB, run.job_name, spec={})
    world.server.put(JOB, foreign)
    world.job_templates.answer = job_template()
    await world.step()
    assert "is not owned by" in gen.present(world.backup.status.proof).message
    (job,) = world.jobs
    assert "ttlSecondsAfterFinished" not in job["spec"]


@pytest.mark.parametrize("schedule", ["0 0 31 2 *", "61 * * * *"])
async def test_a_schedule_that_is_never_due_does_not_stop_other_tests(schedule: str) -> None:
    """The API server cannot check it; the workload reconciler reports it."""
    world = World(every=None)
    live = gen.present(world.server.get(CLUSTERS, CLUSTER))
    backup = {**live["spec"]["backup"], "restoreTest": {"schedule": schedule}}
    world.server.put(CLUSTERS, {**live, "spec": {**live["spec"], "backup": backup}})
    world.ask("one")
    await world.step()
    world.says()
    await world.step()
    assert gen.present(world.backup.status.proof).outcome == "Passed"


async def test_a_paused_cluster_is_not_changed() -> None:
    world = World()
    live = gen.present(world.server.get(CLUSTERS, CLUSTER))
    world.server.put(CLUSTERS, {**live, "spec": {**live["spec"], "paused": True}})
    await world.step()
    assert world.jobs == []
    assert world.backup.status.test is None


async def test_a_job_that_was_not_recorded_continues_whatever_changed() -> None:
    world = World()
    for writes in range(12):
        world = World()
        world.calls_before_crash = writes
        with contextlib.suppress(Transient):
            await world.step()
        if world.jobs:
            break
    world.calls_before_crash = None
    world.start()
    assert not gen.present(world.backup.status.test).job_uid
    world.job_templates.answer = Blocked("JobImageMissing", "none")
    await world.step()
    assert gen.present(world.backup.status.test).job_uid == world.jobs[0]["metadata"]["uid"]
