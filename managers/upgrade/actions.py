"""What the rows of an upgrade ask for: the lock, a snapshot, a Job. Each may be repeated."""

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
from managers.upgrade.bluegreen.actions import SECOND_ACTS, BlueGreenActions
from managers.upgrade.jobs import ensure
from runtime.apply.ownership import Owner
from runtime.errors import AlreadyExists, NotFound
from runtime.outcome import Wait

Act = Callable[[Context, Owner, Effect], Awaitable[None]]
"""Needs nothing of the cluster but who it is."""
PodAct = Callable[[Context, Resolved, Effect], Awaitable[None]]


ACTS = SECOND_ACTS | {TAKE_LOCK, FREE_LOCK, MAKE_SNAPSHOT, MAKE_HAND_OVER}
"""The effects that need the hands of an upgrade."""


class UpgradeActions:
    """Carries out the effects of an upgrade."""

    def __init__(self, locks: OperationLocks, jobs: Jobs, executors: JobTemplateSource) -> None:
        self._locks = locks
        self._jobs = jobs
        self._executors = executors
        self._acts: Mapping[str, Act] = {
            TAKE_LOCK: self._take_lock,
            FREE_LOCK: self._free_lock,
            MAKE_SNAPSHOT: self._make_snapshot,
            **BlueGreenActions(jobs, executors).table,
        }
        self.table: Mapping[str, PodAct] = {MAKE_HAND_OVER: self._make_hand_over}
        """Those that a plan of pods asks for."""

    async def run(self, context: Context, owner: Owner, effects: tuple[Effect, ...]) -> None:
        """Do what a course asks for, before anything that is done under its lock.

        It needs no plan: a spec that fits the next release alone is upgraded all the same.
        """
        for effect in effects:
            await self._acts[effect.name](context, owner, effect)

    async def _take_lock(self, context: Context, owner: Owner, effect: Effect) -> None:
        """Take the lock unless another has it: the next pass sees who does."""
        claim = LockRequest(
            "Upgrade", UPGRADE_HOLDER, str((effect.body or {}).get("message") or "")
        )
        with suppress(NotFound, OtherClusterError):
            await self._locks.acquire(owner.key, claim, uid=effect.uid)

    async def _free_lock(self, context: Context, owner: Owner, effect: Effect) -> None:
        await self._locks.release(owner.key, UPGRADE_HOLDER, uid=effect.uid)

    async def _make_snapshot(self, context: Context, owner: Owner, effect: Effect) -> None:
        """Make the OpenBaoBackup under the name that was written down."""
        wanted = before_upgrade(
            owner.namespace, owner.name, effect.uid, str((effect.body or {})["word"])
        )
        with suppress(AlreadyExists):
            await context.client.create(BACKUPS, wanted, field_manager=FIELD_MANAGER)

    async def _make_hand_over(self, context: Context, resolved: Resolved, effect: Effect) -> None:
        """Make the Job that asks one leader to step down, or remember why there can be none."""
        live = await context.client.get(CLUSTERS, resolved.owner.key)
        cluster = OpenBaoCluster.from_object(live)
        found = await self._executors.of(cluster, "upgrade")
        if isinstance(found, Wait):
            return
        refused = ""
        if isinstance(found, JobTemplate):
            run = str((effect.body or {})["run"])
            try:
                made = await ensure(
                    self._jobs, found, resolved.owner, STEP_DOWN, run, effect.target
                )
            except RefusedError as error:
                refused = str(error)
            else:
                refused = f"Job {made.name} belongs to another object" if made.foreign else ""
        else:
            refused = f"{found.reason}: {found.message}"
        if refused:
            now = context.clock.now()
            context.attempts.note(EffectAttempt(effect.name, effect.uid, now, refused))
