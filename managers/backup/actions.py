"""What the rows of the table do: lock, rights and Job. Each act may be repeated after a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import structlog

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, BACKUP_KIND, BACKUPS
from contracts.jobs.template import JobTemplate, JobTemplateSource
from managers.backup.caches import BackupCaches
from managers.backup.dependencies import BackupDependencies
from managers.backup.inputs import BackupFacts
from managers.backup.job import job_for, kept_by, key_for, protected_keys
from managers.backup.state_machine import (
    FOREIGN,
    LOCK_RECHECK,
    Act,
    BackupDecision,
    held_up,
    job_of,
    refused,
)
from managers.backup.status import JobReservation
from managers.jobs.client import RefusedError
from managers.jobs.status import JobSeen, Rights
from managers.operation_lock.client import OtherClusterError
from managers.operation_lock.decide import RENEWAL, Acquired, HeldBy, LockRequest
from runtime.apply.ownership import Owner
from runtime.errors import ApiError, NotFound
from runtime.outcome import Wait
from runtime.types import Object, ObjectKey

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

EXECUTOR_RECHECK: Final = 30.0
"""Seconds until it is asked again why no job can be made, if nobody says when."""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """A decision as its act left it, with the facts as they are now."""

    decision: BackupDecision
    facts: BackupFacts
    receipts: JobReservation | None = None
    warning: str = ""
    """What a person has to know of the Job that was made; "" for nothing."""


class BackupActions:
    """Carries out what a row says, and answers with what came of it."""

    def __init__(
        self, sight: BackupCaches, hands: BackupDependencies, executors: JobTemplateSource
    ) -> None:
        self._sight = sight
        self._locks = hands.locks
        self._jobs = hands.jobs
        self._executors = executors
        self._acts: Mapping[Act, Callable[[ActionResult], Awaitable[ActionResult]]] = {
            "take-lock": self._take_lock,
            "make-job": self._make_job,
            "release": self._release,
            "cancel": self._cancel,
            "settle": self._settle,
        }

    async def perform(self, decision: BackupDecision, facts: BackupFacts) -> ActionResult:
        """Do what the decision says; raises what the API server may raise."""
        turn = ActionResult(decision, facts)
        act = decision.row.act
        return turn if act is None else await self._acts[act](turn)

    async def look(self, facts: BackupFacts) -> JobSeen | None:
        """Look at the Job of the receipts."""
        status, meta = facts.status, facts.backup.metadata
        named = ObjectKey(meta.namespace, status.job_name)
        return await self._jobs.look(named, status.job_uid, meta.uid)

    async def keep_lock(self, facts: BackupFacts) -> None:
        """Say now and then that the lock is still held; one that was taken by force stays lost."""
        lock, cluster = facts.lock, facts.cluster
        if cluster is None or lock is None or not facts.seems_to_hold:
            return
        if lock.renewed_at is not None and facts.now - lock.renewed_at < RENEWAL:
            return
        try:
            await self._locks.renew(_place(facts), _claim(facts), uid=facts.status.cluster_uid)
        except (NotFound, OtherClusterError):
            return

    async def give_back(self, facts: BackupFacts) -> None:
        """Give the lock back, if it is ours; that of an upgrade stays with the upgrade."""
        uid = facts.status.cluster_uid or (facts.cluster.metadata.uid if facts.cluster else "")
        if facts.spec.origin == "PreUpgrade" or not uid:
            return
        left = await self._locks.release(_place(facts), facts.holder, uid=uid)
        if isinstance(left, HeldBy):
            log.info("the operation lock has gone to another", lock_holder=left.lock.holder)

    # --- the acts -----------------------------------------------------------------------------

    async def _take_lock(self, turn: ActionResult) -> ActionResult:
        facts, cluster = turn.facts, _cluster(turn.facts)
        found = await self._executor(turn, cluster)
        if not isinstance(found, JobTemplate):
            return replace(turn, decision=found)
        try:
            key = key_for(facts.backup, cluster, facts.now)
        except ValueError as error:
            return replace(turn, decision=refused(turn.decision, "InvalidSpec", str(error)))
        job, uid = job_of(facts.name), cluster.metadata.uid
        if facts.spec.origin == "PreUpgrade":
            return replace(turn, receipts=JobReservation(key, job, uid, _epoch(facts)))
        got = await self._locks.acquire(_place(facts), _claim(facts), uid=uid)
        if isinstance(got, HeldBy):
            decision = held_up(turn.decision, "OperationLockBlocked", got.message, LOCK_RECHECK)
            return replace(turn, decision=decision)
        return replace(turn, receipts=JobReservation(key, job, uid, got.lock.epoch))

    async def _make_job(self, turn: ActionResult) -> ActionResult:
        facts, cluster = turn.facts, _cluster(turn.facts)
        lost = await self._lost(facts)
        if lost:
            decision = held_up(turn.decision, "OperationLockBlocked", lost, LOCK_RECHECK)
            return replace(turn, decision=decision)
        found = await self._executor(turn, cluster)
        if not isinstance(found, JobTemplate):
            await self.give_back(facts)
            return replace(turn, decision=found)
        kept = kept_by(facts.backup, cluster, self._protected(facts))
        job = job_for(facts.backup, cluster, found, kept.keys)
        try:
            made = await self._create(facts, job, found)
        except RefusedError as error:
            return await self._settle(
                replace(turn, decision=refused(turn.decision, "JobRefused", str(error)))
            )
        except ApiError:
            # No Job was made, and nobody knows for how long: others may have the cluster.
            await self.give_back(facts)
            raise
        facts = replace(facts, job=made, job_asked=True)
        if made.foreign:
            said = FOREIGN.format(job=facts.status.job_name)
            return await self._settle(
                replace(turn, decision=refused(turn.decision, "ForeignObject", said), facts=facts)
            )
        log.info(
            "backup job created",
            audit=True,
            event_type="backup_job_created",
            cluster=cluster.metadata.name,
            holder=facts.holder,
            job=facts.status.job_name,
        )
        return replace(turn, facts=facts, warning=kept.warning)

    async def _release(self, turn: ActionResult) -> ActionResult:
        """Undo what was prepared: no Job was made."""
        return await self._settle(turn)

    async def _cancel(self, turn: ActionResult) -> ActionResult:
        """End a Job whose pod never ran: it has begun nothing."""
        status = turn.facts.status
        named = ObjectKey(turn.facts.backup.metadata.namespace, status.job_name)
        await self._jobs.cancel(named, status.job_uid)
        return await self._settle(turn)

    async def _settle(self, turn: ActionResult) -> ActionResult:
        """End what belongs to the run; its end is written after that."""
        facts, status = turn.facts, turn.facts.status
        if status.job_uid:
            named = ObjectKey(facts.backup.metadata.namespace, status.job_name)
            await self._jobs.expire(named, status.job_uid)
        if status.job_name:
            await self._jobs.withdraw_rights(_run(facts), status.job_name)
        await self.give_back(facts)
        return turn

    # --- parts of them ------------------------------------------------------------------------

    async def _executor(
        self, turn: ActionResult, cluster: OpenBaoCluster
    ) -> JobTemplate | BackupDecision:
        found = await self._executors.of(cluster, "backup")
        if isinstance(found, JobTemplate):
            return found
        after = found.after if isinstance(found, Wait) else found.recheck_after
        said = f"{found.reason}: {found.message}"
        return held_up(turn.decision, "ExecutorNotReady", said, after or EXECUTOR_RECHECK)

    async def _lost(self, facts: BackupFacts) -> str:
        """Why the Job may not be made now, "" if the lock is still ours: a read that is fresh."""
        if facts.spec.origin == "PreUpgrade":
            return ""
        kept = await self._locks.renew(_place(facts), _claim(facts), uid=facts.status.cluster_uid)
        if isinstance(kept, Acquired):
            return ""
        return kept.message if isinstance(kept, HeldBy) else "the operation lock was taken away"

    def _protected(self, facts: BackupFacts) -> tuple[str, ...]:
        place = _place(facts)
        restored = self._sight.restored_keys(place.namespace)
        return protected_keys(self._sight.backups_of(place), restored)

    async def _create(self, facts: BackupFacts, job: Object, executor: JobTemplate) -> JobSeen:
        run, name = _run(facts), facts.status.job_name
        rights = Rights(executor.cluster, name, executor.account, BACKUPS)
        await self._jobs.ensure_rights(run, rights)
        return await self._jobs.ensure(job, run)


def _cluster(facts: BackupFacts) -> OpenBaoCluster:
    if facts.cluster is None:
        raise ValueError(f"backup {facts.name}: no row acts on a cluster that is not there")
    return facts.cluster


def _place(facts: BackupFacts) -> ObjectKey:
    return ObjectKey(facts.backup.metadata.namespace, facts.spec.cluster)


def _claim(facts: BackupFacts) -> LockRequest:
    return LockRequest("Backup", facts.holder, f"Job {job_of(facts.name)}")


def _epoch(facts: BackupFacts) -> int:
    return facts.lock.epoch if facts.lock else 0


def _run(facts: BackupFacts) -> Owner:
    meta = facts.backup.metadata
    return Owner(API_VERSION, BACKUP_KIND, meta.namespace, meta.name, meta.uid)
