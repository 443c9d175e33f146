"""Which part of a public key the server encrypts to, and why it refuses other keys.

The keys of tests.contracts.api.pgp_keys were given to go-crypto 1.3.0 and 1.4.1, which OpenBao is
built with: what is taken and refused here is what they took and refused.
"""

from dataclasses import replace

import pytest

from contracts.api.values.openpgp import NotAKeyError, PublicKey, read_fingerprint, read_public_key
from tests.contracts.api.pgp_builder import (
    ATTRIBUTE,
    BINDING,
    BOUND,
    BRAINPOOL_T,
    CERTIFICATION_REVOKED,
    CERTIFIES,
    CURVE25519,
    DIRECT,
    ECDH,
    ED25519,
    EDDSA,
    ENCRYPTS,
    KEY,
    KEY_REVOKED,
    MARKER,
    MESSAGES,
    OWNER,
    PRIMARY,
    RSA,
    SELF,
    SIGNATURE,
    SIGNS,
    STORAGE,
    SUBKEY,
    SUBKEY_REVOKED,
    TRUST,
    WHOLE,
    X25519,
    Packet,
    Part,
    Sig,
    about_key,
    ecdh_on,
    integer,
    subkey,
    subpacket,
    text,
    user_id,
    whole_key,
)
from tests.contracts.api.pgp_keys import BAD, GOOD, MADE

START: Packet = (KEY, PRIMARY.body)
LONE = Part(RSA)
LONE_SELF = Sig(0x13, MESSAGES | SIGNS, issuer=LONE, algorithm=RSA)


def refusal(packets: list[Packet]) -> str:
    with pytest.raises(NotAKeyError) as refused:
        read_public_key(text(*packets))
    return str(refused.value)


def usable(packets: list[Packet]) -> PublicKey:
    return read_public_key(text(*packets))


@pytest.mark.parametrize(("key", "fingerprint", "part"), GOOD.values(), ids=GOOD.keys())
def test_a_key_that_the_server_encrypts_to_is_accepted(
    key: str, fingerprint: str, part: str
) -> None:
    read = read_public_key(key)
    assert read.fingerprint == fingerprint
    assert [part in item.name and item.since == MADE for item in read.parts] == [True]


@pytest.mark.parametrize(("key", "words"), BAD.values(), ids=BAD.keys())
def test_a_key_that_the_server_cannot_encrypt_to_is_refused(key: str, words: str) -> None:
    with pytest.raises(NotAKeyError) as refused:
        read_public_key(key)
    assert str(refused.value) == words


def _lone(flags: int | None) -> list[Packet]:
    return [(KEY, LONE.body), *user_id(replace(LONE_SELF, flags=flags), key=LONE)]


NAME = f"subkey {ENCRYPTS.key_id} of {PRIMARY.key_id}"
SMALL = Part(RSA, material=integer(768) + integer(17))
ELSEWHERE = Part(ECDH, material=ecdh_on(BRAINPOOL_T))
# sentence: (packets, words of the refusal)
REFUSED: dict[str, tuple[list[Packet], str]] = {
    "an algorithm that cannot encrypt": (
        [START, *OWNER, *subkey(Part(EDDSA), replace(BOUND, flags=MESSAGES))],
        "cannot encrypt (algorithm 22)",
    ),
    "a subkey to encrypt storage alone": (
        whole_key(flags=STORAGE), f"{NAME} has key flags 0x08 without 0x04",
    ),
    "a subkey without usage flags": (whole_key(flags=None), f"{NAME} has no key flags"),
    "RSA that may only sign": (_lone(SIGNS), f"key {LONE.key_id} has key flags 0x02 without 0x04"),
    "RSA without usage flags": (_lone(None), "has key flags 0x00 without 0x04"),
    "RSA that is too short": (whole_key(SMALL), "is RSA of 768 bits, less than 1024"),
    "a curve that the server does not know": (whole_key(ELSEWHERE), "uses a curve that"),
    "an algorithm that the server does not know": (
        [START, *OWNER, *subkey(Part(99, material=b"?"), BOUND)], "uses algorithm 99",
    ),
    "a key that GnuPG makes of version 5": (
        [(KEY, replace(PRIMARY, version=5).body)], "a key of version 5; the server reads 4 and 6",
    ),
    "a revoked subkey": (
        [START, *OWNER, *subkey(ENCRYPTS, Sig(SUBKEY_REVOKED), BOUND)], f"{NAME} is revoked",
    ),
    "a revocation of the key": (
        [START, about_key(Sig(KEY_REVOKED)), *WHOLE[1:]], f"key {PRIMARY.key_id} is revoked",
    ),
    "a revocation at the end": (
        [*WHOLE, about_key(Sig(KEY_REVOKED))], f"key {PRIMARY.key_id} is revoked",
    ),
    "a user ID that is revoked": (
        [START, *user_id(SELF, Sig(CERTIFICATION_REVOKED)), *subkey(ENCRYPTS, BOUND)],
        f"each user ID of key {PRIMARY.key_id} is revoked",
    ),
    "no user ID": ([START, *subkey(ENCRYPTS, BOUND)], "has no user ID that it signed itself"),
    "a user ID with only a foreign signature": (
        [START, *user_id(replace(SELF, issuer=LONE)), *subkey(ENCRYPTS, BOUND)],
        "has no user ID that it signed itself",
    ),
    "a subkey that nothing binds": (
        [START, *OWNER, *subkey(ENCRYPTS)], f"{NAME} is bound by no signature",
    ),
    "a binding that the server ignores: version 3": (
        whole_key(version=3), f"{NAME} is bound by no signature",
    ),
    "a binding that the server ignores: MD5": (
        whole_key(digest=1), f"{NAME} is bound by no signature",
    ),
    "a binding that the server ignores: a critical subpacket": (
        whole_key(extra=subpacket(0x80 | 99, b"")), f"{NAME} is bound by no signature",
    ),
    "a binding that is for its owner alone": (
        whole_key(extra=subpacket(4, b"\0")), f"{NAME} is bound by no signature",
    ),
    "a subkey that signs, and did not sign the key": (
        whole_key(flags=MESSAGES | SIGNS), "may sign, and has not signed the key",
    ),
    "a signature that is about something else": (
        whole_key(mark=b"\0\0"), f"a signature of key {PRIMARY.key_id} is about something else",
    ),
    "a subkey of another key": (
        [START, *OWNER, *subkey(ENCRYPTS, BOUND, key=LONE)], "is about something else",
    ),
    "a signature after a user ID that is not about it": (
        [START, *OWNER, about_key(Sig(BINDING))], "0x18 is out of place after a user ID",
    ),
    "a signature after a subkey that is not about it": (
        [*WHOLE, about_key(Sig(DIRECT))], "0x1f is out of place after a subkey",
    ),
    "two keys": ([*WHOLE, *WHOLE], "it holds several keys, and the server takes the first"),
    "a packet of a message": ([*WHOLE, (9, b"")], "a packet of type 9, which no public key has"),
    "an invalid marker": ([*WHOLE, (MARKER, b"PG")], "a marker packet in it is malformed"),
    "a key with more than its numbers": (
        [(KEY, PRIMARY.body + b"!"), *WHOLE[1:]], "a key in it is malformed",
    ),
    "a signature with more than its numbers": (
        [*WHOLE[:-1], (SIGNATURE, WHOLE[-1][1] + b"!")], "a signature in it is malformed",
    ),
    "a signature that is cut short": (
        [*WHOLE[:-1], (SIGNATURE, WHOLE[-1][1][:-1])], "it is cut short",
    ),
    "a signature without a time": (whole_key(created=None), "a signature in it is malformed"),
    "a statement of the wrong length": (
        whole_key(extra=subpacket(9, b"\0")), "a signature in it is malformed",
    ),
    "an empty statement": (whole_key(extra=b"\0"), "a signature in it is malformed"),
    "the key of an algorithm that cannot sign": (
        [(KEY, ENCRYPTS.body), *WHOLE[1:]], f"key {ENCRYPTS.key_id} cannot sign its own parts",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("packets", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_packets_without_a_usable_key_are_refused_with_the_reason(
    packets: list[Packet], words: str
) -> None:
    assert words in refusal(packets)


OTHER = Part(ECDH, created=MADE + 1)
# sentence: packets of which one subkey or the key itself can be encrypted to
TAKEN: dict[str, list[Packet]] = {
    "the usual one": WHOLE,
    "a subkey that may sign, too, and signed the key": whole_key(
        flags=MESSAGES | SIGNS, crossed=True
    ),
    "an issuer that is named by its key id": [
        START, *user_id(replace(SELF, by_id=True)), *subkey(ENCRYPTS, BOUND),
    ],
    "RSA that does both": _lone(MESSAGES | CERTIFIES),
    "a revoked subkey and a valid one": [
        *WHOLE[:3], *subkey(OTHER, Sig(SUBKEY_REVOKED), BOUND), *subkey(ENCRYPTS, BOUND),
    ],
    "a newer binding that allows it": [
        START, *OWNER,
        *subkey(ENCRYPTS, replace(BOUND, flags=0), replace(BOUND, created=MADE + 1)),
    ],
    "a revoked user ID and a valid one": [
        START, *user_id(Sig(CERTIFICATION_REVOKED), SELF, name=b"old"), *OWNER,
        *subkey(ENCRYPTS, BOUND),
    ],
    "a foreign signature": [
        START, *user_id(SELF, replace(SELF, issuer=LONE, mark=b"\0\0")), *subkey(ENCRYPTS, BOUND),
    ],
    "a signature that the server ignores": [
        START, *user_id(SELF, replace(SELF, version=3)), *subkey(ENCRYPTS, BOUND),
    ],
    "a direct signature": [START, about_key(Sig(DIRECT)), *WHOLE[1:]],
    "a photograph and a signature of it": [
        START, *OWNER, (ATTRIBUTE, subpacket(1, b"...")), about_key(SELF),
        *subkey(ENCRYPTS, BOUND),
    ],
    "markers, trust and unknown packets": [
        START, (MARKER, b"PGP"), *OWNER[:1], (TRUST, b"?"), *OWNER[1:], (60, b"?"), *WHOLE[3:],
    ],
    "a statement of two octets of length": whole_key(
        extra=b"\xff" + (300).to_bytes(4, "big") + bytes((100,)) + bytes(299)
    ),
    "a curve by another name": whole_key(Part(ECDH, material=ecdh_on(CURVE25519))),
}  # fmt: skip


@pytest.mark.parametrize("packets", TAKEN.values(), ids=TAKEN.keys())
def test_packets_with_a_usable_key_are_accepted(packets: list[Packet]) -> None:
    read = usable(packets)
    assert len(read.parts) == 1
    assert (
        read.fingerprint
        == Part.fingerprint.fget(  # type: ignore[attr-defined]
            LONE if packets[0][1] == LONE.body else PRIMARY
        ).lower()
    )


NEW = Part(ED25519, version=6)
NEW_SUBKEY = Part(X25519, version=6)


def _new(*direct: Sig) -> list[Packet]:
    binding = Sig(BINDING, MESSAGES, issuer=NEW, algorithm=ED25519, version=6)
    signatures = [about_key(item, NEW) for item in direct]
    return [(KEY, NEW.body), *signatures, *subkey(NEW_SUBKEY, binding, key=NEW)]


def test_a_key_of_version_6_needs_a_direct_signature() -> None:
    direct = Sig(DIRECT, CERTIFIES, issuer=NEW, algorithm=ED25519, version=6)
    read = usable(_new(direct, replace(direct, created=MADE + 5, key_lifetime=60)))
    assert read.fingerprint == NEW.fingerprint.lower()
    (part,) = read.parts
    assert part.name == f"subkey {NEW_SUBKEY.key_id} of {NEW.key_id}"
    assert (part.since, part.until) == (MADE + 5, MADE + 60)
    assert "has no direct signature of its own" in refusal(_new())
    assert "has no direct signature of its own" in refusal(_new(replace(direct, issuer=PRIMARY)))


# sentence: (packets, seconds after MADE from which on, seconds until which)
TIMES: dict[str, tuple[list[Packet], int, int | None]] = {
    "no expiry": (WHOLE, 0, None),
    "the subkey ends": (whole_key(key_lifetime=50), 0, 50),
    "its binding ends": (whole_key(lifetime=40, key_lifetime=50), 0, 40),
    "its binding ends, counted from its own beginning": (
        whole_key(created=MADE + 7, lifetime=40), 7, 47,
    ),
    "the subkey was made later": (whole_key(Part(ECDH, created=MADE + 9), key_lifetime=50), 9, 59),
    "the key ends": (
        [START, *user_id(replace(SELF, key_lifetime=30)), *subkey(ENCRYPTS, BOUND)], 0, 30,
    ),
    "the newest self-signature counts": (
        [
            START,
            *user_id(replace(SELF, key_lifetime=30), replace(SELF, created=MADE + 1)),
            *subkey(ENCRYPTS, BOUND),
        ],
        1, None,
    ),
    "the primary user ID counts before a newer one": (
        [
            START,
            *user_id(replace(SELF, primary=True, key_lifetime=30)),
            *user_id(replace(SELF, created=MADE + 1), name=b"newer"),
            *subkey(ENCRYPTS, BOUND),
        ],
        0, 30,
    ),
    "of two that are equal the first to end": (
        [
            START,
            *user_id(SELF),
            *user_id(replace(SELF, key_lifetime=30), name=b"other"),
            *subkey(ENCRYPTS, BOUND),
        ],
        0, 30,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("packets", "since", "until"), TIMES.values(), ids=TIMES.keys())
def test_the_validity_of_a_part_is_returned(
    packets: list[Packet], since: int, until: int | None
) -> None:
    (part,) = usable(packets).parts
    assert (part.since, part.until) == (MADE + since, None if until is None else MADE + until)


def test_a_refused_key_still_has_a_fingerprint() -> None:
    assert read_fingerprint(BAD["a revoked key"][0]) == "897043547d084cc162eb564cd9219cf652eeb3e3"
    assert read_fingerprint(text((SUBKEY, ENCRYPTS.body))) == ""
    assert read_fingerprint("") == ""
    assert read_fingerprint("é") == ""


def test_a_text_that_is_not_ascii_is_refused_like_any_other() -> None:
    with pytest.raises(NotAKeyError, match="not base64"):
        read_public_key("mDMEé")
