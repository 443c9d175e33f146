"""What the API server says of itself: who signs its tokens, and where pods reach it.

Asked once per process; the issuer's keys again for each cluster that is about to be made.
Source: OIDC discovery of the API server (Kubernetes API, "ServiceAccount issuer discovery").
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import orjson
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from contracts.api.network import is_ip
from contracts.observed import TokenIssuer
from runtime.client import Client
from runtime.clock import Clock
from runtime.errors import Forbidden, NotFound, Unauthorized
from runtime.resources import SERVICE
from runtime.types import ObjectKey

DISCOVERY = "/.well-known/openid-configuration"
# The fixed path on the API server itself, never the advertised `jwks_uri`: that may be a host
# which only the outside reaches, and the operator opens no URL that it was told.
KEYS = "/openid/v1/jwks"
MAX_AGE = 300.0
_CURVES = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}


class ApiServer:
    """Facts about the API server, kept for `MAX_AGE` seconds."""

    def __init__(self, client: Client, clock: Clock, host: str | None) -> None:
        self._client = client
        self._clock = clock
        # A name tells nothing: policies take addresses.
        self._hosts: tuple[str, ...] | None = (host,) if host and is_ip(host) else None
        self._issuer: TokenIssuer | None = None
        self._asked = 0.0

    async def hosts(self) -> tuple[str, ...]:
        """Return the addresses of the API server's Service, as pods see it."""
        if self._hosts is None:
            service = await self._client.get(SERVICE, ObjectKey("default", "kubernetes"))
            self._hosts = tuple(service["spec"].get("clusterIPs") or ())
        return self._hosts

    async def token_issuer(self) -> TokenIssuer | None:
        """Return who signs ServiceAccount tokens; None when the API server does not tell us."""
        now = self._clock.monotonic()
        if self._issuer is not None and now - self._asked < MAX_AGE:
            return self._issuer
        try:
            discovery = orjson.loads(await self._client.get_raw(DISCOVERY))
            keys = orjson.loads(await self._client.get_raw(KEYS))
        except (Forbidden, NotFound, Unauthorized):
            return None
        self._issuer = TokenIssuer(str(discovery["issuer"]), public_keys(keys))
        self._asked = now
        return self._issuer


def public_keys(key_set: Mapping[str, Any]) -> tuple[str, ...]:
    """Turn a JSON Web Key Set (RFC 7517) into PEM, sorted; keys of unknown kinds are left out."""
    found = (_public_key(key) for key in key_set.get("keys") or ())
    return tuple(sorted(_pem(key) for key in found if key is not None))


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
