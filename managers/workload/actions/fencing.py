"""Effects on single pods that a user requested: stop one, ungate it, annotate it."""

from __future__ import annotations

from typing import Any

from contracts.naming import labels
from contracts.records.effects import FencePod, LabelPod, MarkFirst, MarkPod, UngatePod
from contracts.records.resolved import Resolved
from managers.context.context import FIELD_MANAGER, Context
from managers.context.effect_events import record_normal
from runtime.builtin_kinds import POD
from runtime.errors import Conflict, NotFound, PatchFailed
from runtime.types import Object, ObjectKey, uid_of

_MARK = f"/metadata/annotations/{labels.MAINTENANCE.replace('/', '~1')}"
_FIRST = f"/metadata/labels/{labels.FIRST_SET.replace('/', '~1')}"


async def fence_pod(context: Context, resolved: Resolved, effect: FencePod) -> None:
    """Delete a pod, by UID; the StatefulSet creates it again behind the gate."""
    key = ObjectKey(resolved.namespace, effect.target)
    try:
        await context.client.delete(POD, key, uid=effect.uid)
    except (NotFound, Conflict):
        # It is deleted or replaced: the watch will report it.
        return
    record_normal(
        context, resolved.owner, "PodFenced", f"Stopped {effect.target}: it is in spec.fencedPods"
    )


async def ungate_pod(context: Context, resolved: Resolved, effect: UngatePod) -> None:
    """Remove our own scheduling gate from a pod, and keep those of other controllers.

    A gate can only be removed while the pod has no node, and never be added (Kubernetes 1.30,
    pod scheduling readiness).
    """
    key = ObjectKey(resolved.namespace, effect.target)
    try:
        live = await context.client.get(POD, key)
        position = _position(live)
        if uid_of(live) != effect.uid or position is None:
            return
        gate = f"/spec/schedulingGates/{position}"
        ops: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/uid", "value": effect.uid},
            {"op": "test", "path": f"{gate}/name", "value": labels.FENCE_GATE},
            {"op": "remove", "path": gate},
        ]
        await context.client.json_patch(POD, key, ops, field_manager=FIELD_MANAGER)
    except (NotFound, Conflict, PatchFailed):
        return
    record_normal(
        context,
        resolved.owner,
        "PodReleased",
        f"Released {effect.target}: it is not in spec.fencedPods",
    )


def _position(pod: Object) -> int | None:
    gates = (pod.get("spec") or {}).get("schedulingGates") or ()
    positions = (n for n, gate in enumerate(gates) if gate.get("name") == labels.FENCE_GATE)
    return next(positions, None)


async def mark_pod(context: Context, resolved: Resolved, effect: MarkPod) -> None:
    """Set the maintenance annotation of a pod, or remove it."""
    key = ObjectKey(resolved.namespace, effect.target)
    change: dict[str, Any] = {"op": "remove", "path": _MARK}
    if effect.maintenance:
        change = {"op": "add", "path": _MARK, "value": "true"}
    await _change(context, key, effect.uid, change)


async def mark_first(context: Context, resolved: Resolved, effect: MarkFirst) -> None:
    """Label a pod as one of the pool without a revision."""
    key = ObjectKey(resolved.namespace, effect.target)
    await _change(context, key, effect.uid, {"op": "add", "path": _FIRST, "value": "true"})


async def label_pod(context: Context, resolved: Resolved, effect: LabelPod) -> None:
    """Add labels to a running pod, without a restart."""
    key = ObjectKey(resolved.namespace, effect.target)
    owned = {"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": effect.controller}
    changes = [
        {"op": "add", "path": f"/metadata/labels/{label.replace('/', '~1')}", "value": value}
        for label, value in effect.labels
    ]
    await _change(context, key, effect.uid, owned, *changes)


async def _change(context: Context, key: ObjectKey, uid: str, *changes: dict[str, Any]) -> None:
    ops = [{"op": "test", "path": "/metadata/uid", "value": uid}, *changes]
    try:
        await context.client.json_patch(POD, key, ops, field_manager=FIELD_MANAGER)
    except (NotFound, Conflict, PatchFailed):
        return
