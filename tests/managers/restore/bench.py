"""A reconciler of restores with an API server in memory and simulated job and servers.

A process can be killed before or after any write; the next process knows only what is stored.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from baoctl.jobs.submission_permit import CLAIM_MANAGER
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from contracts.api.job_result import EXECUTOR_MANAGER
from contracts.jobs.template import AuthorityFile, JobLogin, JobTemplate
from managers.bao.models import Member, ServerHealth
from managers.jobs.client import Jobs
from managers.operation_lock.client import OperationLocks
from managers.restore.actions import RestoreActions
from managers.restore.events import RestoreReporter
from managers.restore.observe import RestoreObserver
from managers.restore.reconcile import RestoreReconciler
from managers.restore.server_recovery import (
    ReplicationObservation,
    ReplicationProgress,
    ServerObservation,
    ServersObservation,
)
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import JOB
from runtime.events import EventRecorder, Reporter
from runtime.metrics.metrics import Metrics
from runtime.outcome import Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Resource, resource_version_of, uid_of
from tests import gen
from tests.gen.api import READS, Call, FakeApi, StillInformer
from tests.gen.job_templates import FixedJobTemplates
from tests.managers.restore.situations import CLAIM, NOW, UID, restore_object

CLUSTER = ObjectKey(gen.NAMESPACE, "x")
RESTORE = ObjectKey(gen.NAMESPACE, "monday")
JOB_KEY = ObjectKey(gen.NAMESPACE, "restore-monday")
EXECUTOR = JobTemplate(
    cluster="x",
    namespace=gen.NAMESPACE,
    image="operator:1",
    account="x-restore-serviceaccount",
    audience="openbao-internal",
    login=JobLogin(role="openbao-operator-restore"),
    authority=AuthorityFile("x-tls-ca", "ca.crt"),
    server_name="x",
    servers=("x-0",),
)
HEALTHY = ServerHealth(initialized=True, sealed=False, standby=False, cluster_id="id")


class ProcessKilled(Exception):  # noqa: N818  named after what happened
    """The process ended."""


class CrashingApi(FakeApi):
    """Kills the process at one of its writes: before it, or after it without a response."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []
        self.kill_before: int | None = None
        self.kill_after: int | None = None
        self.by_others = False
        """The current write is not one of the process."""
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        """Called once, right after the process has read a Job."""

    async def answering(self, call: Call) -> None:
        if call.kind == JOB.kind and call.verb in READS and self.meanwhile is not None:
            callback, self.meanwhile = self.meanwhile, None
            await callback()

    def _note(self, call: Call) -> None:
        if call.verb not in READS and not self.by_others:
            self._killed_after_last_write()
            self.writes.append(str(call))
            if self.kill_before == len(self.writes):
                self.kill_before = None
                raise ProcessKilled(str(call))
        super()._note(call)

    def _killed_after_last_write(self) -> None:
        """Kill the process if it got no response to its last write."""
        if self.kill_after is not None and self.kill_after <= len(self.writes):
            self.kill_after = None
            raise ProcessKilled("after a write")


class Mirror(StillInformer):
    """A cache that is always current."""

    def __init__(self, api: FakeApi, resource: Resource) -> None:
        super().__init__(resource)
        self._of = (api, resource)

    def get(self, key: ObjectKey) -> Object | None:
        api, resource = self._of
        return copy.deepcopy(api.objects.get((resource, key)))

    def observe(self, obj: Object) -> None:
        """Do nothing: the cache reads the object from the API server."""


class Servers:
    """One server, in the state that a test sets."""

    def __init__(self) -> None:
        self.health: ServerHealth | None = HEALTHY
        self.restarted = True
        self.members: Sequence[Member] | None = (Member(node_id="x-0", leader=True, voter=True),)
        self.refusal = ""
        self.index: int | None = 7
        """Its applied raft index; that of the leader is 7."""

    async def copies(self, cluster: OpenBaoCluster, owner: Owner) -> ReplicationObservation:
        return ReplicationObservation([ReplicationProgress("x-0", index=self.index)], "x-0", 7)

    async def servers(
        self, cluster: OpenBaoCluster, owner: Owner, restore: str
    ) -> ServersObservation:
        server = ServerObservation("x-0", True, self.restarted, True, self.health)
        return ServersObservation([server], frozenset({"x-0"}), self.members, self.refusal)


class Bench:
    """One restore with its cluster and its operator."""

    def __init__(self, cluster: gen.Cluster | None = None, **spec: Any) -> None:
        self.api = CrashingApi()
        self.api.with_objects((CLUSTERS, (cluster or gen.cluster().initialized()).object()))
        self.ask(**spec)
        self.clock = ManualClock()
        self.job_templates, self.servers = FixedJobTemplates(EXECUTOR), Servers()
        self.metrics = Metrics()
        self.events = EventRecorder(self.api, Reporter("t.example.com/op", "1"), clock=self.clock)
        self.reporter = RestoreReporter(self.events, self.metrics)
        self.api.calls.clear()

    def ask(self, **spec: Any) -> None:
        """Create the restore."""
        body = restore_object(**{"cluster": "x", **spec})
        body["metadata"]["namespace"] = gen.NAMESPACE
        body.pop("status")
        self.api.with_objects((RESTORES, body))

    def process(self) -> RestoreReconciler:
        """Return a new process, without any state in memory."""
        clusters, restores, backups = (
            Mirror(self.api, kind) for kind in (CLUSTERS, RESTORES, BACKUPS)
        )
        jobs = Jobs(self.api)
        observer = RestoreObserver(
            self.api, clusters, backups, jobs, self.job_templates, self.servers, self.clock
        )
        locks = OperationLocks(self.api, clusters, self.clock)
        actions = RestoreActions(self.api, clusters, locks, jobs)
        return RestoreReconciler(self.api, restores, observer, actions, self.reporter)

    async def look(self) -> Outcome:
        """Run one pass of a new process."""
        return await self.process()(RESTORE)

    # --- what is stored -------------------------------------------------------------------------

    @property
    def live(self) -> Object:
        return self.api.objects[(RESTORES, RESTORE)]

    @property
    def status(self) -> Object:
        status: Object = self.live.get("status") or {}
        return status

    @property
    def stage(self) -> str:
        stage: str = (self.status.get("execution") or {}).get("stage", "")
        return stage

    @property
    def cluster_status(self) -> Object:
        status: Object = self.api.objects[(CLUSTERS, CLUSTER)].get("status") or {}
        return status

    @property
    def lock(self) -> Object | None:
        return self.cluster_status.get("operationLock")

    @property
    def job(self) -> Object | None:
        return self.api.objects.get((JOB, JOB_KEY))

    def reason(self, kind: str = "RestoreComplete") -> str:
        """Return the reason of a condition; "" without it."""
        conditions: list[Object] = self.status.get("conditions") or []
        return next((str(c["reason"]) for c in conditions if c["type"] == kind), "")

    # --- other writers --------------------------------------------------------------------------

    async def claim(self) -> None:
        """Take the submission permit, as the job does."""
        await self._write_status({"submissionClaim": dict(CLAIM)}, CLAIM_MANAGER)

    async def report(self, outcome: str, **more: Any) -> None:
        """Report a result, as the job does."""
        result = {"jobUID": uid_of(gen.present(self.job)), "outcome": outcome, **more}
        await self._write_status({"report": result}, EXECUTOR_MANAGER)

    async def _write_status(self, fields: Object, manager: str) -> None:
        live = self.live
        body = {
            "apiVersion": live["apiVersion"],
            "kind": live["kind"],
            "metadata": {
                "name": RESTORE.name,
                "namespace": RESTORE.namespace,
                "uid": UID,
                "resourceVersion": resource_version_of(live),
            },
            "status": fields,
        }
        self.api.by_others = True
        await self.api.apply(
            RESTORES, body, field_manager=manager, force=False, subresource="status"
        )
        self.api.by_others = False

    def end_job(self, how: str) -> None:
        """End the Job, with the condition Complete or Failed."""
        assert self.job is not None
        condition = {"type": how, "status": "True", "lastTransitionTime": NOW.isoformat()}
        self.job["status"] = {"conditions": [condition]}

    def annotate(self, **annotations: str) -> None:
        """Annotate the restore, as a user does."""
        self.live["metadata"].setdefault("annotations", {}).update(annotations)

    async def until_created(self) -> None:
        """Reconcile until the Job is recorded."""
        for _ in range(3):
            await self.look()
            if self.stage == "Created":
                return
        raise AssertionError(f"{self.stage}: {self.status}")
