"""Effects of an upgrade: the operation lock, a snapshot, a Job. Each may be repeated."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import BACKUPS, CLUSTERS
from contracts.jobs.backup_request import before_upgrade
from contracts.jobs.template import JobTemplate, JobTemplateSource
from contracts.jobs.upgrade_actions import STEP_DOWN
from contracts.records.desired import Effect
from contracts.records.observed import EffectAttempt
from contracts.records.resolved import Resolved
from contracts.records.upgrade import FREE_LOCK, MAKE_HAND_OVER, MAKE_SNAPSHOT, TAKE_LOCK
from managers.context.context import FIELD_MANAGER, Context
from managers.jobs.client import Jobs, RefusedError
from managers.operation_lock.client import OperationLocks, OtherClusterError
from managers.operation_lock.decide import UPGRADE_HOLDER, LockRequest
from managers.upgrade.bluegreen.actions import BLUE_GREEN_EFFECTS, BlueGreenActions
from managers.upgrade.jobs import ensure
from runtime.apply.ownership import Owner
from runtime.errors import AlreadyExists, NotFound
from runtime.outcome import Wait

ClusterAction = Callable[[Context, Owner, Effect], Awaitable[None]]
"""Needs only the identity of the cluster."""
PodAction = Callable[[Context, Resolved, Effect], Awaitable[None]]


UPGRADE_EFFECTS = BLUE_GREEN_EFFECTS | {TAKE_LOCK, FREE_LOCK, MAKE_SNAPSHOT, MAKE_HAND_OVER}
"""The effects that UpgradeActions runs."""


class UpgradeActions:
    """Runs the effects of an upgrade."""

    def __init__(
        self, locks: OperationLocks, jobs: Jobs, template_source: JobTemplateSource
    ) -> None:
        self._locks = locks
        self._jobs = jobs
        self._template_source = template_source
        self._actions: Mapping[str, ClusterAction] = {
            TAKE_LOCK: self._take_lock,
            FREE_LOCK: self._free_lock,
            MAKE_SNAPSHOT: self._create_snapshot,
            **BlueGreenActions(jobs, template_source).table,
        }
        self.table: Mapping[str, PodAction] = {MAKE_HAND_OVER: self._create_step_down_job}
        """The effects that a workload plan requests."""

    async def run(self, context: Context, owner: Owner, effects: tuple[Effect, ...]) -> None:
        """Run the effects of an upgrade decision, before any work under its lock.

        It needs no plan: a spec that is valid for the next release alone is upgraded, too.
        """
        for effect in effects:
            await self._actions[effect.name](context, owner, effect)

    async def _take_lock(self, context: Context, owner: Owner, effect: Effect) -> None:
        """Take the lock unless another operation holds it: the next reconcile reads the holder."""
        request = LockRequest(
            "Upgrade", UPGRADE_HOLDER, str((effect.body or {}).get("message") or "")
        )
        with suppress(NotFound, OtherClusterError):
            await self._locks.acquire(owner.key, request, uid=effect.uid)

    async def _free_lock(self, context: Context, owner: Owner, effect: Effect) -> None:
        await self._locks.release(owner.key, UPGRADE_HOLDER, uid=effect.uid)

    async def _create_snapshot(self, context: Context, owner: Owner, effect: Effect) -> None:
        """Create the OpenBaoBackup under the name that the status records."""
        backup = before_upgrade(
            owner.namespace, owner.name, effect.uid, str((effect.body or {})["word"])
        )
        with suppress(AlreadyExists):
            await context.client.create(BACKUPS, backup, field_manager=FIELD_MANAGER)

    async def _create_step_down_job(
        self, context: Context, resolved: Resolved, effect: Effect
    ) -> None:
        """Create the Job that steps one leader down, or record why it cannot be created."""
        live = await context.client.get(CLUSTERS, resolved.owner.key)
        cluster = OpenBaoCluster.from_object(live)
        template = await self._template_source.of(cluster, "upgrade")
        if isinstance(template, Wait):
            return
        refused = ""
        if isinstance(template, JobTemplate):
            run = str((effect.body or {})["run"])
            try:
                job = await ensure(
                    self._jobs, template, resolved.owner, STEP_DOWN, run, effect.target
                )
            except RefusedError as error:
                refused = str(error)
            else:
                refused = f"Job {job.name} belongs to another object" if job.foreign else ""
        else:
            refused = f"{template.reason}: {template.message}"
        if refused:
            now = context.clock.now()
            context.attempts.note(EffectAttempt(effect.name, effect.uid, now, refused))
