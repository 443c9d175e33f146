"""Effects of the workload step on one pod each, by UID."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from contracts.records.effects import (
    EffectByUid,
    MarkLog,
    ReloadPod,
    ReplacePod,
    ReplaceUnstarted,
    StepDown,
)
from contracts.records.observed import EVICT, EffectAttempt
from contracts.records.resolved import Resolved
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import Logins, request_with_token
from managers.context.context import Context
from managers.context.effect_events import record_normal, record_warning
from runtime.builtin_kinds import POD
from runtime.errors import Conflict, EvictionRefused, Forbidden, Invalid, NotFound, PatchFailed
from runtime.types import Object, ObjectKey, is_terminating, resource_version_of, uid_of

EPHEMERAL = "ephemeralcontainers"


async def replace_pod(context: Context, resolved: Resolved, effect: ReplacePod) -> None:
    """Replace one pod, by UID: the StatefulSet creates it again from the newest template.

    | what is replaced | how | why |
    |---|---|---|
    | a ready voter | evicted | a drain may have evicted another one since the cache was updated |
    | a voter that is not ready | deleted | it serves no requests; its budget may block the repair |
    | all servers after a restore | deleted | they are replaced together on purpose |
    | a read replica | deleted | no budget covers it |

    The plan selects the pod. A refusal by a budget is recorded, and the plan waits.
    """
    key = ObjectKey(resolved.namespace, effect.target)
    try:
        if effect.evict:
            # The API server charges the budget before it compares the UID. If a new pod has
            # that name, it refuses, and counts the new pod as disrupted for two minutes
            # (disruptedPods, by name). So never evict from a stale cache.
            live = await context.client.get(POD, key)
            if uid_of(live) != effect.uid or is_terminating(live):
                return
            await context.client.evict(key, uid=effect.uid)
        else:
            await context.client.delete(POD, key, uid=effect.uid)
    except EvictionRefused as error:
        context.attempts.note(EffectAttempt(EVICT, effect.uid, context.clock.now(), error.budget))
        return
    except (NotFound, Conflict):
        # It is deleted or replaced: the watch will report it.
        return
    record_normal(
        context, resolved.owner, "PodReplaced", f"Replaced pod {effect.target}: it was outdated"
    )


async def replace_unstarted(context: Context, resolved: Resolved, effect: ReplaceUnstarted) -> None:
    """Delete one pod whose server never ran, unless it started meanwhile."""
    key = ObjectKey(resolved.namespace, effect.target)
    try:
        live = await context.client.get(POD, key)
        if uid_of(live) != effect.uid or _has_run(live):
            return
        # The scheduler and the kubelet update the object before the server starts.
        await context.client.delete(
            POD, key, uid=effect.uid, resource_version=resource_version_of(live)
        )
    except (NotFound, Conflict):
        return
    message = f"Replaced pod {effect.target}: it could not start, and its template was corrected"
    record_normal(context, resolved.owner, "PodReplaced", message)


def _has_run(pod: Object) -> bool:
    containers = (pod.get("status") or {}).get("containerStatuses") or ()
    return any(
        status.get("restartCount") or "waiting" not in (status.get("state") or {})
        for status in containers
    )


async def reload_pod(context: Context, resolved: Resolved, effect: ReloadPod) -> None:
    """Add the ephemeral container that makes the server of one pod reload its files.

    Raises transient errors of the API server. A permanent rejection is recorded, so that the plan
    replaces the pod instead.
    """
    container = effect.container
    try:
        key = ObjectKey(resolved.namespace, effect.target)
        added = await _add(context, key, effect.uid, container)
    except (NotFound, Conflict, PatchFailed):
        return
    except (Forbidden, Invalid) as error:
        _note(context, effect, refusal=error.message)
        record_warning(
            context,
            resolved.owner,
            "ReloadRefused",
            f"Pod {effect.target} cannot be reloaded and will be replaced: {error.message}",
        )
        return
    if not added:
        return
    _note(context, effect)
    record_normal(
        context,
        resolved.owner,
        "PodReloaded",
        f"Signaled the server of pod {effect.target} to reload its files ({container['name']})",
    )


async def _add(context: Context, key: ObjectKey, uid: str, container: Mapping[str, Any]) -> bool:
    live = await context.client.get(POD, key)
    present = live["spec"].get("ephemeralContainers") or []
    if uid_of(live) != uid or any(entry["name"] == container["name"] for entry in present):
        return False
    path = "/spec/ephemeralContainers"
    # Existing entries stay: the API server allows no removal of an ephemeral container.
    add = (
        {"op": "add", "path": f"{path}/-", "value": container}
        if present
        else {"op": "add", "path": path, "value": [container]}
    )
    test = {"op": "test", "path": "/metadata/uid", "value": uid}
    await context.client.json_patch(POD, key, [test, add], subresource=EPHEMERAL)
    return True


async def step_down(context: Context, logins: Logins, resolved: Resolved, effect: StepDown) -> None:
    """Ask the leader to step down. Raises BaoError when it cannot be reached now.

    The attempt is recorded before it is sent: a lost answer must not cause an immediate retry.
    """
    endpoint, login = effect.endpoint, logins.of(resolved.owner)
    if not resolved.has_operator_login:
        _note(context, effect, refusal="the operator has no login")
        return
    _note(context, effect)
    async with logins.session(endpoint.authority, endpoint.server_name) as bao:
        try:
            await request_with_token(bao, endpoint.address, login, bao.step_down)
        except Denied as denied:
            _note(context, effect, refusal=str(denied))
            return
        except BaoError:
            # The next observation shows whether it stepped down.
            return
    record_normal(
        context,
        resolved.owner,
        "LeaderSteppedDown",
        f"Asked {effect.target} to step down before its pod is removed",
    )


async def mark_log(context: Context, logins: Logins, resolved: Resolved, effect: MarkLog) -> None:
    """Have the leader rewrite one of its settings, which appends an entry to its log.

    The next reconcile retries when the leader cannot be reached now.
    """
    endpoint, login = effect.endpoint, logins.of(resolved.owner)
    if not resolved.has_operator_login:
        _note(context, effect, refusal="the operator has no login")
        return
    async with logins.session(endpoint.authority, endpoint.server_name) as bao:
        try:
            await request_with_token(bao, endpoint.address, login, partial(_rewrite_setting, bao))
        except Denied as denied:
            _note(context, effect, refusal=str(denied))
            return
        except BaoError:
            return
    _note(context, effect)


async def _rewrite_setting(bao: Bao, address: str, token: str) -> None:
    live = await bao.autopilot_settings(address, token)
    setting = "max_trailing_logs"
    await bao.set_autopilot(address, token, {setting: live[setting]} if setting in live else {})


def _note(context: Context, effect: EffectByUid, refusal: str = "") -> None:
    attempt = EffectAttempt(effect.name, effect.uid, context.clock.now(), refusal)
    context.attempts.note(attempt)
