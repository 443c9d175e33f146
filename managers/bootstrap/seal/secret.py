"""Converts the keys of a Secret for a seal to facts about their format, never their content.

Pure; reads files within the limits of managers.context.secret_files. Called by
managers.cluster.observe.from_objects, which then drops the content. The facts are: whether a
value is blank; whether it is an AES-256 key, and its fingerprint; a digest of its public key, which
shows whether a certificate and a private key match.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

from contracts.records.secrets import CredentialFacts, OciProfile
from managers.context.authority_pem import UnreadableFileError
from managers.context.secret_files import (
    UNREADABLE,
    RefusedFileError,
    certificates,
    is_json_object,
    lines,
    private_key,
)

# The static seal detects the encoding of a file by its length (OpenBao 2.4.0, go-kms-wrapping).
RAW, BASE64_URL, BASE64, HEX = 32, 43, 44, 64
KEYS_MAX = 64
# A seal needs at most four files, and it may take a millisecond to parse the key in a file.
FILES_MAX = 16
FINGERPRINT_DIGITS = 16
_DOMAIN = b"openbao-operator static unseal key\0"
_PROFILE = ("user", "fingerprint", "tenancy", "region", "key_file")
_DELIMITER = re.compile("[=:]")
_COMMENT = ("#", ";")


def credential_facts(data: Mapping[str, str]) -> Mapping[str, CredentialFacts]:
    """Return the facts of a Secret's `data` (base64) by key, for the first KEYS_MAX keys."""
    facts = {}
    files = 0
    for name in sorted(data)[:KEYS_MAX]:
        try:
            content = base64.b64decode(data[name], validate=True)
        except (binascii.Error, ValueError):
            continue
        files += _is_file(content)
        facts[name] = _facts(content, files)
    return facts


def _is_file(content: bytes) -> bool:
    """Return whether a value has to be parsed, because it may be PEM, JSON or an OCI profile."""
    pem_or_profile = b"-----BEGIN " in content or b"[DEFAULT]" in content
    return pem_or_profile or content.lstrip().startswith(b"{")


def _facts(content: bytes, number: int) -> CredentialFacts:
    """Return the facts of one value. `number`: the number of files in the Secret so far."""
    key = aes_key(content)
    facts_of_value = CredentialFacts(
        size=len(content),
        blank=not content.strip(),
        trailing_newline=content.endswith(b"\n"),
        unseal_key=key is not None,
        fingerprint="" if key is None else fingerprint(key),
    )
    try:
        if number > FILES_MAX and _is_file(content):
            raise RefusedFileError(
                f"it is file {number} of its Secret, and up to {FILES_MAX} are read: remove those "
                "that the seal does not need"
            )
        certificate = _certificate(content)
        return replace(
            facts_of_value,
            certificate=certificate is not None,
            public_key=certificate or _private_key(content),
            json_object=is_json_object(content),
            oci=_oci(content),
        )
    except RefusedFileError as error:
        return replace(facts_of_value, problem=str(error))


def aes_key(content: bytes) -> bytes | None:
    """Return the 32 bytes that the static seal reads from a file; None if it rejects the file."""
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
    """Return a fingerprint of a key; the key cannot be derived from it."""
    return hashlib.sha256(_DOMAIN + key).hexdigest()[:FINGERPRINT_DIGITS]


def _certificate(content: bytes) -> str | None:
    """Return a digest of the public key of the first PEM certificate; None for other files."""
    if b"-----BEGIN CERTIFICATE-----" not in content:
        return None
    try:
        return _digest(certificates(content)[0].public_key())
    except RefusedFileError:
        raise
    except UNREADABLE:
        return None


def _private_key(content: bytes) -> str:
    """Return a digest of the public key of a private key; "" for other files."""
    if b"PRIVATE KEY-----" not in content:
        return ""
    try:
        return _digest(private_key(content).public_key())
    except RefusedFileError:
        raise
    except UNREADABLE:
        return ""


def _digest(key: PublicKeyTypes) -> str:
    public = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(public).hexdigest()


def _oci(content: bytes) -> OciProfile | None:
    """Return the profile DEFAULT of an OCI configuration; None for other files."""
    if b"[DEFAULT]" not in content:
        return None
    try:
        profile = _default_profile(lines(content))
    except UnreadableFileError:
        return None
    if profile is None:
        return None
    missing = tuple(name for name in _PROFILE if not profile.get(name))
    return OciProfile(missing, profile.get("key_file", ""))


def _default_profile(text: Iterable[str]) -> Mapping[str, str] | None:
    """Return the entries of the profile DEFAULT; None if there is no such profile.

    Not parsed with configparser, whose run time is quadratic in the length of a line.
    """
    entries: dict[str, str] | None = None
    inside = False
    for line in map(str.strip, text):
        if line.startswith("["):
            inside = line.startswith("[DEFAULT]")
            entries = {} if inside and entries is None else entries
        elif inside and entries is not None and not line.startswith(_COMMENT):
            name, *value = _DELIMITER.split(line, maxsplit=1)
            entries[name.strip().lower()] = "".join(value).strip()
    return entries
