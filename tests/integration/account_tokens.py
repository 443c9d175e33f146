"""ServiceAccount tokens as signed by the API server, for servers that trust the key of the test."""

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from runtime.clock import SystemClock

AUDIENCE = "openbao-internal"
ISSUER = "https://kubernetes.default.svc.cluster.local"
OPERATOR = "system:serviceaccount:openbao-operator-system:openbao-operator-controller"


def _new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass(frozen=True)
class Signer:
    """Signs tokens as the API server does."""

    key: rsa.RSAPrivateKey = field(default_factory=_new_key)

    @property
    def public(self) -> str:
        """The PEM of the key that verifies its tokens."""
        return (
            self.key.public_key()
            .public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            .decode()
        )

    def token(self, subject: str = OPERATOR, **claims: Any) -> str:
        """A token that is valid for ten minutes; `claims` replaces or adds claims."""
        now = int(SystemClock().now().timestamp())
        body = {
            "iss": ISSUER,
            "aud": [AUDIENCE],
            "sub": subject,
            "iat": now,
            "nbf": now,
            "exp": now + 600,
            **claims,
        }
        parts = [_base64(json.dumps(part).encode()) for part in ({"alg": "RS256"}, body)]
        signed = ".".join(parts).encode()
        signature = self.key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
        return f"{signed.decode()}.{_base64(signature)}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
