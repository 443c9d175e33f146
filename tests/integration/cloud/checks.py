"""Verifies tokens (RFC 7515) and requests to S3 (AWS signature version 4) as a cloud does.

Shares no code with the product.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from runtime.clock import SystemClock


def claims_of(token: str, public: str) -> dict[str, Any] | None:
    """The claims of a valid token that this key signed; None for any other."""
    signed, _, signature = token.rpartition(".")
    key = serialization.load_pem_public_key(public.encode())
    if not isinstance(key, rsa.RSAPublicKey):
        raise TypeError(type(key).__name__)
    try:
        key.verify(_decode(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        claims: dict[str, Any] = json.loads(_decode(signed.partition(".")[2]))
    except (InvalidSignature, ValueError):
        return None
    return claims if claims.get("exp", 0) > SystemClock().now().timestamp() else None


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def access_key_of(headers: Mapping[str, str]) -> str:
    """The access key in a request to S3; "" for none."""
    _, _, rest = headers.get("authorization", "").partition("Credential=")
    return rest.partition("/")[0]


def is_signed_by(
    secret: str, method: str, target: str, headers: Mapping[str, str], body: bytes
) -> bool:
    """Whether a request to S3 was signed with this secret key; header names are in lower case."""
    scheme, _, fields = headers.get("authorization", "").partition(" ")
    parts = dict(part.strip().partition("=")[::2] for part in fields.split(","))
    if scheme != "AWS4-HMAC-SHA256" or "Credential" not in parts:
        return False
    payload = headers.get("x-amz-content-sha256", "")
    if payload not in ("UNSIGNED-PAYLOAD", hashlib.sha256(body).hexdigest()):
        return False
    url = urlsplit(target)
    query = sorted((quote(k, ""), quote(v, "")) for k, v in parse_qsl(url.query, True))
    signed = parts["SignedHeaders"].split(";")
    canonical = "\n".join(
        (
            method,
            url.path,
            "&".join(f"{name}={value}" for name, value in query),
            *(f"{name}:{headers.get(name, '').strip()}" for name in signed),
            "",
            parts["SignedHeaders"],
            payload,
        )
    )
    scope = parts["Credential"].partition("/")[2]
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"{scheme}\n{headers.get('x-amz-date', '')}\n{scope}\n{digest}"
    key = f"AWS4{secret}".encode()
    for step in (*scope.split("/"), text):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return hmac.compare_digest(key.hex(), parts["Signature"])
