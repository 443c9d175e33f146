"""Reads OpenPGP public keys, and the periods in which a server can encrypt to them.

Uses contracts.api.values.openpgp_parts, openpgp_packets and openpgp_signature. Called by the rules
about recovery keys, and by managers.recovery_keys, which delivers the shares: the server names each
share by the fingerprint of its encryption key.

The key selection follows that of the server (OpenBao 2.4.0 to 2.7, helper/pgpkeys, which encrypts
with ProtonMail/go-crypto, Entity.EncryptionKey): a subkey with a key flag for encrypting messages
(0x04; the flag for encrypting storage, 0x08, is not sufficient), with an algorithm that can
encrypt, with a binding signature, not revoked and not expired; otherwise the primary key with the
same requirements. A key without such a part at any time is rejected. The result has the validity
period of each part, because contracts has no clock: managers.recovery_keys.decide compares it with
the clock.

Not checked: signatures are not verified, only their 16-bit checksums are compared, so a forged
signature can be accepted here and rejected by the server; whether the numbers of a key are points
of its curve or primes; and whether the private key exists. All revocations are respected, whereas
the server ignores an expired one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from contracts.api.values.openpgp_packets import NotAKeyError, each_packet, packets_of
from contracts.api.values.openpgp_parts import (
    ENCRYPTING,
    PUBLIC_KEY,
    RSA,
    RSA_MINIMUM,
    Certificate,
    KeyPart,
    Subkey,
    fingerprint_of,
    read_certificate,
)
from contracts.api.values.openpgp_signature import Signature

__all__ = ["EncryptionKey", "NotAKeyError", "PublicKey", "read_fingerprint", "read_public_key"]

_MESSAGES = 0x04
_FOR_EVER = 2**63


@dataclass(frozen=True, slots=True)
class EncryptionKey:
    """A part that the server may encrypt to, with its validity period in seconds since 1970,
    inclusive."""

    name: str
    since: int
    until: int | None
    """None: it does not expire."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key to which a share can be encrypted."""

    fingerprint: str
    """Lower-case hex."""
    parts: tuple[EncryptionKey, ...]
    """At least one."""


def read_public_key(text: str) -> PublicKey:
    """Read the base64 of a binary key, as `gpg --export | base64` prints it.

    Raises NotAKeyError for an invalid key, for a private key, and for a key that the server could
    not encrypt to at any time. Takes at most a few milliseconds for any text.
    """
    certificate = read_certificate(packets_of(text))
    key = certificate.key
    main = _main_signature(certificate)
    parts: list[EncryptionKey] = []
    problems: list[str] = []
    for subkey in certificate.subkeys:
        binding = _newest(subkey.bindings)
        if binding is None:
            raise NotAKeyError(
                f"subkey {subkey.key.key_id} of {key.key_id} is bound by no signature"
            )
        problem = _problem(subkey, binding)
        name = f"subkey {subkey.key.key_id} of {key.key_id}"
        if problem:
            problems.append(f"{name} {problem}")
        else:
            _check_size(name, subkey.key)
            parts.append(_usable(name, (key, main), (subkey.key, binding)))
    if key.algorithm in ENCRYPTING and (main.flags or 0) & _MESSAGES:
        name = f"key {key.key_id}"
        _check_size(name, key)
        parts.append(_usable(name, (key, main)))
    if not parts:
        raise NotAKeyError(problems[-1] if problems else _no_part(key, main))
    return PublicKey(key.fingerprint.lower(), tuple(parts))


def read_fingerprint(text: str) -> str:
    """Return the fingerprint in lower-case hex of a key that may not be usable; "" for no key."""
    try:
        first = next(each_packet(text), None)
    except NotAKeyError:
        return ""
    if first is None or first.tag != PUBLIC_KEY:
        return ""
    return fingerprint_of(first.body).lower()


def _main_signature(certificate: Certificate) -> Signature:
    """Choose the signature with the lifetime and the flags of the primary key.

    For version 4 it is a certification of a user ID, in the order: not revoked, marked as primary,
    newest. If several are equal, the server may use any of them, so this returns the one that
    expires first.
    """
    key = certificate.key
    if key.version == 6:
        newest = _newest(certificate.direct)
        if newest is None:
            raise NotAKeyError(f"key {key.key_id} has no direct signature of its own")
        return newest
    chosen: list[tuple[tuple[int, bool, int], Signature | None]] = []
    for user_id in certificate.user_ids.values():
        newest = _newest(user_id.certifications)
        rank = (
            user_id.revoked,
            not (newest and newest.primary),
            -(newest.created if newest else 0),
        )
        chosen.append((rank, newest))
    if not chosen:
        raise NotAKeyError(f"key {key.key_id} has no user ID that it signed itself")
    best = min(rank for rank, _ in chosen)
    if best[0]:
        raise NotAKeyError(f"each user ID of key {key.key_id} is revoked")
    equal = [signature for rank, signature in chosen if rank == best and signature is not None]
    return min(
        equal,
        key=lambda signature: (
            _usable("", (key, signature)).until or _FOR_EVER,
            signature.flags or 0,
        ),
    )


def _newest(signatures: list[Signature]) -> Signature | None:
    """Return the newest signature; the first one if several are equal, as the server does."""
    return max(signatures, key=lambda signature: signature.created, default=None)


def _problem(subkey: Subkey, binding: Signature) -> str:
    """Return why the server never encrypts to a subkey; "" if it may."""
    if subkey.revoked:
        return "is revoked"
    if subkey.key.algorithm not in ENCRYPTING:
        return f"cannot encrypt (algorithm {subkey.key.algorithm})"
    if binding.flags is None:
        return "has no key flags"
    if not binding.flags & _MESSAGES:
        return f"has key flags {binding.flags:#04x} without 0x04"
    return ""


def _no_part(key: KeyPart, main: Signature) -> str:
    if key.algorithm in ENCRYPTING:
        return f"key {key.key_id} has key flags {main.flags or 0:#04x} without 0x04"
    return f"key {key.key_id} has no part that can encrypt"


def _check_size(name: str, key: KeyPart) -> None:
    if key.algorithm in RSA and key.bits < RSA_MINIMUM:
        raise NotAKeyError(f"{name} is RSA of {key.bits} bits, less than {RSA_MINIMUM}")


def _usable(name: str, *steps: tuple[KeyPart, Signature]) -> EncryptionKey:
    """Return the period in which all of these keys and signatures are valid."""
    since = max(max(key.created, signature.created) for key, signature in steps)
    until = min((end for step in steps for end in _ends(*step)), default=None)
    return EncryptionKey(name, since, until)


def _ends(key: KeyPart, signature: Signature) -> Iterator[int]:
    if signature.key_lifetime:
        yield key.created + signature.key_lifetime
    if signature.lifetime:
        yield signature.created + signature.lifetime
