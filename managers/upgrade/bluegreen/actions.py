"""Effects of a blue/green upgrade. Each is idempotent."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import CLUSTERS
from contracts.builders.validation_hook_job import HookRun, hook_job
from contracts.jobs.template import NO_OVERRIDES, JobOverrides, JobTemplate, JobTemplateSource
from contracts.records.bluegreen import job_attempt_key
from contracts.records.effects import Effect, EffectByUid
from contracts.records.observed import EffectAttempt
from contracts.records.upgrade_effects import (
    DeleteServerClaim,
    DeleteStatefulSet,
    DropHook,
    MakeHook,
    MakeJob,
    StartHook,
)
from managers.context.context import FIELD_MANAGER, Context
from managers.context.effect_handler import EffectHandler, handler
from managers.jobs.client import Jobs, RefusedError
from managers.upgrade.jobs import ensure_order
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import JOB, PVC, STATEFUL_SET
from runtime.errors import Conflict, NotFound, PatchFailed
from runtime.outcome import Wait
from runtime.types import Object, ObjectKey


class BlueGreenActions:
    """Runs the effects of a blue/green upgrade."""

    def __init__(self, jobs: Jobs, template_source: JobTemplateSource) -> None:
        self._jobs = jobs
        self._template_source = template_source
        self.table: Mapping[type[Effect], EffectHandler[Owner, Effect]] = dict(
            (
                handler(MakeJob, self._create_job),
                handler(MakeHook, self._create_hook),
                handler(StartHook, _start_hook),
                handler(DropHook, self._delete_hook),
                handler(DeleteStatefulSet, _delete_stateful_set),
                handler(DeleteServerClaim, _delete_claim),
            )
        )
        """The effects that only blue/green upgrades use."""

    async def _create_job(self, context: Context, owner: Owner, effect: MakeJob) -> None:
        """Create the Job of a phase, or record why it cannot be created."""
        template = await self._template(context, owner, effect)
        if template is None:
            return
        try:
            await ensure_order(self._jobs, template, owner, effect.order)
        except RefusedError as error:
            _refuse(context, effect, str(error))

    async def _create_hook(self, context: Context, owner: Owner, effect: MakeHook) -> None:
        """Create the validation hook Job, suspended: no pod runs before its UID is recorded."""
        overrides = JobOverrides(image=effect.hook.image)
        template = await self._template(context, owner, effect, overrides)
        if template is None:
            return
        try:
            await self._jobs.ensure(hook_job(_run(template, effect), effect.hook), owner)
        except RefusedError as error:
            _refuse(context, effect, str(error))

    async def _delete_hook(self, context: Context, owner: Owner, effect: DropHook) -> None:
        await self._jobs.cancel(ObjectKey(owner.namespace, effect.target), effect.uid)

    async def _template(
        self,
        context: Context,
        owner: Owner,
        effect: EffectByUid,
        overrides: JobOverrides = NO_OVERRIDES,
    ) -> JobTemplate | None:
        """Return the Job template of the cluster; None when it is not available."""
        cluster = OpenBaoCluster.from_object(await context.client.get(CLUSTERS, owner.key))
        template = await self._template_source.of(cluster, "upgrade", overrides)
        if isinstance(template, JobTemplate):
            return template
        if not isinstance(template, Wait):
            _refuse(context, effect, f"{template.reason}: {template.message}")
        return None


def _run(template: JobTemplate, effect: MakeHook) -> HookRun:
    return HookRun(
        cluster=template.cluster,
        namespace=template.namespace,
        name=effect.target,
        operation_id=effect.operation_id,
        green_revision=effect.green_revision,
        spec_hash=effect.spec_hash,
        image=template.image,
        pull_secrets=template.pull_secrets,
        fixed_ids=template.fixed_ids,
        nodes=template.nodes,
    )


def _refuse(context: Context, effect: EffectByUid, reason: str) -> None:
    effect_key = job_attempt_key(effect.name, effect.target)
    context.attempts.note(EffectAttempt(effect_key, effect.uid, context.clock.now(), reason))


async def _start_hook(context: Context, owner: Owner, effect: StartHook) -> None:
    """Resume the Job of a hook, if it has the recorded UID."""
    ops: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": effect.uid},
        {"op": "replace", "path": "/spec/suspend", "value": False},
    ]
    key = ObjectKey(owner.namespace, effect.target)
    with suppress(NotFound, PatchFailed):
        await context.client.json_patch(JOB, key, ops, field_manager=FIELD_MANAGER)


async def _delete_stateful_set(context: Context, owner: Owner, effect: DeleteStatefulSet) -> None:
    """Delete the StatefulSet of a pool and its servers, by its UID; keep their volumes."""
    key = ObjectKey(owner.namespace, effect.target)
    with suppress(NotFound, Conflict):
        await context.client.delete(STATEFUL_SET, key, uid=effect.uid, propagation="Background")


async def _delete_claim(context: Context, owner: Owner, effect: DeleteServerClaim) -> None:
    """Delete the PVC of a deleted server, by its UID."""
    with suppress(NotFound, Conflict):
        await context.client.delete(PVC, ObjectKey(owner.namespace, effect.target), uid=effect.uid)
