"""Actions of the restore test state machine: the Job and its RBAC. Each can be repeated.

Each action returns the observation and the decision after it, from which the record is computed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from contracts.api.backup import RestoreTestRun
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, BACKUP_KIND, BACKUPS
from contracts.builders.restore_test_server import Sidecar, restore_test_sidecar
from contracts.jobs.cloud_identity import metadata_addresses
from contracts.jobs.template import JobTemplateSource
from contracts.pause import counted_from
from contracts.pools.voter_pool import serving_pool
from contracts.state_machine import TransitionDecision
from managers.jobs.client import Jobs, RefusedError
from managers.jobs.run import ActionOutcome
from managers.jobs.status import JobObservation, Rights
from managers.restore_test.facts import Candidate, RestoreTestFacts
from managers.restore_test.job import job_of
from managers.restore_test.state_machine import refuse_job, wait_decision
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import CONFIG_MAP, STATEFUL_SET
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.events import EventRecorder
from runtime.outcome import Blocked, Wait
from runtime.types import Object, ObjectKey, Resource

PATIENCE: Final = timedelta(minutes=10)
"""Maximum duration of the preparation of a test; after it the test fails."""
OBSTACLE_RECHECK: Final = 5.0
"""Seconds until the next attempt, if the obstacle does not specify a time."""


@dataclass(frozen=True, slots=True)
class RestoreTestCaches:
    """Caches that the reconciler reads."""

    clusters: Cache
    backups: Cache
    children: Mapping[Resource, Cache]


@dataclass(frozen=True, slots=True)
class RestoreTestDependencies:
    """Dependencies of the reconciler."""

    client: Client
    jobs: Jobs
    template_source: JobTemplateSource
    events: EventRecorder
    clock: Clock


@dataclass(frozen=True, slots=True)
class ObservedCluster:
    """The observed state of one cluster."""

    live: Object
    cluster: OpenBaoCluster
    facts: RestoreTestFacts

    @property
    def namespace(self) -> str:
        return self.cluster.metadata.namespace

    @property
    def running(self) -> tuple[Candidate, RestoreTestRun]:
        """The snapshot under test and its run. Raises ValueError if no test is recorded."""
        running = self.facts.running
        if running is None or running.test is None:
            raise ValueError(f"no test of {self.cluster.metadata.name} is recorded")
        return running, running.test

    @property
    def job_key(self) -> ObjectKey:
        """The key of the Job of the running test."""
        return ObjectKey(self.namespace, self.running[1].job_name)


RestoreTestDecision = TransitionDecision[RestoreTestFacts]
RestoreTestActionOutcome = ActionOutcome[ObservedCluster, RestoreTestFacts]
Action = Callable[[ObservedCluster, RestoreTestDecision], Awaitable[RestoreTestActionOutcome]]


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """Why there is no Job yet. `after`: seconds until the next attempt; None: it is permanent."""

    message: str
    after: float | None = None


class RestoreTestActions:
    """Carries out the action of a transition."""

    def __init__(self, caches: RestoreTestCaches, dependencies: RestoreTestDependencies) -> None:
        self._caches = caches
        self._dependencies = dependencies
        self._actions: Mapping[str, Action] = {
            "make-job": self._make_job,
            "settle": self._settle,
            "cancel": self._cancel,
        }

    async def perform(
        self, observed: ObservedCluster, decision: RestoreTestDecision
    ) -> RestoreTestActionOutcome:
        """Carry out the decision. Raises the errors of the API server."""
        action = decision.transition.action
        return (
            await self._actions[action](observed, decision)
            if action
            else ActionOutcome(observed, decision)
        )

    async def _make_job(
        self, observed: ObservedCluster, decision: RestoreTestDecision
    ) -> RestoreTestActionOutcome:
        subject, run = observed.running
        result = await self._create_job(observed, subject, run)
        if isinstance(result, _Obstacle):
            # Use a Job that an interrupted reconcile created, even if its inputs changed.
            result = await self._created_job(observed, subject) or result
        if isinstance(result, JobObservation):
            facts = replace(observed.facts, job=result)
            return ActionOutcome(replace(observed, facts=facts), decision)
        started = counted_from(run.started_at, observed.facts.resumed)
        late = observed.facts.now - started > PATIENCE
        if result.after is None or late:
            return await self._settle(observed, refuse_job(decision, result.message))
        return ActionOutcome(observed, wait_decision(decision, result.message, result.after))

    async def _settle(
        self, observed: ObservedCluster, decision: RestoreTestDecision
    ) -> RestoreTestActionOutcome:
        """Expire the Job and remove its RBAC, before the result replaces the name of the Job."""
        subject, run = observed.running
        if run.job_uid:
            await self._dependencies.jobs.expire(observed.job_key, run.job_uid)
        await self._dependencies.jobs.withdraw_rights(_owner(observed, subject), run.job_name)
        return ActionOutcome(observed, decision)

    async def _cancel(
        self, observed: ObservedCluster, decision: RestoreTestDecision
    ) -> RestoreTestActionOutcome:
        """Delete a Job whose pod never ran."""
        subject, run = observed.running
        await self._dependencies.jobs.cancel(observed.job_key, run.job_uid)
        await self._dependencies.jobs.withdraw_rights(_owner(observed, subject), run.job_name)
        return ActionOutcome(observed, decision)

    async def _create_job(
        self, observed: ObservedCluster, subject: Candidate, run: RestoreTestRun
    ) -> JobObservation | _Obstacle:
        """Create the Job, or return the obstacle."""
        backup = observed.cluster.spec.backup
        if backup is None or subject.snapshot is None:
            return _Obstacle("spec.backup or the snapshot no longer exists")
        template = await self._dependencies.template_source.of(observed.cluster, "backup")
        if isinstance(template, Wait):
            message = f"{template.reason}: {template.message}"
            return _Obstacle(message, template.after or OBSTACLE_RECHECK)
        if isinstance(template, Blocked):
            return _Obstacle(f"{template.reason}: {template.message}")
        sidecar = self._sidecar(observed)
        if not isinstance(sidecar, Sidecar):
            return sidecar
        owner = _owner(observed, subject)
        addresses = metadata_addresses(backup.target)
        rights = Rights(
            template.cluster, run.job_name, template.account, BACKUPS, metadata=addresses
        )
        job = job_of(observed.cluster, template, sidecar, subject, run)
        try:
            await self._dependencies.jobs.ensure_rights(owner, rights)
            job_status = await self._dependencies.jobs.ensure(job, owner)
        except RefusedError as error:
            return _Obstacle(str(error))
        if job_status.foreign:
            return _Obstacle(
                f"Job {run.job_name} exists and is not owned by this OpenBaoBackup: delete it"
            )
        return job_status

    async def _created_job(
        self, observed: ObservedCluster, subject: Candidate
    ) -> JobObservation | None:
        """Return the Job that this run created but did not record."""
        job = await self._dependencies.jobs.get(observed.job_key, "", subject.uid)
        return None if job is None or job.foreign else job

    def _sidecar(self, observed: ObservedCluster) -> Sidecar | _Obstacle:
        cluster, pool = observed.cluster.metadata.name, serving_pool(observed.cluster)
        servers = self._child(STATEFUL_SET, observed.namespace, pool.stateful_set)
        config = self._child(CONFIG_MAP, observed.namespace, pool.config_map)
        if servers is None or config is None:
            message = "the StatefulSet or the ConfigMap of the servers does not exist yet"
            return _Obstacle(message, OBSTACLE_RECHECK)
        try:
            return restore_test_sidecar(servers, (config.get("data") or {}).get("config.hcl", ""))
        except (ValueError, KeyError, TypeError) as error:
            return _Obstacle(f"cannot build a test server like the servers of {cluster}: {error}")

    def _child(self, resource: Resource, namespace: str, name: str) -> Object | None:
        return self._caches.children[resource].get(ObjectKey(namespace, name))


def _owner(observed: ObservedCluster, subject: Candidate) -> Owner:
    return Owner(API_VERSION, BACKUP_KIND, observed.namespace, subject.name, subject.uid)
