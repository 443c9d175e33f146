"""Actions of the backup state machine: lock, RBAC and Job. Each can be repeated after a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import structlog

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, BACKUP_KIND, BACKUPS
from contracts.jobs.cloud_identity import metadata_addresses
from contracts.jobs.template import JobTemplate, JobTemplateSource
from managers.backup.caches import BackupCaches
from managers.backup.dependencies import BackupDependencies
from managers.backup.inputs import BackupFacts
from managers.backup.job import job_for, key_for, protected_keys, snapshots_to_keep
from managers.backup.state_machine import (
    FOREIGN,
    LOCK_RECHECK,
    BackupDecision,
    job_of,
    refused,
    wait_decision,
)
from managers.backup.status import JobReservation
from managers.jobs.client import RefusedError
from managers.jobs.status import JobObservation, Rights
from managers.operation_lock.client import OtherClusterError
from managers.operation_lock.decide import RENEWAL, Acquired, LockConflict, LockRequest
from runtime.apply.ownership import Owner
from runtime.errors import ApiError, NotFound, ServerError
from runtime.outcome import Wait
from runtime.types import Object, ObjectKey

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

TEMPLATE_RECHECK: Final = 30.0
"""Seconds until the job template is requested again, if the source reports no time."""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The decision after the action, with the current facts."""

    decision: BackupDecision
    facts: BackupFacts
    reservation: JobReservation | None = None
    warning: str = ""
    """A warning about the created Job, for an event; "" for none."""


class BackupActions:
    """Carries out the action of a transition and returns the result."""

    def __init__(
        self,
        caches: BackupCaches,
        dependencies: BackupDependencies,
        template_source: JobTemplateSource,
    ) -> None:
        self._caches = caches
        self._locks = dependencies.locks
        self._jobs = dependencies.jobs
        self._template_source = template_source
        self._actions: Mapping[str, Callable[[ActionResult], Awaitable[ActionResult]]] = {
            "take-lock": self._take_lock,
            "make-job": self._make_job,
            "release": self._release,
            "cancel": self._cancel,
            "settle": self._settle,
        }

    async def perform(self, decision: BackupDecision, facts: BackupFacts) -> ActionResult:
        """Carry out the decision. Raises the errors of the API server."""
        result = ActionResult(decision, facts)
        action = decision.transition.action
        return await self._actions[action](result) if action else result

    async def observe_job(self, facts: BackupFacts) -> JobObservation | None:
        """Read the Job of the reservation."""
        status, meta = facts.status, facts.backup.metadata
        job_key = ObjectKey(meta.namespace, status.job_name)
        return await self._jobs.get(job_key, status.job_uid, meta.uid)

    async def renew_lock(self, facts: BackupFacts) -> None:
        """Renew the lock if the renewal is due. A lock that was overridden stays lost."""
        lock, cluster = facts.lock, facts.cluster
        if cluster is None or lock is None or not facts.probably_holds_lock:
            return
        # A later time comes from a clock that was ahead, and must not suspend renewals.
        if lock.renewed_at is not None and timedelta(0) <= facts.now - lock.renewed_at < RENEWAL:
            return
        try:
            await self._locks.renew(
                _cluster_key(facts), _lock_request(facts), uid=facts.status.cluster_uid
            )
        except (NotFound, OtherClusterError):
            return

    async def release_lock(self, facts: BackupFacts) -> None:
        """Release the lock if this backup holds it. The lock of an upgrade is not released."""
        uid = facts.status.cluster_uid or (facts.cluster.metadata.uid if facts.cluster else "")
        if facts.spec.origin == "PreUpgrade" or not uid:
            return
        result = await self._locks.release(_cluster_key(facts), facts.holder, uid=uid)
        if isinstance(result, LockConflict):
            log.info("operation lock is held by another operation", lock_holder=result.lock.holder)

    # --- actions ------------------------------------------------------------------------------

    async def _take_lock(self, result: ActionResult) -> ActionResult:
        facts, cluster = result.facts, _cluster(result.facts)
        template = await self._job_template(result, cluster)
        if not isinstance(template, JobTemplate):
            return replace(result, decision=template)
        try:
            key = key_for(facts.backup, cluster, facts.now)
        except ValueError as error:
            return replace(result, decision=refused(result.decision, "InvalidSpec", str(error)))
        job, uid = job_of(facts.name), cluster.metadata.uid
        if facts.spec.origin == "PreUpgrade":
            return replace(result, reservation=JobReservation(key, job, uid, _lock_epoch(facts)))
        acquired = await self._locks.acquire(_cluster_key(facts), _lock_request(facts), uid=uid)
        if isinstance(acquired, LockConflict):
            decision = wait_decision(
                result.decision, "OperationLockBlocked", acquired.message, LOCK_RECHECK
            )
            return replace(result, decision=decision)
        return replace(result, reservation=JobReservation(key, job, uid, acquired.lock.epoch))

    async def _make_job(self, result: ActionResult) -> ActionResult:
        facts, cluster = result.facts, _cluster(result.facts)
        lost = await self._lock_loss(facts)
        if lost:
            decision = wait_decision(result.decision, "OperationLockBlocked", lost, LOCK_RECHECK)
            return replace(result, decision=decision)
        template = await self._job_template(result, cluster)
        if not isinstance(template, JobTemplate):
            await self.release_lock(facts)
            return replace(result, decision=template)
        retained = snapshots_to_keep(facts.backup, cluster, self._protected_keys(facts))
        job = job_for(facts.backup, cluster, template, retained.keys)
        try:
            created = await self._create_job(facts, job, template)
        except RefusedError as error:
            return await self._settle(
                replace(result, decision=refused(result.decision, "JobRefused", str(error)))
            )
        except ServerError:
            # The Job may have been created: it must not run without the lock.
            raise
        except ApiError:
            # No Job was created, and it is unknown when one can be: release the lock.
            await self.release_lock(facts)
            raise
        facts = replace(facts, job=created, job_queried=True)
        if created.foreign:
            message = FOREIGN.format(job=facts.status.job_name)
            return await self._settle(
                replace(
                    result, decision=refused(result.decision, "ForeignObject", message), facts=facts
                )
            )
        log.info(
            "backup job created",
            audit=True,
            event_type="backup_job_created",
            cluster=cluster.metadata.name,
            holder=facts.holder,
            job=facts.status.job_name,
        )
        return replace(result, facts=facts, warning=retained.warning)

    async def _release(self, result: ActionResult) -> ActionResult:
        """Undo the reservation: no Job was created."""
        return await self._settle(result)

    async def _cancel(self, result: ActionResult) -> ActionResult:
        """Delete a Job whose pod never ran."""
        status = result.facts.status
        job_key = ObjectKey(result.facts.backup.metadata.namespace, status.job_name)
        await self._jobs.cancel(job_key, status.job_uid)
        return await self._settle(result)

    async def _settle(self, result: ActionResult) -> ActionResult:
        """Release the Job, its RBAC and the lock, before the result is written."""
        facts, status = result.facts, result.facts.status
        if status.job_uid:
            job_key = ObjectKey(facts.backup.metadata.namespace, status.job_name)
            await self._jobs.expire(job_key, status.job_uid)
        if status.job_name:
            await self._jobs.withdraw_rights(_job_owner(facts), status.job_name)
        await self.release_lock(facts)
        return result

    # --- helpers -----------------------------------------------------------------------------

    async def _job_template(
        self, result: ActionResult, cluster: OpenBaoCluster
    ) -> JobTemplate | BackupDecision:
        template = await self._template_source.of(cluster, "backup")
        if isinstance(template, JobTemplate):
            return template
        after = template.after if isinstance(template, Wait) else template.recheck_after
        message = f"{template.reason}: {template.message}"
        return wait_decision(
            result.decision, "JobPrerequisiteMissing", message, after or TEMPLATE_RECHECK
        )

    async def _lock_loss(self, facts: BackupFacts) -> str:
        """Return why the Job may not be created; "" if a fresh read shows that we hold the lock."""
        if facts.spec.origin == "PreUpgrade":
            return ""
        # Only check: an operator that crashes after each write would renew, and create no Job.
        current = await self._locks.check(
            _cluster_key(facts), _lock_request(facts), uid=facts.status.cluster_uid
        )
        if isinstance(current, Acquired):
            return ""
        return (
            current.message if isinstance(current, LockConflict) else "the operation lock was lost"
        )

    def _protected_keys(self, facts: BackupFacts) -> tuple[str, ...]:
        cluster = _cluster_key(facts)
        restored = self._caches.restored_keys(cluster.namespace)
        return protected_keys(self._caches.backups_of(cluster), restored)

    async def _create_job(
        self, facts: BackupFacts, job: Object, template: JobTemplate
    ) -> JobObservation:
        run, name = _job_owner(facts), facts.status.job_name
        spec = _cluster(facts).spec.backup
        addresses = metadata_addresses(spec.target) if spec else ()
        rights = Rights(template.cluster, name, template.account, BACKUPS, metadata=addresses)
        await self._jobs.ensure_rights(run, rights)
        return await self._jobs.ensure(job, run)


def _cluster(facts: BackupFacts) -> OpenBaoCluster:
    if facts.cluster is None:
        raise ValueError(f"backup {facts.name}: an action requires the cluster")
    return facts.cluster


def _cluster_key(facts: BackupFacts) -> ObjectKey:
    return ObjectKey(facts.backup.metadata.namespace, facts.spec.cluster)


def _lock_request(facts: BackupFacts) -> LockRequest:
    return LockRequest("Backup", facts.holder, f"Job {job_of(facts.name)}")


def _lock_epoch(facts: BackupFacts) -> int:
    return facts.lock.epoch if facts.lock else 0


def _job_owner(facts: BackupFacts) -> Owner:
    meta = facts.backup.metadata
    return Owner(API_VERSION, BACKUP_KIND, meta.namespace, meta.name, meta.uid)
