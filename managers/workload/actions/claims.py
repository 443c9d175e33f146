"""Effects on data volume PVCs and on their StatefulSet, each by UID."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contracts.naming import labels
from contracts.records.effects import AdoptPvc, EffectByUid, GrowClaim, RecreateStatefulSet
from contracts.records.observed import EffectAttempt
from contracts.records.resolved import Resolved
from managers.context.context import FIELD_MANAGER, Context
from managers.context.effect_events import record_normal
from runtime.builtin_kinds import PVC, STATEFUL_SET
from runtime.errors import Conflict, Forbidden, Invalid, NotFound, PatchFailed
from runtime.types import ObjectKey

_SIZE = "/spec/resources/requests/storage"
_OWNER = f"/metadata/annotations/{labels.OWNER_UID.replace('/', '~1')}"
_ADOPT = f"/metadata/annotations/{labels.ADOPT.replace('/', '~1')}"


async def grow_claim(context: Context, resolved: Resolved, effect: GrowClaim) -> None:
    """Request a larger volume, if the UID and the requested size of the PVC are as observed.

    A rejection by the API server (no expansion in the class, a quota) is recorded, so that it is
    not retried immediately. Raises other errors of the API server.
    """
    ops = [
        {"op": "test", "path": _SIZE, "value": effect.current_size},
        {"op": "replace", "path": _SIZE, "value": effect.size},
    ]
    try:
        done = await _patch(context, resolved, effect, ops)
    except (Forbidden, Invalid) as error:
        refused = EffectAttempt(effect.name, effect.uid, context.clock.now(), error.message)
        context.attempts.note(refused)
        return
    if done:
        record_normal(
            context,
            resolved.owner,
            "VolumeGrows",
            f"{effect.target}: {effect.current_size} to {effect.size}",
        )


async def adopt_pvc(context: Context, resolved: Resolved, effect: AdoptPvc) -> None:
    """Adopt a PVC that a user annotated with the name of this cluster."""
    ops = [
        {"op": "test", "path": _ADOPT, "value": resolved.name},
        {"op": "add", "path": _OWNER, "value": resolved.owner.uid},
        {"op": "remove", "path": _ADOPT},
    ]
    if await _patch(context, resolved, effect, ops):
        record_normal(
            context, resolved.owner, "VolumeTaken", f"Adopted {effect.target} into this cluster"
        )


async def recreate_stateful_set(
    context: Context, resolved: Resolved, effect: RecreateStatefulSet
) -> None:
    """Delete the StatefulSet and orphan its pods; the next reconcile creates it again.

    A crash in between is harmless: without a StatefulSet the plan creates one.
    """
    try:
        await context.client.delete(
            STATEFUL_SET,
            ObjectKey(resolved.namespace, effect.target),
            uid=effect.uid,
            resource_version=effect.version,
            propagation="Orphan",
        )
    except (NotFound, Conflict):
        # It is deleted already, or changed since it was observed: the next reconcile reads it.
        return
    context.attempts.note(EffectAttempt(effect.name, resolved.owner.uid, context.clock.now()))
    record_normal(
        context,
        resolved.owner,
        "StatefulSetRecreated",
        f"Re-created StatefulSet {effect.target}; its pods keep running",
    )


async def _patch(
    context: Context, resolved: Resolved, effect: EffectByUid, ops: Sequence[Mapping[str, Any]]
) -> bool:
    uid_test = {"op": "test", "path": "/metadata/uid", "value": effect.uid}
    key = ObjectKey(resolved.namespace, effect.target)
    try:
        await context.client.json_patch(PVC, key, [uid_test, *ops], field_manager=FIELD_MANAGER)
    except (NotFound, Conflict, PatchFailed):
        # Replaced or changed by another controller or a user: the watch will report it.
        return False
    return True
