"""The restore test reconciler: tests the snapshots of one cluster, one after the other.

Composed by `baoctl.controllers.backup`; called by `runtime.controller.controller` with the key of a
cluster. It writes `status.test` and `status.proof` of an OpenBaoBackup and
`status.backup.restoreTest` of the cluster, under a field manager of its own. It neither
reads nor changes the servers of the cluster: the Job contains a server of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import structlog

from contracts.api.backup import OpenBaoBackup, ProofRun
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import BackupStatus, RestoreTestStatus
from contracts.api.group import API_VERSION, BACKUP_KIND, BACKUPS, CLUSTERS
from contracts.api.violation import InvalidClusterError
from contracts.builders.restore_test_server import Sidecar, throw_away
from contracts.jobs.template import JobTemplateSource
from contracts.pause import counted_from, resumed_at
from contracts.pools.voter_pool import serving_set
from contracts.state_machine import TransitionDecision
from managers.jobs.client import Jobs, RefusedError
from managers.jobs.status import JobSeen, Rights
from managers.restore_test.facts import Candidate, RestoreTestFacts, candidate, in_order
from managers.restore_test.job import job_of
from managers.restore_test.state_machine import decide, held_up, recheck_after, refused
from managers.restore_test.status import RestoreTestRecord, next_record, summary
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import CONFIG_MAP, STATEFUL_SET
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import NotFound
from runtime.events import EventRecorder
from runtime.memo import memoize
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.types import (
    Object,
    ObjectKey,
    Request,
    Resource,
    is_terminating,
    key_of,
    resource_version_of,
    uid_of,
)

PROOF_MANAGER: Final = "openbao-operator-proof"
STEPS: Final = 6
"""Most steps of one pass; a test takes three passes of one or two steps each."""
PATIENCE: Final = timedelta(minutes=10)
"""How long the preparation of a test may take before it fails."""
RECHECK: Final = 5.0

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
CACHE_SIZE: Final = 512
"""Parsed backups that are cached: each pass reads all of its namespace."""

read_cluster = memoize(OpenBaoCluster.from_object)
read_backup = memoize(OpenBaoBackup.from_object, size=CACHE_SIZE, slot=uid_of)


@dataclass(frozen=True, slots=True)
class Sources:
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
class _ObservedCluster:
    """One cluster, as observed."""

    live: Object
    cluster: OpenBaoCluster
    facts: RestoreTestFacts

    @property
    def namespace(self) -> str:
        return self.cluster.metadata.namespace

    @property
    def running(self) -> tuple[Candidate, ProofRun]:
        """The snapshot under test and its run; raises ValueError when no test is recorded."""
        running = self.facts.running
        if running is None or running.test is None:
            raise ValueError(f"no test of {self.cluster.metadata.name} is recorded")
        return running, running.test

    @property
    def job_key(self) -> ObjectKey:
        """The key of the Job of the running test."""
        return ObjectKey(self.namespace, self.running[1].job_name)


RestoreTestDecision = TransitionDecision[RestoreTestFacts]
_Acted = tuple[_ObservedCluster, RestoreTestDecision]
_Action = Callable[[_ObservedCluster, RestoreTestDecision], Awaitable[_Acted]]


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """Why there is no Job yet. `after`: seconds until the next attempt; None: it is permanent."""

    message: str
    after: float | None = None


class RestoreTestReconciler:
    """Restores snapshots into ephemeral servers and records the results."""

    def __init__(self, sources: Sources, dependencies: RestoreTestDependencies) -> None:
        self._sources = sources
        self._dependencies = dependencies
        self._actions: Mapping[str, _Action] = {
            "make-job": self._make_job,
            "settle": self._settle,
            "cancel": self._cancel,
        }

    async def __call__(self, request: Request) -> Outcome:
        """Run one pass. Raises transient errors and conflicts, which are retried."""
        for _ in range(STEPS):
            observed = await self._observe(request)
            if observed is None:
                return Done()
            await self._summarise(observed)
            decision = decide(observed.facts)
            if decision.row.act:
                observed, decision = await self._actions[decision.row.act](observed, decision)
            record = next_record(observed.facts, decision)
            if record is None:
                now = self._dependencies.clock.now()
                return Done(recheck_after(observed.facts, decision, now))
            self._report(record, await self._record(observed, record))
        return Done(RECHECK)

    # --- observe ----------------------------------------------------------------------------

    async def _observe(self, request: Request) -> _ObservedCluster | None:
        """Read the cluster; None when nothing may be done."""
        live = self._sources.clusters.get(request)
        if live is None or is_terminating(live):
            return None
        try:
            cluster = read_cluster(live)
        except InvalidClusterError:
            # The workload reconciler reports that.
            return None
        if cluster.spec.paused:
            return None
        backup = cluster.spec.backup
        status = cluster.status.backup or BackupStatus()
        now = self._dependencies.clock.now()
        facts = RestoreTestFacts(
            now=now,
            cluster_uid=uid_of(live),
            spec=backup.restore_test if backup else None,
            status=status.restore_test or RestoreTestStatus(),
            successful=status.successful_backups or 0,
            namespace=request.namespace,
            candidates=self._candidates(request),
            resumed=resumed_at(cluster, now),
        )
        if backup is None and facts.running is None:
            # The location of the snapshots is unknown.
            return None
        running = facts.running
        if running is None or not _is_watched(running):
            return _ObservedCluster(live, cluster, facts)
        job = await self._job(request.namespace, running)
        if job is None or job.state != "Active":
            # The watch may not have delivered its final report yet.
            await self._refresh(ObjectKey(request.namespace, running.name))
            facts = replace(facts, candidates=self._candidates(request))
        return _ObservedCluster(live, cluster, replace(facts, job=job))

    def _candidates(self, request: Request) -> tuple[Candidate, ...]:
        candidates: list[Candidate] = []
        for live in self._sources.backups.list(request.namespace):
            try:
                backup = read_backup(live)
            except InvalidClusterError:
                continue
            if backup.spec.cluster == request.name:
                candidates.append(candidate(backup, leaving=is_terminating(live)))
        return in_order(candidates)

    async def _job(self, namespace: str, running: Candidate) -> JobSeen | None:
        run = running.test
        if run is None:
            return None
        key = ObjectKey(namespace, run.job_name)
        return await self._dependencies.jobs.look(key, run.job_uid, running.uid)

    async def _refresh(self, key: ObjectKey) -> None:
        with contextlib.suppress(NotFound):
            self._sources.backups.observe(await self._dependencies.client.get(BACKUPS, key))

    # --- actions: each returns what it left, which decides what is recorded -------------------

    async def _make_job(self, observed: _ObservedCluster, decision: RestoreTestDecision) -> _Acted:
        subject, run = observed.running
        result = await self._create_job(observed, subject, run)
        if isinstance(result, JobSeen):
            return replace(observed, facts=replace(observed.facts, job=result)), decision
        began = counted_from(run.started_at, observed.facts.resumed)
        late = observed.facts.now - began > PATIENCE
        if result.after is None or late:
            return await self._settle(observed, refused(decision, result.message))
        return observed, held_up(decision, result.message, result.after)

    async def _settle(self, observed: _ObservedCluster, decision: RestoreTestDecision) -> _Acted:
        """Release the Job before the result is written: afterwards its name is lost."""
        subject, run = observed.running
        if run.job_uid:
            await self._dependencies.jobs.expire(observed.job_key, run.job_uid)
        await self._dependencies.jobs.withdraw_rights(_owner(observed, subject), run.job_name)
        return observed, decision

    async def _cancel(self, observed: _ObservedCluster, decision: RestoreTestDecision) -> _Acted:
        """Delete a Job whose pod never ran."""
        subject, run = observed.running
        await self._dependencies.jobs.cancel(observed.job_key, run.job_uid)
        await self._dependencies.jobs.withdraw_rights(_owner(observed, subject), run.job_name)
        return observed, decision

    async def _create_job(
        self, observed: _ObservedCluster, subject: Candidate, run: ProofRun
    ) -> JobSeen | _Obstacle:
        """Create the Job, or return the obstacle."""
        if observed.cluster.spec.backup is None or subject.snapshot is None:
            return _Obstacle("there is no spec.backup, or no snapshot any more")
        template = await self._dependencies.template_source.of(observed.cluster, "backup")
        if isinstance(template, Wait):
            message = f"{template.reason}: {template.message}"
            return _Obstacle(message, template.after or RECHECK)
        if isinstance(template, Blocked):
            return _Obstacle(f"{template.reason}: {template.message}")
        sidecar = self._sidecar(observed)
        if not isinstance(sidecar, Sidecar):
            return sidecar
        owner = _owner(observed, subject)
        rights = Rights(template.cluster, run.job_name, template.account, BACKUPS)
        job = job_of(observed.cluster, template, sidecar, subject, run)
        try:
            await self._dependencies.jobs.ensure_rights(owner, rights)
            job_status = await self._dependencies.jobs.ensure(job, owner)
        except RefusedError as refused:
            return _Obstacle(str(refused))
        if job_status.foreign:
            return _Obstacle(f"Job {run.job_name} belongs to somebody else")
        return job_status

    def _sidecar(self, observed: _ObservedCluster) -> Sidecar | _Obstacle:
        cluster, serving = observed.cluster.metadata.name, serving_set(observed.cluster)
        servers = self._child(STATEFUL_SET, observed.namespace, serving.stateful_set)
        config = self._child(CONFIG_MAP, observed.namespace, serving.config_map)
        if servers is None or config is None:
            message = "the StatefulSet or the configuration of the servers is not there"
            return _Obstacle(message, RECHECK)
        try:
            return throw_away(servers, (config.get("data") or {}).get("config.hcl", ""))
        except (ValueError, KeyError, TypeError) as error:
            return _Obstacle(f"no server can be made like those of {cluster}: {error}")

    def _child(self, resource: Resource, namespace: str, name: str) -> Object | None:
        return self._sources.children[resource].get(ObjectKey(namespace, name))

    # --- writes -----------------------------------------------------------------------------

    async def _record(self, observed: _ObservedCluster, record: RestoreTestRecord) -> Object | None:
        """Write the status fields of an OpenBaoBackup that we own; None when it is gone.

        Raises Conflict when the object changed since it was read.
        """
        live = self._sources.backups.get(ObjectKey(observed.namespace, record.candidate.name))
        if live is None or uid_of(live) != record.candidate.uid:
            return None
        status = {
            **({"proof": record.proof.to_object()} if record.proof else {}),
            **({"test": record.run.to_object()} if record.run else {}),
        }
        precondition = {"resourceVersion": resource_version_of(live)}
        return await self._apply(BACKUPS, live, status, self._sources.backups, precondition)

    def _report(self, record: RestoreTestRecord, live: Object | None) -> None:
        """Log that a test began or ended, and send an event, after it is recorded."""
        run, proof = record.run, record.proof
        if run is not None:
            if not run.job_uid:
                log.info(
                    "restore test begun",
                    audit=True,
                    event_type="restore_test_begun",
                    backup=record.candidate.name,
                    cause=run.cause,
                )
            return
        if proof is None:
            return
        passed = proof.outcome == "Passed"
        if live is not None:
            self._dependencies.events.event(
                live,
                "Normal" if passed else "Warning",
                "RestoreTestPassed" if passed else "RestoreTestFailed",
                f"{proof.reason}: {proof.message}",
                action="RestoreTest",
            )
        log.info(
            "restore test ended",
            audit=True,
            event_type="restore_test_ended",
            backup=record.candidate.name,
            outcome=proof.outcome,
            reason=proof.reason,
        )

    async def _summarise(self, observed: _ObservedCluster) -> None:
        desired = summary(observed.facts)
        if desired == observed.facts.status:
            return
        status = {"backup": {"restoreTest": desired.to_object()}}
        await self._apply(CLUSTERS, observed.live, status, self._sources.clusters, {})

    async def _apply(
        self,
        resource: Resource,
        live: Object,
        status: Object,
        cache: Cache,
        precondition: Mapping[str, str],
    ) -> Object | None:
        key = key_of(live)
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "uid": uid_of(live),
                **precondition,
            },
            "status": status,
        }
        try:
            done = await self._dependencies.client.apply(
                resource, body, field_manager=PROOF_MANAGER, force=True, subresource="status"
            )
        except NotFound:
            return None
        cache.observe(done.object)
        return done.object


def _is_watched(running: Candidate) -> bool:
    """Return whether its Job was created and has not reported a result."""
    return running.test is not None and bool(running.test.job_uid) and running.answer is None


def _owner(observed: _ObservedCluster, subject: Candidate) -> Owner:
    return Owner(API_VERSION, BACKUP_KIND, observed.namespace, subject.name, subject.uid)
