"""What may be known of the keys of a Secret for a seal: shapes, never content.

Pure; uses cryptography to read certificates and keys. Called by managers.cluster.facts when a
Secret was read with its content, which is dropped right after. Of a secret there remain: whether it
is blank, whether it has the size of an AES-256 key and then a fingerprint, and which public key
belongs to it, so that a pair can be told from two files that do not fit.
"""

from __future__ import annotations

import base64
import binascii
import configparser
import hashlib
import json
from collections.abc import Mapping

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from contracts.secret_facts import CredentialFacts, OciProfile

# How the static seal reads a file, by its length (OpenBao 2.4.0, go-kms-wrapping static).
RAW, BASE64_URL, BASE64, HEX = 32, 43, 44, 64
KEYS_MAX = 64
FINGERPRINT_DIGITS = 16
_DOMAIN = b"openbao-operator static unseal key\0"
_PROFILE = ("user", "fingerprint", "tenancy", "region", "key_file")


def credential_facts(data: Mapping[str, str]) -> Mapping[str, CredentialFacts]:
    """Project `data` of a Secret (base64) to facts by key; what is beyond KEYS_MAX is left out."""
    facts = {}
    for name in sorted(data)[:KEYS_MAX]:
        try:
            content = base64.b64decode(data[name], validate=True)
        except (binascii.Error, ValueError):
            continue
        facts[name] = _facts(content)
    return facts


def _facts(content: bytes) -> CredentialFacts:
    key = aes_key(content)
    certificate = _certificate(content)
    return CredentialFacts(
        size=len(content),
        blank=not content.strip(),
        trailing_newline=content.endswith(b"\n"),
        unseal_key=key is not None,
        fingerprint="" if key is None else fingerprint(key),
        certificate=certificate is not None,
        public_key=certificate or _private_key(content),
        json_object=_is_json_object(content),
        oci=_oci(content),
    )


def aes_key(content: bytes) -> bytes | None:
    """The 32 bytes that the static seal makes of a file; None when it would refuse it."""
    try:
        match len(content):
            case 32:
                return content
            case 43:
                key = base64.urlsafe_b64decode(content + b"=")
            case 44:
                key = base64.b64decode(content, validate=True)
            case 64:
                key = binascii.unhexlify(content)
            case _:
                return None
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == RAW else None


def fingerprint(key: bytes) -> str:
    """Name 32 random bytes so that nobody can get back from the name to them."""
    return hashlib.sha256(_DOMAIN + key).hexdigest()[:FINGERPRINT_DIGITS]


def _certificate(content: bytes) -> str | None:
    """The public key of the first certificate of a PEM file, as a digest; None for other files."""
    if b"-----BEGIN CERTIFICATE-----" not in content:
        return None
    try:
        first, *_ = x509.load_pem_x509_certificates(content)
        return _digest(first.public_key().public_bytes(_DER, _SPKI))
    except ValueError:
        return None


_DER = serialization.Encoding.DER
_SPKI = serialization.PublicFormat.SubjectPublicKeyInfo


def _private_key(content: bytes) -> str:
    """The public key that belongs to a private one, as a digest; "" for other files."""
    if b"PRIVATE KEY-----" not in content:
        return ""
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError):
        return ""
    return _digest(key.public_key().public_bytes(_DER, _SPKI))


def _digest(public: bytes) -> str:
    return hashlib.sha256(public).hexdigest()


def _is_json_object(content: bytes) -> bool:
    if not content.lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(content), dict)
    except ValueError:
        return False


def _oci(content: bytes) -> OciProfile | None:
    """The profile DEFAULT of an OCI configuration; None when the file is none."""
    if b"[DEFAULT]" not in content:
        return None
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(content.decode())
    except (configparser.Error, UnicodeDecodeError):
        return None
    found = parser.defaults()
    missing = tuple(name for name in _PROFILE if not found.get(name, "").strip())
    return OciProfile(missing, found.get("key_file", "").strip())
