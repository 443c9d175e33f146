"""Facts about the API server: its token issuer, and its addresses for pods.

Read every some minutes, once for the process, and not watched.
Source: OIDC discovery of the API server (Kubernetes API, "ServiceAccount issuer discovery").
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import orjson
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from contracts.api.cluster.network import is_ip
from contracts.records.environment import ApiEndpoints
from contracts.records.observed import TokenIssuer
from runtime.builtin_kinds import ENDPOINT_SLICE, SERVICE
from runtime.cache.cached_read import CachedReads, CachePolicy
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import Forbidden, Unauthorized
from runtime.types import Object, ObjectKey

DISCOVERY = "/.well-known/openid-configuration"
# The fixed path on the API server itself, never the advertised `jwks_uri`: that may be a host
# which only outside clients reach, and the operator opens no URL from an answer.
KEYS = "/openid/v1/jwks"
MAX_AGE = 300.0
# The Service never changes; the nodes of a control plane do, and rarely.
REREAD = 600.0
# A node of it that restarts is back before the next read, and needs its flow then.
LINGERS = 3600.0
ITSELF = ObjectKey("default", "kubernetes")
_REFUSALS = (Forbidden, Unauthorized)
# Neither a refusal nor an outage is kept: a rotated issuer is read by whoever needs it next.
_ISSUER: Final = CachePolicy(MAX_AGE, refusals=_REFUSALS)
_ADDRESSES: Final = CachePolicy(REREAD, absent=REREAD, refusals=_REFUSALS, stale=True)
_CURVES = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}


class ApiServer:
    """Facts about the API server, each read once for the process, and again after a while."""

    def __init__(self, client: Client, clock: Clock, host: str | None) -> None:
        self._client = client
        self._clock = clock
        # A host name cannot be used: policies take addresses.
        self._configured: tuple[str, ...] | None = (host,) if host and is_ip(host) else None
        self._services = CachedReads(clock, self._read_service, _ADDRESSES)
        self._endpoints = CachedReads(clock, self._read_endpoints, _ADDRESSES)
        self._issuers = CachedReads(clock, self._read_issuer, _ISSUER)
        self._last_seen: dict[str, float] = {}

    async def hosts(self) -> tuple[str, ...]:
        """Return the addresses of the API server's Service, as pods see it; () if not known."""
        if self._configured is not None:
            return self._configured
        return await self._services.value(ITSELF) or ()

    async def endpoints(self) -> ApiEndpoints:
        """Return where the API server listens behind its Service, as far as it can be read.

        Reads the object `kubernetes`, which the API server writes itself: a list by label would
        include objects of others.
        """
        return await self._endpoints.value(ITSELF) or ApiEndpoints()

    async def token_issuer(self) -> TokenIssuer | None:
        """Return the issuer of ServiceAccount tokens; None when we may not read it."""
        return await self._issuers.value(DISCOVERY)

    async def _read_service(self, key: ObjectKey) -> tuple[str, ...]:
        service = await self._client.get(SERVICE, key)
        return tuple(one for one in service["spec"].get("clusterIPs") or () if is_ip(one))

    async def _read_endpoints(self, key: ObjectKey) -> ApiEndpoints:
        now = self._clock.monotonic()
        endpoints = api_endpoints(await self._client.get(ENDPOINT_SLICE, key))
        self._last_seen |= dict.fromkeys(endpoints.addresses, now)
        self._last_seen = {one: at for one, at in self._last_seen.items() if now - at < LINGERS}
        return dataclasses.replace(endpoints, addresses=tuple(sorted(self._last_seen)))

    async def _read_issuer(self, path: str) -> TokenIssuer:
        discovery = orjson.loads(await self._client.get_raw(path))
        keys = orjson.loads(await self._client.get_raw(KEYS))
        return TokenIssuer(str(discovery["issuer"]), public_keys(keys))


def api_endpoints(live: Object) -> ApiEndpoints:
    """Read an EndpointSlice (discovery.k8s.io/v1); nothing when it names no address or port."""
    addresses = {
        address
        for endpoint in live.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        for address in endpoint.get("addresses") or ()
        if is_ip(address)
    }
    ports = [one["port"] for one in live.get("ports") or () if one.get("port")]
    if not addresses or not ports:
        return ApiEndpoints()
    return ApiEndpoints(tuple(sorted(addresses)), ports[0])


def public_keys(key_set: Mapping[str, Any]) -> tuple[str, ...]:
    """Turn a JSON Web Key Set (RFC 7517) into PEM, sorted; keys of unknown kinds are left out."""
    keys = (_public_key(key) for key in key_set.get("keys") or ())
    return tuple(sorted(_pem(key) for key in keys if key is not None))


def _public_key(key: Mapping[str, Any]) -> rsa.RSAPublicKey | ec.EllipticCurvePublicKey | None:
    if key.get("kty") == "RSA":
        return rsa.RSAPublicNumbers(e=_number(key["e"]), n=_number(key["n"])).public_key()
    curve = _CURVES.get(str(key.get("crv")))
    if key.get("kty") == "EC" and curve is not None:
        numbers = ec.EllipticCurvePublicNumbers(_number(key["x"]), _number(key["y"]), curve)
        return numbers.public_key()
    return None


def _number(text: str) -> int:
    """Decode a Base64urlUInt (RFC 7518, 2)."""
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), "big")


def _pem(key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey) -> str:
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()
