"""The proof reconciler: tests snapshots of one cluster, one after the other.

Composed by `baoctl.controllers.backup`; called by `runtime.controller.controller` with the key of a
cluster. It writes `status.test` and `status.proof` of an OpenBaoBackup and
`status.backup.restoreTest` of the cluster, under a field manager of its own. The servers of the
cluster are neither asked nor touched: the Job brings a server along.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import structlog

from contracts.api.backup import OpenBaoBackup, Proof, ProofRun
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import BackupStatus, RestoreTestStatus
from contracts.api.group import API_VERSION, BACKUP_KIND, BACKUPS, CLUSTERS
from contracts.api.violation import InvalidClusterError
from contracts.builders.restore_test_server import Sidecar, throw_away
from contracts.jobs.template import JobTemplateSource
from contracts.pause import counted_from, resumed_at
from contracts.pools.voter_pool import serving_set
from managers.jobs.client import Jobs, RefusedError
from managers.jobs.status import JobSeen, Rights
from managers.restore_test.facts import Candidate, RestoreTestFacts, candidate, in_order
from managers.restore_test.job import job_of
from managers.restore_test.plan import (
    POLL_SECONDS,
    Begin,
    Conclude,
    Decision,
    Idle,
    Launch,
    WatchJob,
    decide,
    summary,
    unproven,
)
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
"""What one pass may do; a test takes three passes of one or two steps each."""
PATIENCE: Final = timedelta(minutes=10)
"""How long a test may be prepared before it is given up."""
RECHECK: Final = 5.0

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
KEPT: Final = 512
"""Backups that are kept as they were read: each pass looks at all of its namespace."""

read_cluster = memoize(OpenBaoCluster.from_object)
read_backup = memoize(OpenBaoBackup.from_object, size=KEPT, slot=uid_of)


@dataclass(frozen=True, slots=True)
class Sources:
    """What the reconciler reads."""

    clusters: Cache
    backups: Cache
    children: Mapping[Resource, Cache]


@dataclass(frozen=True, slots=True)
class RestoreTestDependencies:
    """Whom it acts through."""

    client: Client
    jobs: Jobs
    executors: JobTemplateSource
    events: EventRecorder
    clock: Clock


@dataclass(frozen=True, slots=True)
class _Place:
    """One cluster, as read."""

    live: Object
    cluster: OpenBaoCluster
    situation: RestoreTestFacts

    @property
    def namespace(self) -> str:
        return self.cluster.metadata.namespace


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """Why there is no Job yet; `after` so many seconds it may be otherwise, None: it will not."""

    message: str
    after: float | None = None


class RestoreTestReconciler:
    """Restores snapshots where nobody is hurt by it, and says what came of it."""

    def __init__(self, sources: Sources, hands: RestoreTestDependencies) -> None:
        self._sources = sources
        self._hands = hands
        self._acts: Mapping[type, Callable[[_Place, Any], Awaitable[float | None]]] = {
            Begin: self._begin,
            Launch: self._launch,
            Conclude: self._conclude,
        }

    async def __call__(self, request: Request) -> Outcome:
        """Go as far as it goes now. Raises transient errors and conflicts, which are retried."""
        for _ in range(STEPS):
            place = await self._look(request)
            if place is None:
                return Done()
            await self._summarise(place)
            decision = decide(place.situation)
            if isinstance(decision, Idle | WatchJob):
                return Done(self._pause(decision))
            again = await self._acts[type(decision)](place, decision)
            if again is not None:
                return Done(again)
        return Done(RECHECK)

    def _pause(self, decision: Decision) -> float | None:
        if not isinstance(decision, Idle):
            return POLL_SECONDS
        if decision.until is None:
            return None
        now = self._hands.clock.now()
        # A time that has passed waits for a snapshot, whose end wakes us.
        return (decision.until - now).total_seconds() if decision.until > now else None

    # --- observe ----------------------------------------------------------------------------

    async def _look(self, request: Request) -> _Place | None:
        """Read what there is; None when nothing may be done."""
        live = self._sources.clusters.get(request)
        if live is None or is_terminating(live):
            return None
        try:
            cluster = read_cluster(live)
        except InvalidClusterError:
            # The workload reconciler says so.
            return None
        if cluster.spec.paused:
            return None
        backup = cluster.spec.backup
        status = cluster.status.backup or BackupStatus()
        now = self._hands.clock.now()
        situation = RestoreTestFacts(
            now=now,
            cluster_uid=uid_of(live),
            wishes=backup.restore_test if backup else None,
            known=status.restore_test or RestoreTestStatus(),
            successful=status.successful_backups or 0,
            namespace=request.namespace,
            candidates=self._candidates(request),
            resumed=resumed_at(cluster, now),
        )
        if backup is None and situation.running is None:
            # Nothing says where the snapshots are.
            return None
        running = situation.running
        if running is None or not _is_watched(running):
            return _Place(live, cluster, situation)
        job = await self._job(request.namespace, running)
        if job is None or job.state != "Active":
            # What it said last may not have come through the watch yet.
            await self._refresh(ObjectKey(request.namespace, running.name))
            situation = replace(situation, candidates=self._candidates(request))
        return _Place(live, cluster, replace(situation, job=job))

    def _candidates(self, request: Request) -> tuple[Candidate, ...]:
        found: list[Candidate] = []
        for live in self._sources.backups.list(request.namespace):
            try:
                backup = read_backup(live)
            except InvalidClusterError:
                continue
            if backup.spec.cluster == request.name:
                found.append(candidate(backup, leaving=is_terminating(live)))
        return in_order(found)

    async def _job(self, namespace: str, running: Candidate) -> JobSeen | None:
        run = running.test
        if run is None:
            return None
        key = ObjectKey(namespace, run.job_name)
        return await self._hands.jobs.look(key, run.job_uid, running.uid)

    async def _refresh(self, key: ObjectKey) -> None:
        with contextlib.suppress(NotFound):
            self._sources.backups.observe(await self._hands.client.get(BACKUPS, key))

    # --- acts: each returns None to go on at once, or after how many seconds to look again ----

    async def _begin(self, place: _Place, decision: Begin) -> float | None:
        await self._record(place, decision.candidate, decision.candidate.proof, decision.run)
        log.info(
            "restore test begun",
            audit=True,
            event_type="restore_test_begun",
            backup=decision.candidate.name,
            cause=decision.run.cause,
        )
        return None

    async def _launch(self, place: _Place, decision: Launch) -> float | None:
        subject, run = decision.candidate, decision.run
        made = await self._made(place, subject, run)
        if isinstance(made, JobSeen):
            started = run.model_copy(update={"job_uid": made.uid})
            await self._record(place, subject, subject.proof, started)
            return None
        began = counted_from(run.started_at, place.situation.resumed)
        late = place.situation.now - began > PATIENCE
        if made.after is None or late:
            proof = unproven(run, "PreparationFailed", made.message, place.situation.now)
            return await self._conclude(place, Conclude(subject, proof))
        return made.after

    async def _made(self, place: _Place, subject: Candidate, run: ProofRun) -> JobSeen | _Obstacle:
        """Make the Job, or say what stands in the way."""
        if place.cluster.spec.backup is None or subject.snapshot is None:
            return _Obstacle("there is no spec.backup, or no snapshot any more")
        executor = await self._hands.executors.of(place.cluster, "backup")
        if isinstance(executor, Wait):
            told = f"{executor.reason}: {executor.message}"
            return _Obstacle(told, executor.after or RECHECK)
        if isinstance(executor, Blocked):
            return _Obstacle(f"{executor.reason}: {executor.message}")
        sidecar = self._sidecar(place)
        if not isinstance(sidecar, Sidecar):
            return sidecar
        owner = _owner(place, subject)
        rights = Rights(executor.cluster, run.job_name, executor.account, BACKUPS)
        job = job_of(place.cluster, executor, sidecar, subject, run)
        try:
            await self._hands.jobs.ensure_rights(owner, rights)
            seen = await self._hands.jobs.ensure(job, owner)
        except RefusedError as refused:
            return _Obstacle(str(refused))
        if seen.foreign:
            return _Obstacle(f"Job {run.job_name} belongs to somebody else")
        return seen

    def _sidecar(self, place: _Place) -> Sidecar | _Obstacle:
        cluster, serving = place.cluster.metadata.name, serving_set(place.cluster)
        servers = self._child(STATEFUL_SET, place.namespace, serving.stateful_set)
        config = self._child(CONFIG_MAP, place.namespace, serving.config_map)
        if servers is None or config is None:
            told = "the StatefulSet or the configuration of the servers is not there"
            return _Obstacle(told, RECHECK)
        try:
            return throw_away(servers, (config.get("data") or {}).get("config.hcl", ""))
        except (ValueError, KeyError, TypeError) as error:
            return _Obstacle(f"no server can be made like those of {cluster}: {error}")

    def _child(self, resource: Resource, namespace: str, name: str) -> Object | None:
        return self._sources.children[resource].get(ObjectKey(namespace, name))

    async def _conclude(self, place: _Place, decision: Conclude) -> float | None:
        subject, proof = decision.candidate, decision.proof
        run = subject.test
        if run is not None:
            # Before the end is written, because afterwards nobody would know of them any more.
            key = ObjectKey(place.namespace, run.job_name)
            if run.job_uid:
                await self._let_go(key, run.job_uid, proof)
            await self._hands.jobs.withdraw_rights(_owner(place, subject), run.job_name)
        live = await self._record(place, subject, proof, None)
        passed = proof.outcome == "Passed"
        if live is not None:
            self._hands.events.event(
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
            backup=subject.name,
            outcome=proof.outcome,
            reason=proof.reason,
        )
        return None

    async def _let_go(self, key: ObjectKey, uid: str, proof: Proof) -> None:
        if proof.reason == "JobNotStarted":
            await self._hands.jobs.cancel(key, uid)
        else:
            await self._hands.jobs.expire(key, uid)

    # --- writes -----------------------------------------------------------------------------

    async def _record(
        self, place: _Place, subject: Candidate, proof: Proof | None, run: ProofRun | None
    ) -> Object | None:
        """Write our part of the status of an OpenBaoBackup; None when it is gone.

        Raises Conflict when it is not the one that was looked at any more.
        """
        key = ObjectKey(place.namespace, subject.name)
        live = self._sources.backups.get(key)
        if live is None or uid_of(live) != subject.uid:
            return None
        status = {
            **({"proof": proof.to_object()} if proof else {}),
            **({"test": run.to_object()} if run else {}),
        }
        precondition = {"resourceVersion": resource_version_of(live)}
        return await self._apply(BACKUPS, live, status, self._sources.backups, precondition)

    async def _summarise(self, place: _Place) -> None:
        wanted = summary(place.situation)
        if wanted == place.situation.known:
            return
        status = {"backup": {"restoreTest": wanted.to_object()}}
        await self._apply(CLUSTERS, place.live, status, self._sources.clusters, {})

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
            done = await self._hands.client.apply(
                resource, body, field_manager=PROOF_MANAGER, force=True, subresource="status"
            )
        except NotFound:
            return None
        cache.observe(done.object)
        return done.object


def _is_watched(running: Candidate) -> bool:
    """Its Job was made, and has not said how it ended."""
    return running.test is not None and bool(running.test.job_uid) and running.answer is None


def _owner(place: _Place, subject: Candidate) -> Owner:
    return Owner(API_VERSION, BACKUP_KIND, place.namespace, subject.name, subject.uid)
