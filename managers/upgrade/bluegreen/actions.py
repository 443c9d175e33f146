"""What the rows of an upgrade by a second set ask for. Each effect may be repeated."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.upgrade import PrePromotionHook
from contracts.api.group import CLUSTERS
from contracts.builders.validation_hook_job import HookRun, hook_job
from contracts.jobs.template import NOTHING_ASKED, JobOverrides, JobTemplate, JobTemplateSource
from contracts.jobs.upgrade_actions import Order
from contracts.records.bluegreen import (
    DELETE_CLAIM,
    DELETE_SET,
    DROP_HOOK,
    MAKE_HOOK,
    MAKE_JOB,
    START_HOOK,
    offered,
)
from contracts.records.desired import Effect
from contracts.records.observed import EffectAttempt
from managers.context.context import FIELD_MANAGER, Context
from managers.jobs.client import Jobs, RefusedError
from managers.upgrade.jobs import ensure_order
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import JOB, PVC, STATEFUL_SET
from runtime.errors import Conflict, NotFound, PatchFailed
from runtime.outcome import Wait
from runtime.types import Object, ObjectKey

SECOND_ACTS: Final = frozenset(
    {MAKE_JOB, MAKE_HOOK, START_HOOK, DROP_HOOK, DELETE_SET, DELETE_CLAIM}
)
"""The effects that only an upgrade by a second set asks for."""


class BlueGreenActions:
    """Carries out the effects of an upgrade by a second set."""

    def __init__(self, jobs: Jobs, executors: JobTemplateSource) -> None:
        self._jobs = jobs
        self._executors = executors
        self.table = {
            MAKE_JOB: self._make_job,
            MAKE_HOOK: self._make_hook,
            START_HOOK: _start_hook,
            DROP_HOOK: self._drop_hook,
            DELETE_SET: _delete_set,
            DELETE_CLAIM: _delete_claim,
        }

    async def _make_job(self, context: Context, owner: Owner, effect: Effect) -> None:
        """Make the Job of a phase, or remember why there can be none."""
        found = await self._executor(context, owner, effect)
        if found is None:
            return
        try:
            await ensure_order(self._jobs, found, owner, Order(**dict(effect.body or {})))
        except RefusedError as error:
            _refuse(context, effect, str(error))

    async def _make_hook(self, context: Context, owner: Owner, effect: Effect) -> None:
        """Make the Job that judges green, suspended: nothing runs before its UID is written."""
        body = effect.body or {}
        hook = PrePromotionHook.model_validate(body["hook"])
        found = await self._executor(context, owner, effect, JobOverrides(image=hook.image))
        if found is None:
            return
        try:
            await self._jobs.ensure(hook_job(_run(found, effect.target, body), hook), owner)
        except RefusedError as error:
            _refuse(context, effect, str(error))

    async def _drop_hook(self, context: Context, owner: Owner, effect: Effect) -> None:
        await self._jobs.cancel(ObjectKey(owner.namespace, effect.target), effect.uid)

    async def _executor(
        self, context: Context, owner: Owner, effect: Effect, asked: JobOverrides = NOTHING_ASKED
    ) -> JobTemplate | None:
        """Find out how jobs of the cluster run; None when that has to wait, or cannot be."""
        cluster = OpenBaoCluster.from_object(await context.client.get(CLUSTERS, owner.key))
        found = await self._executors.of(cluster, "upgrade", asked)
        if isinstance(found, JobTemplate):
            return found
        if not isinstance(found, Wait):
            _refuse(context, effect, f"{found.reason}: {found.message}")
        return None


def _run(found: JobTemplate, name: str, body: Mapping[str, Any]) -> HookRun:
    return HookRun(
        cluster=found.cluster,
        namespace=found.namespace,
        name=name,
        operation_id=str(body["operationID"]),
        green_revision=str(body["greenRevision"]),
        spec_hash=str(body["specHash"]),
        image=found.image,
        pull_secrets=found.pull_secrets,
        fixed_ids=found.fixed_ids,
        nodes=found.nodes,
    )


def _refuse(context: Context, effect: Effect, why: str) -> None:
    tried = offered(effect.name, effect.target)
    context.attempts.note(EffectAttempt(tried, effect.uid, context.clock.now(), why))


async def _start_hook(context: Context, owner: Owner, effect: Effect) -> None:
    """Let the Job of a hook go, if it is the one whose UID was written down."""
    ops: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": effect.uid},
        {"op": "replace", "path": "/spec/suspend", "value": False},
    ]
    key = ObjectKey(owner.namespace, effect.target)
    with suppress(NotFound, PatchFailed):
        await context.client.json_patch(JOB, key, ops, field_manager=FIELD_MANAGER)


async def _delete_set(context: Context, owner: Owner, effect: Effect) -> None:
    """Delete the servers of one set with their StatefulSet, by its UID; their volumes stay."""
    key = ObjectKey(owner.namespace, effect.target)
    with suppress(NotFound, Conflict):
        await context.client.delete(STATEFUL_SET, key, uid=effect.uid, propagation="Background")


async def _delete_claim(context: Context, owner: Owner, effect: Effect) -> None:
    """Delete the volume of a server that is gone, by its UID."""
    with suppress(NotFound, Conflict):
        await context.client.delete(PVC, ObjectKey(owner.namespace, effect.target), uid=effect.uid)
