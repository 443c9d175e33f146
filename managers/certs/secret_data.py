"""The entries of the Secrets with certificates. Pure.

Secret <c>-tls-ca has the current, the next and the former CA; `ca.crt` contains all trusted CAs,
the current one first. Secret <c>-tls-server has the files that a pod mounts, never a key of a CA.
"""

from __future__ import annotations

from collections.abc import Mapping

from managers.certs.key_pair import KeyPair

CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"
NEXT_CERTIFICATE, NEXT_KEY = "next.crt", "next.key"
FORMER_CERTIFICATE, FORMER_KEY = "former.crt", "former.key"
CERTIFICATE, KEY = "tls.crt", "tls.key"
SERVER_SECRET_TYPE = "kubernetes.io/tls"  # noqa: S105 - the type of a Secret


def pair(data: Mapping[str, bytes], certificate: str, key: str) -> KeyPair:
    """Return the certificate and the key with these names. Raises ValueError if one is missing."""
    missing = [name for name in (certificate, key) if not data.get(name)]
    if missing:
        raise ValueError(f"{' and '.join(missing)} missing")
    return KeyPair(data[certificate], data[key], (certificate, key))


def bundle(*certificates: bytes) -> bytes:
    """Concatenate PEM certificates, in their order."""
    return b"".join(certificate.strip() + b"\n" for certificate in certificates)
