"""Effects of the certificate step: the CA, the server certificate, and the volume of mode ACME.

Called by `managers.cluster.apply.actions`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from contracts.naming import labels, names
from contracts.records.effects import (
    DropAuthority,
    EffectByUid,
    IssueAuthority,
    IssueServerCertificate,
    MakeAcmeCacheClaim,
    PrepareAuthority,
    PromoteAuthority,
)
from contracts.records.resolved import Resolved
from managers.certs import secret_data
from managers.certs.chain import first_certificate
from managers.certs.key_pair import KeyPair
from managers.certs.x509 import issue_server, make_authority, read
from managers.context.context import FIELD_MANAGER, Context
from managers.context.effect_events import record_normal
from managers.context.rwx_pvc import make_rwx_pvc
from managers.context.secret_builder import secret_object
from runtime.apply.apply import CREATE_ONLY
from runtime.builtin_kinds import SECRET
from runtime.errors import (
    AlreadyExists,
    ApplyConflict,
    Conflict,
    Invalid,
    NotFound,
    Transient,
)
from runtime.types import Object, ObjectKey, resource_version_of, uid_of


async def issue_authority(context: Context, resolved: Resolved, effect: IssueAuthority) -> None:
    """Create the Secret of the CA; an existing one is never replaced."""
    pair = make_authority(resolved.name, context.clock.now())
    data = {secret_data.CA_CERTIFICATE: pair.certificate, secret_data.CA_KEY: pair.key}
    body = secret_object(resolved.owner, effect.target, data)
    # The new CA fulfills a rotation request that is older than the CA.
    body["metadata"].setdefault("annotations", {})[labels.CA_REQUEST] = resolved.tls.ca_request
    try:
        live = await context.client.create(SECRET, body, field_manager=FIELD_MANAGER)
    except AlreadyExists:
        context.secrets.drop(ObjectKey(resolved.namespace, effect.target))
        return
    context.secrets.store(live)


async def issue_server_certificate(
    context: Context, resolved: Resolved, effect: IssueServerCertificate
) -> None:
    """Issue a server certificate and apply its Secret.

    Raises Transient if a Secret changed since it was observed: the CA was deleted or became
    invalid, or another object has the name of the server certificate.
    """
    authority = await read_authority(context, resolved)
    names_and_addresses = resolved.certificate_names, resolved.certificate_addresses
    try:
        pair = issue_server(authority, *names_and_addresses, context.clock.now())
    except ValueError as error:
        raise _unusable(context, resolved, error) from error
    data = {
        secret_data.CERTIFICATE: pair.certificate,
        secret_data.KEY: pair.key,
        secret_data.CA_CERTIFICATE: authority.certificate,
    }
    body = secret_object(resolved.owner, effect.target, data, kind=secret_data.SERVER_SECRET_TYPE)
    body["metadata"] |= {"uid": effect.uid} if effect.uid else {"resourceVersion": CREATE_ONLY}
    try:
        # With force: the cluster owns the Secret with that UID, and the operator its whole content.
        result = await context.client.apply(
            SECRET, body, field_manager=FIELD_MANAGER, force=bool(effect.uid)
        )
    except (AlreadyExists, ApplyConflict, Conflict) as error:
        key = ObjectKey(resolved.namespace, effect.target)
        context.secrets.drop(key)
        raise Transient(f"Secret {key} was replaced since it was read") from error
    except Invalid as error:
        # The Secret may have become immutable; then the plan reports it.
        context.secrets.drop(ObjectKey(resolved.namespace, effect.target))
        raise Transient(f"Secret {effect.target} cannot be written: {error}") from error
    context.secrets.store(result.object)


async def read_authority(context: Context, resolved: Resolved) -> KeyPair:
    """Read the CA with its key. Callers must not store the key."""
    key = ObjectKey(resolved.namespace, names.tls_ca_secret(resolved.name))
    try:
        data = decode_data(await context.client.get(SECRET, key))
        pair = secret_data.pair(data, secret_data.CA_CERTIFICATE, secret_data.CA_KEY)
        read(pair)
    except (NotFound, ValueError) as error:
        raise _unusable(context, resolved, error) from error
    return pair


def _unusable(context: Context, resolved: Resolved, error: Exception) -> Transient:
    key = ObjectKey(resolved.namespace, names.tls_ca_secret(resolved.name))
    context.secrets.drop(key)
    return Transient(
        f"Secret {key} cannot be used to sign: {error}. Restore it, or delete it and Secret "
        f"{names.tls_server_secret(resolved.name)} so that the operator creates a new CA"
    )


def decode_data(secret: Object) -> dict[str, bytes]:
    """Return the data of a Secret. Raises ValueError for invalid base64."""
    data = secret.get("data") or {}
    return {name: base64.b64decode(text) for name, text in data.items()}


async def prepare_authority(context: Context, resolved: Resolved, effect: PrepareAuthority) -> None:
    """Create the next CA, which is trusted in addition to the current one. That one still signs."""

    def change(data: Mapping[str, bytes]) -> Change:
        if secret_data.NEXT_KEY in data or secret_data.FORMER_KEY in data:
            raise Transient(f"Secret {effect.target} already contains a second CA")
        pair = make_authority(resolved.name, context.clock.now())
        return {
            secret_data.NEXT_CERTIFICATE: pair.certificate,
            secret_data.NEXT_KEY: pair.key,
            secret_data.CA_CERTIFICATE: secret_data.bundle(
                data[secret_data.CA_CERTIFICATE], pair.certificate
            ),
        }

    await _change_ca_secret(
        context, resolved, effect, change, handled_request=resolved.tls.ca_request
    )


async def promote_authority(context: Context, resolved: Resolved, effect: PromoteAuthority) -> None:
    """Make the next CA the current one; the former CA is still trusted, and its key is kept."""

    def change(data: Mapping[str, bytes]) -> Change:
        upcoming = secret_data.pair(data, secret_data.NEXT_CERTIFICATE, secret_data.NEXT_KEY)
        current = first_certificate(data[secret_data.CA_CERTIFICATE])
        return {
            secret_data.FORMER_CERTIFICATE: current,
            secret_data.FORMER_KEY: data[secret_data.CA_KEY],
            secret_data.CA_CERTIFICATE: secret_data.bundle(upcoming.certificate, current),
            secret_data.CA_KEY: upcoming.key,
            secret_data.NEXT_CERTIFICATE: None,
            secret_data.NEXT_KEY: None,
        }

    await _change_ca_secret(context, resolved, effect, change)


async def drop_authority(context: Context, resolved: Resolved, effect: DropAuthority) -> None:
    """Delete the former CA with its key, so that only the current CA is trusted."""

    def change(data: Mapping[str, bytes]) -> Change:
        secret_data.pair(data, secret_data.FORMER_CERTIFICATE, secret_data.FORMER_KEY)
        return {
            secret_data.FORMER_CERTIFICATE: None,
            secret_data.FORMER_KEY: None,
            secret_data.CA_CERTIFICATE: first_certificate(data[secret_data.CA_CERTIFICATE]),
        }

    await _change_ca_secret(context, resolved, effect, change)


Change = Mapping[str, bytes | None]
"""Entries of a Secret and their new content; None removes one."""


async def _change_ca_secret(
    context: Context,
    resolved: Resolved,
    effect: EffectByUid,
    change: Callable[[Mapping[str, bytes]], Change],
    *,
    handled_request: str = "",
) -> None:
    """Change the Secret of the CA in one write with optimistic locking.

    Raises Transient if it changed since it was observed; the next reconcile reads it again.
    """
    key = ObjectKey(resolved.namespace, effect.target)
    try:
        live = await context.client.get(SECRET, key)
        if uid_of(live) != effect.uid:
            raise Transient(f"Secret {key} was replaced since it was read")
        changes = change(decode_data(live))
        ops = [
            *_optimistic_lock(live),
            *_entry_patches(live, changes),
            *_request_annotation(live, handled_request),
        ]
        secret = await context.client.json_patch(SECRET, key, ops, field_manager=FIELD_MANAGER)
    except (NotFound, Conflict, Invalid, KeyError, ValueError) as error:
        context.secrets.drop(key)
        raise Transient(f"Secret {key} cannot be changed: {error}") from error
    context.secrets.store(secret)
    record_normal(
        context,
        resolved.owner,
        "AuthorityRotated",
        f"Secret {effect.target}: {EVENT_TEXTS[type(effect)]}",
    )


EVENT_TEXTS: Mapping[type[EffectByUid], str] = {
    PrepareAuthority: "created a new CA; it is trusted now, and signs after the overlap",
    PromoteAuthority: "the new CA signs now; the former CA is still trusted",
    DropAuthority: "the former CA is no longer trusted, and its key is deleted",
}


def _optimistic_lock(live: Object) -> list[dict[str, Any]]:
    version = resource_version_of(live)
    return [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}]


def _entry_patches(live: Object, changes: Change) -> list[dict[str, Any]]:
    data = live.get("data") or {}
    ops: list[dict[str, Any]] = []
    for name, content in changes.items():
        path = f"/data/{name}"
        if content is not None:
            text = base64.b64encode(content).decode()
            ops.append({"op": "add", "path": path, "value": text})
        elif name in data:
            ops.append({"op": "remove", "path": path})
    return ops


def _request_annotation(live: Object, handled_request: str) -> list[dict[str, Any]]:
    if not handled_request:
        return []
    key = labels.CA_REQUEST
    if not live["metadata"].get("annotations"):
        return [{"op": "add", "path": "/metadata/annotations", "value": {key: handled_request}}]
    path = f"/metadata/annotations/{key.replace('/', '~1')}"
    return [{"op": "add", "path": path, "value": handled_request}]


async def make_acme_cache_claim(
    context: Context, resolved: Resolved, effect: MakeAcmeCacheClaim
) -> None:
    """Create the PVC for the certificates: an ACME server limits how many it issues."""
    volume = resolved.tls.acme_volume
    if volume is not None:
        await make_rwx_pvc(
            context, resolved.owner, effect.target, volume.size, volume.storage_class
        )
