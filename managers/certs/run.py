"""Effects of the certificate step: making the authority, issuing the server certificate."""

from __future__ import annotations

import base64

from contracts import names
from contracts.desired import Effect
from contracts.resolved import Resolved
from managers.access.context import FIELD_MANAGER, Context
from managers.access.secret_object import secret_object
from managers.certs.x509 import KeyPair, issue_server, make_authority, read
from runtime.errors import AlreadyExists, NotFound, Transient
from runtime.resources import SECRET
from runtime.types import Object, ObjectKey

CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"
CERTIFICATE, KEY = "tls.crt", "tls.key"


async def issue_authority(context: Context, resolved: Resolved, effect: Effect) -> None:
    """Create the Secret of the authority; an existing one is never replaced."""
    pair = make_authority(resolved.name, context.clock.now())
    body = secret_object(
        resolved.owner, effect.target, {CA_CERTIFICATE: pair.certificate, CA_KEY: pair.key}
    )
    try:
        live = await context.client.create(SECRET, body, field_manager=FIELD_MANAGER)
    except AlreadyExists:
        context.secrets.drop(ObjectKey(resolved.namespace, effect.target))
        return
    context.secrets.written(live)


async def issue_server_certificate(context: Context, resolved: Resolved, effect: Effect) -> None:
    """Issue a server certificate and apply its Secret.

    Raises Transient when the authority went away or bad since it was observed.
    """
    authority = await read_authority(context, resolved)
    pair = issue_server(
        authority,
        resolved.certificate_names,
        resolved.certificate_addresses,
        context.clock.now(),
    )
    data = {CERTIFICATE: pair.certificate, KEY: pair.key, CA_CERTIFICATE: authority.certificate}
    body = secret_object(resolved.owner, effect.target, data, kind="kubernetes.io/tls")
    # Forced: the plan proved that the Secret is ours or absent, and its content is only ours.
    result = await context.client.apply(SECRET, body, field_manager=FIELD_MANAGER, force=True)
    context.secrets.written(result.object)


async def read_authority(context: Context, resolved: Resolved) -> KeyPair:
    """Read the authority with its key, for one use."""
    key = ObjectKey(resolved.namespace, names.tls_ca_secret(resolved.name))
    try:
        pair = key_pair(await context.client.get(SECRET, key), CA_CERTIFICATE, CA_KEY)
        read(pair)
    except (NotFound, ValueError) as error:
        context.secrets.drop(key)
        raise Transient(f"Secret {key} cannot be used to sign: {error}") from error
    return pair


def key_pair(secret: Object, certificate: str, key: str) -> KeyPair:
    """Take certificate and key out of a Secret; raises ValueError when one is not there."""
    data = secret.get("data") or {}
    missing = [name for name in (certificate, key) if not data.get(name)]
    if missing:
        raise ValueError(f"{' and '.join(missing)} missing")
    return KeyPair(base64.b64decode(data[certificate]), base64.b64decode(data[key]))
