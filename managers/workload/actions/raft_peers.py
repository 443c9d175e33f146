"""Effects of the removal of a server: its raft peer, and then its data volume."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

from contracts.naming import labels
from contracts.records.effects import DeleteClaim, RemovePeer
from contracts.records.observed import EffectAttempt
from contracts.records.resolved import Resolved
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import Logins, request_with_token
from managers.context.context import FIELD_MANAGER, Context
from managers.context.effect_events import record_normal
from runtime.builtin_kinds import PVC
from runtime.errors import Conflict, NotFound, PatchFailed
from runtime.types import ObjectKey

_MARK = f"/metadata/annotations/{labels.REMOVED_PEER.replace('/', '~1')}"


async def remove_peer(
    context: Context, logins: Logins, resolved: Resolved, effect: RemovePeer
) -> None:
    """Annotate the volume of a server, and have the leader remove its raft peer.

    The annotation comes first, so that the next operator leader finds it. Both writes need the
    guard of the lease. The attempt is recorded before it is sent: a lost answer must not cause an
    immediate retry. A refusal removes the annotation. Raises transient errors of the API server.
    """
    endpoint, login = effect.endpoint, logins.of(resolved.owner)
    if not resolved.has_operator_login:
        _record_refusal(context, resolved, "the operator has no login")
        return
    if effect.claim and not await _mark(context, resolved, effect):
        return
    context.attempts.note(
        EffectAttempt(effect.name, effect.uid or resolved.owner.uid, context.clock.now())
    )
    async with logins.session(endpoint.authority, endpoint.server_name) as bao:
        try:
            ask = partial(_remove, bao, effect.target)
            await request_with_token(bao, endpoint.address, login, ask)
        except Denied as denied:
            _record_refusal(context, resolved, str(denied))
            if effect.claim:
                await _unmark(context, resolved, effect)
            return
        except BaoError:
            # The next read of the members shows whether it was removed.
            return
    record_normal(
        context, resolved.owner, "PeerRemoved", f"Removed {effect.target} from the raft cluster"
    )


async def delete_claim(context: Context, resolved: Resolved, effect: DeleteClaim) -> None:
    """Delete the data volume of a server that was removed, by UID."""
    try:
        await context.client.delete(
            PVC, ObjectKey(resolved.namespace, effect.target), uid=effect.uid
        )
    except (NotFound, Conflict):
        # It is deleted or replaced: the watch will report it.
        return
    text = f"Deleted volume {effect.target}: its server was removed from the raft cluster"
    record_normal(context, resolved.owner, "VolumeDeleted", text)


async def _remove(bao: Bao, node_id: str, address: str, token: str) -> None:
    await bao.remove_peer(address, token, node_id)


async def _mark(context: Context, resolved: Resolved, effect: RemovePeer) -> bool:
    """Annotate the volume with the raft peer that is removed."""
    ops: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/uid", "value": effect.claim_uid},
        {"op": "add", "path": _MARK, "value": effect.target},
    ]
    key = ObjectKey(resolved.namespace, effect.claim)
    try:
        await context.client.json_patch(PVC, key, ops, field_manager=FIELD_MANAGER)
    except (NotFound, PatchFailed):
        # It is deleted or replaced: the watch will report it.
        return False
    return True


async def _unmark(context: Context, resolved: Resolved, effect: RemovePeer) -> None:
    """Remove the annotation after a refusal: the server is still a member.

    With the annotation it would be removed later, even if the spec requests it again.
    """
    ops: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/uid", "value": effect.claim_uid},
        {"op": "test", "path": _MARK, "value": effect.target},
        {"op": "remove", "path": _MARK},
    ]
    key = ObjectKey(resolved.namespace, effect.claim)
    with suppress(NotFound, PatchFailed):
        await context.client.json_patch(PVC, key, ops, field_manager=FIELD_MANAGER)


def _record_refusal(context: Context, resolved: Resolved, why: str) -> None:
    attempt = EffectAttempt(RemovePeer.name, resolved.owner.uid, context.clock.now(), why)
    context.attempts.note(attempt)
