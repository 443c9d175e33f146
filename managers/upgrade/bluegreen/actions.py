"""Effects of a blue/green upgrade. Each may be repeated."""

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

BLUE_GREEN_EFFECTS: Final = frozenset(
    {MAKE_JOB, MAKE_HOOK, START_HOOK, DROP_HOOK, DELETE_SET, DELETE_CLAIM}
)
"""The effects that only blue/green upgrades use."""


class BlueGreenActions:
    """Runs the effects of a blue/green upgrade."""

    def __init__(self, jobs: Jobs, template_source: JobTemplateSource) -> None:
        self._jobs = jobs
        self._template_source = template_source
        self.table = {
            MAKE_JOB: self._create_job,
            MAKE_HOOK: self._create_hook,
            START_HOOK: _start_hook,
            DROP_HOOK: self._delete_hook,
            DELETE_SET: _delete_set,
            DELETE_CLAIM: _delete_claim,
        }

    async def _create_job(self, context: Context, owner: Owner, effect: Effect) -> None:
        """Create the Job of a phase, or record why it cannot be created."""
        template = await self._template(context, owner, effect)
        if template is None:
            return
        try:
            await ensure_order(self._jobs, template, owner, Order(**dict(effect.body or {})))
        except RefusedError as error:
            _refuse(context, effect, str(error))

    async def _create_hook(self, context: Context, owner: Owner, effect: Effect) -> None:
        """Create the validation hook Job, suspended: nothing runs before its UID is written."""
        body = effect.body or {}
        hook = PrePromotionHook.model_validate(body["hook"])
        template = await self._template(context, owner, effect, JobOverrides(image=hook.image))
        if template is None:
            return
        try:
            await self._jobs.ensure(hook_job(_run(template, effect.target, body), hook), owner)
        except RefusedError as error:
            _refuse(context, effect, str(error))

    async def _delete_hook(self, context: Context, owner: Owner, effect: Effect) -> None:
        await self._jobs.cancel(ObjectKey(owner.namespace, effect.target), effect.uid)

    async def _template(
        self,
        context: Context,
        owner: Owner,
        effect: Effect,
        overrides: JobOverrides = NOTHING_ASKED,
    ) -> JobTemplate | None:
        """Return the Job template of the cluster; None when it is not available."""
        cluster = OpenBaoCluster.from_object(await context.client.get(CLUSTERS, owner.key))
        template = await self._template_source.of(cluster, "upgrade", overrides)
        if isinstance(template, JobTemplate):
            return template
        if not isinstance(template, Wait):
            _refuse(context, effect, f"{template.reason}: {template.message}")
        return None


def _run(template: JobTemplate, name: str, body: Mapping[str, Any]) -> HookRun:
    return HookRun(
        cluster=template.cluster,
        namespace=template.namespace,
        name=name,
        operation_id=str(body["operationID"]),
        green_revision=str(body["greenRevision"]),
        spec_hash=str(body["specHash"]),
        image=template.image,
        pull_secrets=template.pull_secrets,
        fixed_ids=template.fixed_ids,
        nodes=template.nodes,
    )


def _refuse(context: Context, effect: Effect, reason: str) -> None:
    effect_key = offered(effect.name, effect.target)
    context.attempts.note(EffectAttempt(effect_key, effect.uid, context.clock.now(), reason))


async def _start_hook(context: Context, owner: Owner, effect: Effect) -> None:
    """Resume the Job of a hook, if it has the recorded UID."""
    ops: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": effect.uid},
        {"op": "replace", "path": "/spec/suspend", "value": False},
    ]
    key = ObjectKey(owner.namespace, effect.target)
    with suppress(NotFound, PatchFailed):
        await context.client.json_patch(JOB, key, ops, field_manager=FIELD_MANAGER)


async def _delete_set(context: Context, owner: Owner, effect: Effect) -> None:
    """Delete the StatefulSet of one pool with its servers, by its UID; their volumes stay."""
    key = ObjectKey(owner.namespace, effect.target)
    with suppress(NotFound, Conflict):
        await context.client.delete(STATEFUL_SET, key, uid=effect.uid, propagation="Background")


async def _delete_claim(context: Context, owner: Owner, effect: Effect) -> None:
    """Delete the PVC of a deleted server, by its UID."""
    with suppress(NotFound, Conflict):
        await context.client.delete(PVC, ObjectKey(owner.namespace, effect.target), uid=effect.uid)
