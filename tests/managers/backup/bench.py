"""One operator in memory that takes backups; the test refreshes the caches and ends the Jobs."""

from __future__ import annotations

import copy
from datetime import datetime
from typing import Any

from prometheus_client import generate_latest

from contracts.api.group import API_VERSION, BACKUPS, CLUSTERS, RESTORE_KIND, RESTORES
from contracts.jobs import backup_request
from managers.backup.caches import BackupCaches
from managers.backup.dependencies import BackupDependencies
from managers.backup.metrics import BackupMetrics
from managers.backup.reconcile import BackupReconciler
from managers.backup.schedule import ScheduleReconciler
from managers.jobs.client import Jobs
from managers.operation_lock.client import OperationLocks
from runtime.builtin_kinds import JOB
from runtime.metrics.metrics import Metrics
from runtime.outcome import Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Resource, key_of, uid_of
from tests import gen
from tests.gen.api import FakeApi, Outside, StillInformer
from tests.gen.job_templates import FixedJobTemplates

KEY = ObjectKey(gen.NAMESPACE, "x")
STORE = {
    "provider": "s3",
    "endpoint": "https://s3.example.com",
    "bucket": "snapshots",
    "pathPrefix": "prod",
}
SNAPSHOT = {
    "digest": "sha256:" + "a" * 64,
    "size": 4096,
    "clusterID": "c-1",
    "version": "2.4.0",
    "index": 77,
}


def cluster(schedule: str = "0 3 * * *", **backup: Any) -> gen.Cluster:
    """Return an initialized cluster with spec.backup."""
    spec = {"schedule": schedule, "target": STORE, **backup}
    initialized = gen.cluster(backup=spec).self_init(login=True).initialized()
    return initialized.with_metadata(labels={"tier": "prod"})


def by_hand(name: str = "by-hand", **metadata: Any) -> Object:
    """Return a backup that a user requests."""
    return {
        "apiVersion": BACKUPS.api_version,
        "kind": BACKUPS.kind,
        "metadata": {
            "name": name,
            "namespace": gen.NAMESPACE,
            "uid": f"uid-{name}",
            "generation": 1,
            **metadata,
        },
        "spec": {"cluster": "x"},
    }


def scheduled(moment: datetime) -> Object:
    """Return a backup of the schedule."""
    backup = backup_request.for_schedule(gen.NAMESPACE, "x", moment)
    backup["metadata"] |= {"uid": f"uid-{backup['metadata']['name']}", "generation": 1}
    return backup


def restore(name: str = "monday", phase: str = "Validating", **spec: Any) -> Object:
    """Return a restore into the cluster."""
    return {
        "apiVersion": API_VERSION,
        "kind": RESTORE_KIND,
        "metadata": {"name": name, "namespace": gen.NAMESPACE, "uid": f"uid-{name}"},
        "spec": {"cluster": "x", "source": {"backup": "sunday"}, **spec},
        "status": {"phase": phase},
    }


class Bench:
    """The API server and one process; `restart` starts a new process, without state in memory."""

    def __init__(
        self, of: gen.Cluster | None = None, *backups: Object, api: FakeApi | None = None
    ) -> None:
        self.api = api or FakeApi()
        self.api.with_objects(
            (CLUSTERS, (of or cluster()).object()), *((BACKUPS, b) for b in backups)
        )
        self.outside = Outside(self.api)
        self.job_templates = FixedJobTemplates()
        self.restart()

    @property
    def clock(self) -> ManualClock:
        return self.outside.clock

    def restart(self) -> None:
        """Start a new process, as after a crash."""
        self.caches = {kind: StillInformer(kind) for kind in (CLUSTERS, BACKUPS, RESTORES)}
        self.backup_caches = BackupCaches(*self.caches.values())
        locks = OperationLocks(self.api, self.caches[CLUSTERS], self.clock)
        self.dependencies = BackupDependencies(
            self.api, locks, Jobs(self.api), self.outside.events, self.clock
        )
        self.metrics = Metrics()
        counters = BackupMetrics(self.metrics, self.caches[CLUSTERS])
        self.reconcile = BackupReconciler(self.backup_caches, self.dependencies, self.job_templates)
        self.plan = ScheduleReconciler(self.backup_caches, self.dependencies, counters)
        self.sync()

    def sync(self) -> None:
        """Refresh the caches from the API server."""
        for kind, cache in self.caches.items():
            # In an older list the absence of an object would be ignored.
            cache._version = next(self.api._versions)
            cache.says(*copy.deepcopy(self.api.of(kind)))

    async def run(self, name: str = "by-hand") -> Outcome:
        """Run one pass of an OpenBaoBackup with fresh caches."""
        self.sync()
        return await self.reconcile(ObjectKey(gen.NAMESPACE, name))

    async def tick(self) -> Outcome:
        """Run one pass of the cluster with fresh caches."""
        self.sync()
        return await self.plan(KEY)

    async def settle(self) -> None:
        """Run passes of the cluster and all backups until none of them writes."""
        for _ in range(10):
            self.api.calls.clear()
            await self.tick()
            for name in self.names():
                await self.run(name)
            if not self.writes():
                return
        raise AssertionError("the passes never stop writing")

    def writes(self) -> list[str]:
        """Return the writes since the calls were cleared."""
        return [call for call in self.api.take_requests() if not call.startswith(("get ", "peek "))]

    # --- the API server -------------------------------------------------------------------------

    def object(self, resource: Resource, name: str) -> Object:
        return self.api.objects[(resource, ObjectKey(gen.NAMESPACE, name))]

    def change(self, resource: Resource, name: str, **parts: Any) -> None:
        """Replace parts of an object, as another writer."""
        changed = {**copy.deepcopy(self.object(resource, name)), **parts}
        self.api.with_objects((resource, changed))

    def names(self) -> list[str]:
        return sorted(key_of(backup).name for backup in self.api.of(BACKUPS))

    def status(self, name: str = "by-hand") -> Object:
        status: Object = self.object(BACKUPS, name).get("status") or {}
        return status

    def phase(self, name: str = "by-hand") -> tuple[str, str]:
        status = self.status(name)
        return status["phase"], status["reason"]

    @property
    def record(self) -> Object:
        """status.backup of the cluster."""
        record: Object = self.object(CLUSTERS, "x").get("status", {}).get("backup", {})
        return record

    @property
    def holder(self) -> str:
        lock = self.object(CLUSTERS, "x")["status"].get("operationLock")
        return "" if lock is None else lock["holder"]

    @property
    def jobs(self) -> list[str]:
        return sorted(key_of(job).name for job in self.api.of(JOB))

    def report(self, name: str = "by-hand", outcome: str = "Succeeded", **more: Any) -> None:
        """Write a report, as the Job does; the Job is still Active."""
        status = self.status(name)
        report = {
            "jobUID": status.get("jobUID", ""),
            "outcome": outcome,
            "finishedAt": self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            **({"snapshot": SNAPSHOT, "seconds": 1.5} if outcome == "Succeeded" else {}),
            **more,
        }
        self.change(BACKUPS, name, status={**status, "report": report})

    def end_job(self, name: str, condition: str, reason: str = "") -> None:
        """Set the condition of a Job that has ended."""
        ended = {"type": condition, "status": "True", "reason": reason, "message": "it ended"}
        self.change(JOB, name, status={"conditions": [ended]})

    def scrape(self) -> str:
        """Return the metrics as text."""
        return generate_latest(self.metrics.registry).decode()

    def delete(self, resource: Resource, name: str) -> None:
        """Delete an object."""
        del self.api.objects[(resource, ObjectKey(gen.NAMESPACE, name))]

    def uid(self, resource: Resource, name: str) -> str:
        return uid_of(self.object(resource, name))
