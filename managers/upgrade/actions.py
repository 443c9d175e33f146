"""Effects of an upgrade: the operation lock, a snapshot, a Job. Each is idempotent."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import BACKUPS, CLUSTERS
from contracts.jobs.backup_request import before_upgrade
from contracts.jobs.template import JobTemplate, JobTemplateSource
from contracts.jobs.upgrade_actions import STEP_DOWN, Order
from contracts.records.effects import Effect, MakeStepDownJob
from contracts.records.observed import EffectAttempt
from contracts.records.resolved import Resolved
from contracts.records.upgrade_effects import AcquireLock, FreeLock, MakeSnapshot
from managers.context.context import FIELD_MANAGER, Context
from managers.context.effect_handler import EffectHandler, handler
from managers.jobs.client import Jobs, RefusedError
from managers.operation_lock.client import OperationLocks, OtherClusterError
from managers.operation_lock.decide import LockRequest
from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade.bluegreen.actions import BlueGreenActions
from managers.upgrade.jobs import ensure_order
from runtime.apply.ownership import Owner
from runtime.errors import AlreadyExists, NotFound
from runtime.outcome import Wait


class UpgradeActions:
    """Runs the effects of an upgrade."""

    def __init__(
        self, locks: OperationLocks, jobs: Jobs, template_source: JobTemplateSource
    ) -> None:
        self._locks = locks
        self._jobs = jobs
        self._template_source = template_source
        self.decided: Mapping[type[Effect], EffectHandler[Owner, Effect]] = dict(
            (
                handler(AcquireLock, self._take_lock),
                handler(FreeLock, self._free_lock),
                handler(MakeSnapshot, self._create_snapshot),
                *BlueGreenActions(jobs, template_source).table.items(),
            )
        )
        """The effects of an upgrade decision, which need only the identity of the cluster."""
        self.table: Mapping[type[Effect], EffectHandler[Resolved, Effect]] = dict(
            (handler(MakeStepDownJob, self._create_step_down_job),)
        )
        """The effects that a workload plan requests."""

    async def run(self, context: Context, owner: Owner, effects: tuple[Effect, ...]) -> None:
        """Run the effects of an upgrade decision, before any work under its lock.

        It needs no plan, so a spec that is only valid for the next release is upgraded, too.
        """
        for effect in effects:
            await self.decided[type(effect)](context, owner, effect)

    async def _take_lock(self, context: Context, owner: Owner, effect: AcquireLock) -> None:
        """Take the lock unless another operation holds it: the next reconcile reads the holder."""
        request = LockRequest("Upgrade", UPGRADE_HOLDER, effect.message)
        with suppress(NotFound, OtherClusterError):
            await self._locks.acquire(owner.key, request, uid=effect.uid)

    async def _free_lock(self, context: Context, owner: Owner, effect: FreeLock) -> None:
        await self._locks.release(owner.key, UPGRADE_HOLDER, uid=effect.uid)

    async def _create_snapshot(self, context: Context, owner: Owner, effect: MakeSnapshot) -> None:
        """Create the OpenBaoBackup under the name that the status records."""
        backup = before_upgrade(owner.namespace, owner.name, effect.uid, effect.attempt)
        with suppress(AlreadyExists):
            await context.client.create(BACKUPS, backup, field_manager=FIELD_MANAGER)

    async def _create_step_down_job(
        self, context: Context, resolved: Resolved, effect: MakeStepDownJob
    ) -> None:
        """Create the Job that steps one leader down, or record why it cannot be created."""
        live = await context.client.get(CLUSTERS, resolved.owner.key)
        cluster = OpenBaoCluster.from_object(live)
        template = await self._template_source.of(cluster, "upgrade")
        if isinstance(template, Wait):
            return
        refusal = ""
        if isinstance(template, JobTemplate):
            order = Order(STEP_DOWN, effect.run, effect.target)
            try:
                job = await ensure_order(self._jobs, template, resolved.owner, order)
            except RefusedError as error:
                refusal = str(error)
            else:
                refusal = f"Job {job.name} is owned by another object" if job.foreign else ""
        else:
            refusal = f"{template.reason}: {template.message}"
        if refusal:
            now = context.clock.now()
            context.attempts.note(EffectAttempt(effect.name, effect.uid, now, refusal))
