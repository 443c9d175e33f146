"""Facts about the API server: its token issuer, and its addresses for pods.

They are read on demand and cached for some minutes, and not watched. The issuer is read from the
OIDC discovery of the API server (Kubernetes documentation, "ServiceAccount issuer discovery").
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import orjson
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from contracts.ip_address import is_ip
from contracts.records.environment import ApiEndpoints
from contracts.records.observed import TokenIssuer
from runtime.builtin_kinds import ENDPOINT_SLICE, SERVICE
from runtime.cache.cached_read import CachedReads, CachePolicy
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import Forbidden, Unauthorized
from runtime.types import Object, ObjectKey

DISCOVERY = "/.well-known/openid-configuration"
# The fixed path on the API server, never the advertised `jwks_uri`: the host in it may be reachable
# only from outside of the cluster, and the operator opens no URL of a response.
KEYS = "/openid/v1/jwks"
MAX_AGE = 300.0
# The Service never changes, and control plane nodes rarely do.
RECHECK = 600.0
# A control plane node that restarts must be reachable before the next read.
ADDRESS_TTL = 3600.0
KUBERNETES = ObjectKey("default", "kubernetes")
_REFUSALS = (Forbidden, Unauthorized)
# Neither a refusal nor an outage is cached, so that the next caller reads a rotated issuer.
_ISSUER: Final = CachePolicy(MAX_AGE, refusals=_REFUSALS)
_ADDRESSES: Final = CachePolicy(
    RECHECK, negative_ttl=RECHECK, refusals=_REFUSALS, stale_if_error=True
)
_CURVES = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}


class ApiServer:
    """Reads facts about the API server, and caches each for all callers."""

    def __init__(self, client: Client, clock: Clock, host: str | None) -> None:
        self._client = client
        self._clock = clock
        # A host name is not used: network policies require addresses.
        self._configured: tuple[str, ...] | None = (host,) if host and is_ip(host) else None
        self._services = CachedReads(clock, self._read_service, _ADDRESSES)
        self._endpoints = CachedReads(clock, self._read_endpoints, _ADDRESSES)
        self._issuers = CachedReads(clock, self._read_issuer, _ISSUER)
        self._last_seen: dict[str, float] = {}

    async def hosts(self) -> tuple[str, ...]:
        """Return the cluster IPs of the Service of the API server; () if they are unknown."""
        if self._configured is not None:
            return self._configured
        return await self._services.value(KUBERNETES) or ()

    async def endpoints(self) -> ApiEndpoints:
        """Return the endpoints of the API server behind its Service; empty if they are unreadable.

        Reads the EndpointSlice `kubernetes`, which the API server writes. A list by label would
        include objects of other writers.
        """
        return await self._endpoints.value(KUBERNETES) or ApiEndpoints()

    async def token_issuer(self) -> TokenIssuer | None:
        """Return the issuer of ServiceAccount tokens; None without the right to read it."""
        return await self._issuers.value(DISCOVERY)

    async def _read_service(self, key: ObjectKey) -> tuple[str, ...]:
        service = await self._client.get(SERVICE, key)
        return tuple(ip for ip in service["spec"].get("clusterIPs") or () if is_ip(ip))

    async def _read_endpoints(self, key: ObjectKey) -> ApiEndpoints:
        now = self._clock.monotonic()
        endpoints = api_endpoints(await self._client.get(ENDPOINT_SLICE, key))
        self._last_seen |= dict.fromkeys(endpoints.addresses, now)
        self._last_seen = {
            address: seen for address, seen in self._last_seen.items() if now - seen < ADDRESS_TTL
        }
        return dataclasses.replace(endpoints, addresses=tuple(sorted(self._last_seen)))

    async def _read_issuer(self, path: str) -> TokenIssuer:
        discovery = orjson.loads(await self._client.get_raw(path))
        keys = orjson.loads(await self._client.get_raw(KEYS))
        return TokenIssuer(str(discovery["issuer"]), public_keys(keys))


def api_endpoints(live: Object) -> ApiEndpoints:
    """Parse an EndpointSlice (discovery.k8s.io/v1); empty if it has no address or no port."""
    addresses = {
        address
        for endpoint in live.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        for address in endpoint.get("addresses") or ()
        if is_ip(address)
    }
    ports = [port["port"] for port in live.get("ports") or () if port.get("port")]
    if not addresses or not ports:
        return ApiEndpoints()
    return ApiEndpoints(tuple(sorted(addresses)), ports[0])


def public_keys(key_set: Mapping[str, Any]) -> tuple[str, ...]:
    """Convert a JSON Web Key Set (RFC 7517) to sorted PEM keys; ignores keys of unknown kinds."""
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
