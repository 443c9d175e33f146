"""Fetches the encrypted shares from the server, and stores them once."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from contracts.api.cluster.spec import ClusterSpec
from contracts.api.cluster.status_login import RecoveryKeysStatus
from contracts.naming import names
from managers.bao.client import Bao, Denied
from managers.bao.login import TokenSource
from managers.context.context import FIELD_MANAGER, MARKS, Context
from managers.context.secret_builder import secret_object
from managers.recovery_keys.decide import (
    denied_status,
    foreign_secret_status,
    missing_status,
    no_login_status,
    secret_data,
    stored_status,
)
from runtime.apply.ownership import Owner, Ownership, describe_owner, ownership_of
from runtime.builtin_kinds import SECRET
from runtime.errors import AlreadyExists
from runtime.types import Object, ObjectKey


async def copy_shares(
    context: Context,
    bao: Bao,
    address: str,
    login: TokenSource | None,
    spec: ClusterSpec,
    owner: Owner,
) -> RecoveryKeysStatus:
    """Copy the shares to their Secret, and return the status.

    Safe to repeat after any interruption: the server keeps its copy, which does not change, and the
    Secret is created by a plain create. Raises BaoError and the errors of the API server.
    """
    if login is None:
        return no_login_status(owner.name)
    try:
        shares = await bao.recovery_shares(address, await login.token(bao, address))
    except Denied as error:
        return denied_status(str(error))
    if shares is None:
        return missing_status()
    keys = spec.recovery_keys
    recipients = keys.initial.recipients if keys and keys.initial else ()
    problem = await _store(context, owner, secret_data(shares.keys_base64, recipients))
    return problem or stored_status(shares.nonce)


async def _store(
    context: Context, owner: Owner, data: Mapping[str, bytes]
) -> RecoveryKeysStatus | None:
    name = names.recovery_shares_secret(owner.name)
    body = secret_object(owner, name, data, immutable=True)
    try:
        await context.client.create(SECRET, body, field_manager=FIELD_MANAGER)
    except AlreadyExists:
        live = await context.client.get(SECRET, ObjectKey(owner.namespace, name))
        if ownership_of(live, owner, MARKS) is Ownership.FOREIGN:
            return foreign_secret_status(owner.name, describe_owner(live, MARKS))
        # An earlier reconcile created it, or it was adopted: it is valid if it has the same shares.
        return None if _content(live) == data else foreign_secret_status(owner.name, "")
    return None


def _content(live: Object) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in (live.get("data") or {}).items()}
