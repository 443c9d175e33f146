"""Actions of the restore state machine. Each can be repeated after a crash; none decides.

Raises what runtime.client.client raises; a permanent rejection is returned as RestoreFailure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.api.group import API_VERSION, CLUSTERS, RESTORE_KIND, RESTORES
from contracts.builders.job import restore_job
from contracts.builders.job_store import store_env
from contracts.hcl.seal_identity import seal_identity
from contracts.jobs.cloud_identity import metadata_addresses
from contracts.jobs.env import RestoreEnv, RunEnv
from contracts.rfc3339 import rfc3339
from managers.context.context import FIELD_MANAGER
from managers.jobs.client import Jobs, RefusedError
from managers.jobs.status import Rights
from managers.operation_lock.client import OperationLocks
from managers.operation_lock.decide import Acquired, LockConflict, LockRequest
from managers.restore.fresh_target import fresh_cluster
from managers.restore.inputs import PREPARATION, RestoreFacts, RestoreFailure, SnapshotSource
from managers.restore.observe import RestoreObservation
from managers.restore.state_machine import LOCK_RECHECK
from managers.restore.status import STATUS_MANAGER
from runtime.apply.apply_result import Refusal, refusal_of
from runtime.apply.ownership import Owner
from runtime.apply.status_client import StatusClient
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.errors import AlreadyExists, ApiError, Conflict, NotFound
from runtime.outcome import Wait
from runtime.types import Object, ObjectKey, key_of, uid_of

Ending = RestoreFailure | Wait | None
"""RestoreFailure ends the restore; Wait ends the reconcile; None: observe again."""


@dataclass(frozen=True, slots=True)
class RestoreActions:
    """Carries out the actions of a restore."""

    client: Client
    clusters: Cache
    locks: OperationLocks
    jobs: Jobs

    async def carry_out(self, action: str, observation: RestoreObservation) -> Ending:
        """Carry out one action."""
        table: Mapping[str, Callable[[RestoreObservation], Awaitable[Ending]]] = {
            "make-target": self._make_target,
            "take-lock": self._take_lock,
            "make-job": self._make_job,
            "mark-target": self._mark_target,
            "settle": self._settle,
            "release": self._release,
            "remove": self._remove,
        }
        return await table[action](observation)

    async def release_job(self, observation: RestoreObservation) -> None:
        """Delete the RBAC of a Job that is no longer needed, and the Job after an hour."""
        execution = observation.facts.execution
        if execution is None or not execution.job_uid:
            return
        run = run_of(observation.live)
        await self.jobs.withdraw_rights(run, execution.job_name)
        job_key = ObjectKey(run.namespace, execution.job_name)
        await self.jobs.expire(job_key, execution.job_uid)

    async def _make_target(self, observation: RestoreObservation) -> Ending:
        facts = observation.facts
        if not isinstance(facts.source, SnapshotSource):
            return None
        key = key_of(observation.live)
        body = fresh_cluster(key, facts.uid, facts.spec, facts.source.expected)
        if isinstance(body, RestoreFailure):
            return body
        try:
            created = await self.client.create(CLUSTERS, body, field_manager=FIELD_MANAGER)
        except AlreadyExists:
            # The next observation reads its owner.
            return Wait("TargetBootstrapping", "reads the cluster", 1.0)
        except ApiError as error:
            if refusal_of(error) in (Refusal.REJECTED, Refusal.TERMINATING):
                return RestoreFailure("TargetRefused", f"spec.clusterTemplate: {error.message}")
            raise
        self.clusters.observe(created)
        return None

    async def _take_lock(self, observation: RestoreObservation) -> Ending:
        facts = observation.facts
        if facts.target is None:
            return None
        forced = facts.spec.force and facts.spec.override_operation_lock
        message = f"restores {_snapshot_name(facts)}"[:200]
        after = facts.execution.lock_epoch if facts.execution else 0
        result = await self.locks.acquire(
            self._cluster_key(observation),
            LockRequest("Restore", facts.holder, message, after),
            uid=facts.target.uid,
            force=(lambda lock: lock.operation != "Restore") if forced else None,
        )
        if isinstance(result, Acquired):
            return None
        return Wait("OperationLockBlocked", LockConflict(result.lock).message, LOCK_RECHECK)

    async def _make_job(self, observation: RestoreObservation) -> Ending:
        facts, template, execution = (
            observation.facts,
            observation.job_template,
            observation.facts.execution,
        )
        if template is None or execution is None or not isinstance(facts.source, SnapshotSource):
            return Wait("JobPrerequisiteMissing", "reads the image of the Job again", LOCK_RECHECK)
        run = run_of(observation.live)
        addresses = metadata_addresses(facts.source.store)
        rights = Rights(
            template.cluster, execution.job_name, template.account, RESTORES, metadata=addresses
        )
        job = restore_job(template, facts.source.store, environment(observation, facts.source))
        try:
            await self.jobs.ensure_rights(run, rights)
            await self.jobs.ensure(job, run)
        except RefusedError as error:
            return RestoreFailure("JobRefused", str(error))
        return None

    async def _mark_target(self, observation: RestoreObservation) -> Ending:
        return await self._write_restored(observation, {})

    async def _settle(self, observation: RestoreObservation) -> Ending:
        facts, cluster = observation.facts, observation.cluster
        last = cluster.status.restore if cluster else None
        # Keep the first time: an operator that crashes after each write would change it forever.
        done = last.restart_completed_at if last and last.uid == facts.uid else None
        return await self._write_restored(
            observation, {"restartCompletedAt": rfc3339(done or facts.now)}
        )

    async def _write_restored(
        self, observation: RestoreObservation, fields: Mapping[str, Any]
    ) -> Ending:
        """Write status.restore of the cluster, which this package owns."""
        facts = observation.facts
        if facts.target is None:
            return None
        statuses = StatusClient(self.client, CLUSTERS, STATUS_MANAGER, self.clusters)
        restored = {"restore": {"name": facts.name, "uid": facts.uid, **fields}}
        try:
            await statuses.apply(self._cluster_key(observation), facts.target.uid, restored)
        except (NotFound, Conflict):
            # The cluster was deleted or replaced; the next observation reads it.
            return Wait("RestoreRecovering", "reads the cluster again", 1.0)
        return None

    async def _release(self, observation: RestoreObservation) -> Ending:
        facts = observation.facts
        if facts.target is not None:
            key = self._cluster_key(observation)
            await self.locks.release(key, facts.holder, uid=facts.target.uid)
        return None

    async def _remove(self, observation: RestoreObservation) -> Ending:
        target = observation.facts.target
        if target is None:
            return None
        try:
            await self.client.delete(CLUSTERS, self._cluster_key(observation), uid=target.uid)
        except (NotFound, Conflict):
            return None
        # The cache reports that the deletion started.
        return Wait("RestoreRunning", "the cluster of this restore is being deleted", 1.0)

    def _cluster_key(self, observation: RestoreObservation) -> ObjectKey:
        return ObjectKey(key_of(observation.live).namespace, observation.facts.spec.cluster)


def run_of(live: Object) -> Owner:
    """Return the restore as owner of its Job."""
    return Owner(API_VERSION, RESTORE_KIND, *key_of(live), uid_of(live))


def environment(observation: RestoreObservation, source: SnapshotSource) -> RestoreEnv:
    """Build the environment of the Job. Raises ValueError without a job template or execution."""
    facts, template, execution = (
        observation.facts,
        observation.job_template,
        observation.facts.execution,
    )
    if template is None or execution is None or execution.prepared_at is None:
        raise ValueError("a Job requires a job template and an execution with preparedAt")
    key = key_of(observation.live)
    # With force the server accepts a snapshot that it cannot decrypt.
    seal = (
        ""
        if facts.spec.force or observation.cluster is None
        else seal_identity(observation.cluster)
    )
    return RestoreEnv(
        run=RunEnv("openbaorestores", key.namespace, key.name, facts.uid),
        store=store_env(source.store, template),
        server=template.server_env(),
        key=source.key,
        expected_cluster_id=source.expected.cluster_id,
        named_cluster_id=facts.spec.source.expected_cluster_id or "",
        any_cluster_id=source.any_cluster_id,
        expected_version=source.expected.version,
        expected_digest=source.expected.digest,
        expected_size=source.expected.size,
        expected_seal=seal,
        force=facts.spec.force,
        deadline=rfc3339(facts.counted_from(execution.prepared_at) + PREPARATION),
    )


def _snapshot_name(facts: RestoreFacts) -> str:
    return facts.source.key if isinstance(facts.source, SnapshotSource) else facts.name
