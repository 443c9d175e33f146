"""The entries of the Secrets with certificates. Pure.

Secret <c>-tls-ca: the authority that signs, the one that signs next, and the one that signed
before; `ca.crt` holds all that are trusted, the signing one first. Secret <c>-tls-server: what a
pod mounts, and never a key of an authority.
"""

from __future__ import annotations

from collections.abc import Mapping

from managers.certs.x509 import KeyPair

CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"
NEXT_CERTIFICATE, NEXT_KEY = "next.crt", "next.key"
FORMER_CERTIFICATE, FORMER_KEY = "former.crt", "former.key"
CERTIFICATE, KEY = "tls.crt", "tls.key"


def pair(data: Mapping[str, bytes], certificate: str, key: str) -> KeyPair:
    """Take certificate and key out of decoded data; raises ValueError when one is missing."""
    missing = [name for name in (certificate, key) if not data.get(name)]
    if missing:
        raise ValueError(f"{' and '.join(missing)} missing")
    return KeyPair(data[certificate], data[key], (certificate, key))


def bundle(*certificates: bytes) -> bytes:
    """Put PEM certificates behind each other, in their order."""
    return b"".join(one.strip() + b"\n" for one in certificates)
