"""The restore test reconciler: tests the snapshots of one cluster, one at a time.

Composed by `baoctl.controllers.restore_test`; called by `runtime.controller.controller` with the
key of a cluster. It writes `status.test` and `status.proof` of an OpenBaoBackup and
`status.backup.restoreTest` of the cluster, with its own field manager. It neither reads nor changes
the servers of the cluster: the Job runs a temporary server.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Final

import structlog

from contracts.api.backup import OpenBaoBackup
from contracts.api.cluster.reading import read_cluster
from contracts.api.cluster.status_backup import BackupStatus, RestoreTestStatus
from contracts.api.group import BACKUPS, CLUSTERS
from contracts.api.violation import InvalidClusterError
from contracts.pause import resumed_at
from managers.jobs.run import advance
from managers.jobs.status import JobObservation
from managers.restore_test.actions import (
    ObservedCluster,
    RestoreTestActionOutcome,
    RestoreTestActions,
    RestoreTestCaches,
    RestoreTestDecision,
    RestoreTestDependencies,
)
from managers.restore_test.facts import Candidate, RestoreTestFacts, candidate, in_order
from managers.restore_test.state_machine import decide, recheck_after
from managers.restore_test.status import RestoreTestRecord, next_record, summary
from runtime.apply.status_client import StatusClient
from runtime.errors import Conflict, NotFound
from runtime.memo import memoize
from runtime.outcome import Done, Outcome
from runtime.types import (
    Object,
    ObjectKey,
    Request,
    is_terminating,
    key_of,
    resource_version_of,
    uid_of,
)

PROOF_MANAGER: Final = "openbao-operator-proof"
STEPS: Final = 6
"""Maximum steps of one reconcile; a test takes three reconciles of one or two steps each."""
RECHECK: Final = 5.0

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
CACHE_SIZE: Final = 512
"""Number of cached parsed backups: each reconcile reads all backups of its namespace."""

read_backup = memoize(OpenBaoBackup.from_object, size=CACHE_SIZE, slot=uid_of)


class RestoreTestReconciler:
    """Restores snapshots into ephemeral servers and records the results."""

    def __init__(self, caches: RestoreTestCaches, dependencies: RestoreTestDependencies) -> None:
        self._caches = caches
        self._dependencies = dependencies
        client = dependencies.client
        self._actions = RestoreTestActions(caches, dependencies)
        self._backup_statuses = StatusClient(client, BACKUPS, PROOF_MANAGER, caches.backups)
        self._cluster_statuses = StatusClient(client, CLUSTERS, PROOF_MANAGER, caches.clusters)

    async def __call__(self, request: Request) -> Outcome:
        """Reconcile a cluster. Raises transient errors and conflicts; the controller retries."""
        return await advance(self, request, STEPS, Done(RECHECK))

    # --- observe ----------------------------------------------------------------------------

    async def observe(self, request: Request) -> ObservedCluster | Outcome:
        """Read the cluster and write the summary of its tests."""
        observed = await self._observe(request)
        if observed is None:
            return Done()
        await self._write_summary(observed)
        return observed

    def decide(self, observed: ObservedCluster) -> RestoreTestDecision:
        """Choose the transition."""
        return decide(observed.facts)

    async def act(
        self, observed: ObservedCluster, decision: RestoreTestDecision
    ) -> RestoreTestActionOutcome:
        """Carry out the action of a transition."""
        return await self._actions.perform(observed, decision)

    async def write(
        self, observed: ObservedCluster, decision: RestoreTestDecision
    ) -> tuple[Request, Outcome | None]:
        """Record the run or its result, and report it."""
        request, record = key_of(observed.live), next_record(observed.facts, decision)
        if record is None:
            now = self._dependencies.clock.now()
            return request, Done(recheck_after(observed.facts, decision, now))
        self._report(record, await self._record(observed, record))
        return request, None

    async def after_conflict(self, request: Request, conflict: Conflict) -> Outcome:
        """Raise the conflict; the controller retries."""
        raise conflict

    async def _observe(self, request: Request) -> ObservedCluster | None:
        """Read the cluster; None if there is nothing to do."""
        live = self._caches.clusters.get(request)
        if live is None or is_terminating(live):
            return None
        try:
            cluster = read_cluster(live)
        except InvalidClusterError:
            # The workload reconciler reports the invalid spec.
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
            # Without spec.backup the location of the snapshots is unknown.
            return None
        running = facts.running
        if running is None or not _is_watched(running):
            return ObservedCluster(live, cluster, facts)
        job = await self._job(request.namespace, running)
        if job is None or job.state != "Active":
            # The watch may not have delivered the final report yet.
            await self._refresh(ObjectKey(request.namespace, running.name))
            facts = replace(facts, candidates=self._candidates(request))
        return ObservedCluster(live, cluster, replace(facts, job=job))

    def _candidates(self, request: Request) -> tuple[Candidate, ...]:
        candidates: list[Candidate] = []
        for live in self._caches.backups.list(request.namespace):
            try:
                backup = read_backup(live)
            except InvalidClusterError:
                continue
            if backup.spec.cluster == request.name:
                candidates.append(candidate(backup, terminating=is_terminating(live)))
        return in_order(candidates)

    async def _job(self, namespace: str, running: Candidate) -> JobObservation | None:
        run = running.test
        if run is None:
            return None
        key = ObjectKey(namespace, run.job_name)
        return await self._dependencies.jobs.get(key, run.job_uid, running.uid)

    async def _refresh(self, key: ObjectKey) -> None:
        with contextlib.suppress(NotFound):
            self._caches.backups.observe(await self._dependencies.client.get(BACKUPS, key))

    # --- writes -----------------------------------------------------------------------------

    async def _record(self, observed: ObservedCluster, record: RestoreTestRecord) -> Object | None:
        """Write our status fields of an OpenBaoBackup; None if it does not exist any more.

        Raises Conflict if the object changed since it was read.
        """
        key = ObjectKey(observed.namespace, record.candidate.name)
        live = self._caches.backups.get(key)
        if live is None or uid_of(live) != record.candidate.uid:
            return None
        status = {
            **({"proof": record.proof.to_object()} if record.proof else {}),
            **({"test": record.run.to_object()} if record.run else {}),
        }
        version = resource_version_of(live)
        with contextlib.suppress(NotFound):
            return await self._backup_statuses.apply(
                key, uid_of(live), status, resource_version=version
            )
        return None

    def _report(self, record: RestoreTestRecord, live: Object | None) -> None:
        """Log that a test started or ended and send an event, after it was recorded."""
        run, proof = record.run, record.proof
        if run is not None:
            if not run.job_uid:
                log.info(
                    "restore test started",
                    audit=True,
                    event_type="restore_test_started",
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

    async def _write_summary(self, observed: ObservedCluster) -> None:
        desired = summary(observed.facts)
        if desired == observed.facts.status:
            return
        status = {"backup": {"restoreTest": desired.to_object()}}
        with contextlib.suppress(NotFound):
            await self._cluster_statuses.apply(key_of(observed.live), uid_of(observed.live), status)


def _is_watched(running: Candidate) -> bool:
    """Return whether its Job was created and has not reported a result."""
    test = running.test
    return test is not None and bool(test.job_uid) and running.current_report is None
