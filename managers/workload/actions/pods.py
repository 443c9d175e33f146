"""Effects of the workload step: on one pod each, and each by the UID of that pod."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from contracts.records.desired import Effect
from contracts.records.observed import EVICT, EffectAttempt
from contracts.records.resolved import Resolved
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import Logins, as_known
from managers.context.context import Context
from runtime.builtin_kinds import POD
from runtime.errors import Conflict, EvictionRefused, Forbidden, Invalid, NotFound, PatchFailed
from runtime.types import Object, ObjectKey, is_terminating, resource_version_of, uid_of

EPHEMERAL = "ephemeralcontainers"


async def replace_pod(context: Context, resolved: Resolved, effect: Effect) -> None:
    """End one pod, by UID: the StatefulSet makes it anew from the newest template.

    | what is ended | how | why |
    |---|---|---|
    | a ready voter | evicted | a drain may have taken another, which our cache does not show yet |
    | a voter that is not ready | deleted | it serves nobody; its budget may hold what repairs it |
    | all servers after a restore | deleted | they go together on purpose |
    | a read replica | deleted | no budget counts it |

    The plan says which. A budget that refuses is remembered, and the plan waits.
    """
    key = ObjectKey(resolved.namespace, effect.target)
    try:
        if (effect.body or {}).get("evict"):
            # The API server charges the budget before it compares the UID. Asked for a pod that was
            # made anew under the name, it refuses, and counts that pod as away for two minutes
            # (disruptedPods, by name). So a stale cache must not ask.
            live = await context.client.get(POD, key)
            if uid_of(live) != effect.uid or is_terminating(live):
                return
            await context.client.evict(key, uid=effect.uid)
        else:
            await context.client.delete(POD, key, uid=effect.uid)
    except EvictionRefused as refused:
        context.attempts.note(EffectAttempt(EVICT, effect.uid, context.clock.now(), refused.budget))
        return
    except (NotFound, Conflict):
        # It is gone or another one has its name: what there is to see is on its way to us.
        return
    _tell(context, resolved, "PodReplaced", f"Replaced pod {effect.target}: it was outdated")


async def replace_unstarted(context: Context, resolved: Resolved, effect: Effect) -> None:
    """Delete one pod whose server never ran, unless anything became of it meanwhile."""
    key = ObjectKey(resolved.namespace, effect.target)
    try:
        live = await context.client.get(POD, key)
        if uid_of(live) != effect.uid or _has_run(live):
            return
        # Whoever gives it a node or starts it changes the object first.
        await context.client.delete(
            POD, key, uid=effect.uid, resource_version=resource_version_of(live)
        )
    except (NotFound, Conflict):
        return
    message = f"Replaced pod {effect.target}: it could not start, and its template was corrected"
    _tell(context, resolved, "PodReplaced", message)


def _has_run(pod: Object) -> bool:
    containers = (pod.get("status") or {}).get("containerStatuses") or ()
    return any(
        one.get("restartCount") or "waiting" not in (one.get("state") or {}) for one in containers
    )


async def reload_pod(context: Context, resolved: Resolved, effect: Effect) -> None:
    """Add the ephemeral container that tells the server of one pod to read its files again.

    Raises what the API server cannot say now. What it refuses for good is remembered, so that the
    plan finds another way.
    """
    container = dict(effect.body or {})
    try:
        key = ObjectKey(resolved.namespace, effect.target)
        added = await _add(context, key, effect.uid, container)
    except (NotFound, Conflict, PatchFailed):
        return
    except (Forbidden, Invalid) as error:
        _note(context, effect, refused=error.message)
        _warn(
            context,
            resolved,
            "ReloadRefused",
            f"Pod {effect.target} cannot be reloaded and will be replaced: {error.message}",
        )
        return
    if not added:
        return
    _note(context, effect)
    _tell(
        context,
        resolved,
        "PodReloaded",
        f"Told the server of pod {effect.target} to read its files again ({container['name']})",
    )


async def _add(context: Context, key: ObjectKey, uid: str, container: Mapping[str, Any]) -> bool:
    live = await context.client.get(POD, key)
    present = live["spec"].get("ephemeralContainers") or []
    if uid_of(live) != uid or any(one["name"] == container["name"] for one in present):
        return False
    path = "/spec/ephemeralContainers"
    # The server keeps what is there already: it lets nobody take an ephemeral container away.
    add = (
        {"op": "add", "path": f"{path}/-", "value": container}
        if present
        else {"op": "add", "path": path, "value": [container]}
    )
    test = {"op": "test", "path": "/metadata/uid", "value": uid}
    await context.client.json_patch(POD, key, [test, add], subresource=EPHEMERAL)
    return True


async def step_down(context: Context, logins: Logins, resolved: Resolved, effect: Effect) -> None:
    """Ask the leader to hand over its lead. Raises BaoError when it cannot be asked now.

    Remembered before it is sent: a lost answer must not make us ask again at once.
    """
    where = effect.body or {}
    login = await logins.of(
        resolved.owner, own=resolved.wants_operator_login, stored=not resolved.self_init
    )
    if login is None:
        _note(context, effect, refused="the operator has no login")
        return
    _note(context, effect)
    async with logins.session(where["authority"], where["server_name"]) as bao:
        try:
            await as_known(bao, where["address"], login, bao.step_down)
        except Denied as denied:
            _note(context, effect, refused=str(denied))
            return
        except BaoError:
            # It will be seen whether it was heard.
            return
    _tell(
        context,
        resolved,
        "LeaderSteppedDown",
        f"Asked {effect.target} to hand over its lead before its pod goes",
    )


async def mark_log(context: Context, logins: Logins, resolved: Resolved, effect: Effect) -> None:
    """Have the leader write one of its settings anew, so that its log grows by an entry.

    Tried again by the next pass when the leader cannot be asked now.
    """
    where = effect.body or {}
    login = await logins.of(
        resolved.owner, own=resolved.wants_operator_login, stored=not resolved.self_init
    )
    if login is None:
        _note(context, effect, refused="the operator has no login")
        return
    async with logins.session(where["authority"], where["server_name"]) as bao:
        try:
            await as_known(bao, where["address"], login, partial(_rewrite_setting, bao))
        except Denied as denied:
            _note(context, effect, refused=str(denied))
            return
        except BaoError:
            return
    _note(context, effect)


async def _rewrite_setting(bao: Bao, address: str, token: str) -> None:
    live = await bao.autopilot_settings(address, token)
    setting = "max_trailing_logs"
    await bao.set_autopilot(address, token, {setting: live[setting]} if setting in live else {})


def _note(context: Context, effect: Effect, refused: str = "") -> None:
    attempt = EffectAttempt(effect.name, effect.uid, context.clock.now(), refused)
    context.attempts.note(attempt)


def _tell(context: Context, resolved: Resolved, reason: str, text: str) -> None:
    context.events.event(resolved.owner.identity(), "Normal", reason, text)


def _warn(context: Context, resolved: Resolved, reason: str, text: str) -> None:
    context.events.event(resolved.owner.identity(), "Warning", reason, text)
