"""Effects of the bootstrap step: create the unseal key, the root token and the audit PVC.

Called by `managers.cluster.apply.actions`. Secrets are created with a plain create, which the API
server rejects if the name exists. So two operators, or an operator that was restarted, never create
two keys.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from contracts.naming import labels
from contracts.records.effects import DrawRootToken, DrawUnsealKey, MakeAuditClaim
from contracts.records.resolved import Resolved
from managers.context.context import FIELD_MANAGER, Context
from managers.context.rwx_pvc import make_rwx_pvc
from managers.context.secret_builder import secret_object
from runtime.builtin_kinds import SECRET
from runtime.errors import AlreadyExists
from runtime.types import ObjectKey

UNSEAL_KEY_BYTES = 32
ROOT_TOKEN_BYTES = 24


async def draw_unseal_key(context: Context, resolved: Resolved, effect: DrawUnsealKey) -> None:
    """Create the Secret with the key of the static seal: 32 raw bytes (AES-256).

    The Secret also stores the id of the key, so that no other key gets that id.
    """
    rotation = resolved.unseal.rotation
    key = context.random_bytes(UNSEAL_KEY_BYTES)
    annotations = {} if rotation is None else {labels.UNSEAL_KEY_ID: rotation.target.id}
    await _create(context, resolved, effect.target, {"key": key}, annotations)


async def draw_root_token(context: Context, resolved: Resolved, effect: DrawRootToken) -> None:
    """Create the Secret with the root token that the first boot will register.

    The token is stored before it exists in the server, so no crash can lose it.
    """
    token = base64.b32encode(context.random_bytes(ROOT_TOKEN_BYTES)).rstrip(b"=").lower()
    # The token must not start with "s.", the prefix of tokens that the server generates.
    await _create(context, resolved, effect.target, {"token": b"root-" + token})


async def _create(
    context: Context,
    resolved: Resolved,
    name: str,
    data: Mapping[str, bytes],
    annotations: Mapping[str, str] | None = None,
) -> None:
    body = secret_object(resolved.owner, name, data, immutable=True, annotations=annotations)
    try:
        live = await context.client.create(SECRET, body, field_manager=FIELD_MANAGER)
    except AlreadyExists:
        # The next read shows which object owns the existing Secret.
        context.secrets.drop(ObjectKey(resolved.namespace, name))
        return
    context.secrets.store(live)


async def make_audit_claim(context: Context, resolved: Resolved, effect: MakeAuditClaim) -> None:
    """Create the PVC for the files of audit devices."""
    volume = resolved.audit_volume
    if volume is not None:
        await make_rwx_pvc(
            context, resolved.owner, effect.target, volume.size, volume.storage_class
        )
