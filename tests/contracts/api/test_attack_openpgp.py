"""The cost of hostile keys, and that they raise only the documented error.

A tenant writes it, and each pass before the first boot judges it. Work is counted in calls of
Python functions, never timed.
"""

import base64
import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.api.values.openpgp import NotAKeyError, read_public_key
from contracts.api.values.openpgp_packets import (
    PACKETS_MAX,
    SUBPACKETS_MAX,
    SUBPACKETS_OF_ONE,
    TEXT_MAX,
)
from contracts.api.violation import format_value
from tests.contracts.api.pgp_builder import (
    CROSS,
    KEY,
    MESSAGES,
    PRIMARY,
    SELF,
    TRUST,
    WHOLE,
    Packet,
    Sig,
    binary,
    subpacket,
    text,
    user_id,
    whole_key,
)
from tests.gen.calls import CallCount


def _refusal(key: str) -> str:
    with pytest.raises(NotAKeyError) as refused:
        read_public_key(key)
    return str(refused.value)


def _embedded_signature(inner: bytes) -> bytes:
    """A subpacket that is a signature itself."""
    return b"\xff" + (len(inner) + 1).to_bytes(4, "big") + b"\x20" + inner


def test_attack_long_text() -> None:
    assert f"longer than {TEXT_MAX} characters" in _refusal("A" * (TEXT_MAX + 1))


def test_attack_many_packets() -> None:
    assert f"more than {PACKETS_MAX} packets" in _refusal(text(*WHOLE, *[(60, b"")] * PACKETS_MAX))


def test_attack_many_statements() -> None:
    one = replace(SELF, extra=subpacket(100, b"") * SUBPACKETS_OF_ONE)
    key = text((KEY, PRIMARY.body), *user_id(one))
    assert f"a signature in it has more than {SUBPACKETS_OF_ONE} subpackets" in _refusal(key)
    several = [replace(SELF, extra=subpacket(100, b"") * (SUBPACKETS_OF_ONE - 3))] * 9
    key = text((KEY, PRIMARY.body), *user_id(*several))
    assert f"its signatures have more than {SUBPACKETS_MAX} subpackets" in _refusal(key)


def test_attack_signatures_within_signatures() -> None:
    inner = Sig(CROSS).body(b"")
    while len(inner) < 8000:
        inner = Sig(CROSS, extra=_embedded_signature(inner)).body(b"")
    assert (
        _refusal(text(*whole_key(extra=_embedded_signature(inner))))
        == "a signature in it is malformed"
    )


# sentence: a text of about the longest that is allowed
COSTLY: dict[str, bytes] = {
    "packets of nothing": b"\xfc\0" * 6000,
    "markers": binary((KEY, PRIMARY.body)) + b"\xca\3PGP" * 2400,
    "user IDs": binary((KEY, PRIMARY.body)) + b"\xcd\0" * 6000,
    "one signature of statements": binary(
        (KEY, PRIMARY.body), *user_id(replace(SELF, extra=subpacket(100, b"") * 5000))
    ),
    "signatures of statements": binary(
        (KEY, PRIMARY.body), *user_id(*[replace(SELF, extra=subpacket(100, b"") * 125)] * 30)
    ),
    "a photograph of statements": binary((KEY, PRIMARY.body), (17, subpacket(1, b"") * 5000)),
}


@pytest.mark.parametrize("data", COSTLY.values(), ids=COSTLY.keys())
def test_attack_the_cost_of_a_key_is_bounded(data: bytes) -> None:
    assert _work(base64.b64encode(data).decode()) < 30 * SUBPACKETS_MAX


def _work(key: str) -> int:
    with CallCount() as count, contextlib.suppress(NotAKeyError):
        read_public_key(key)
    return count.calls


def _read_or_refuse(data: bytes) -> None:
    try:
        parts = read_public_key(base64.b64encode(data).decode()).parts
    except NotAKeyError as refused:
        reason = str(refused)
        assert format_value(reason) == reason, "a violation would cut it"
    else:
        assert parts


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_in_a_short_sentence(data: bytes) -> None:
    _read_or_refuse(data)


@given(st.data())
def test_any_change_of_a_key_is_read_or_refused_in_a_short_sentence(data: st.DataObject) -> None:
    whole = bytearray(binary(*WHOLE))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    _read_or_refuse(bytes(whole))


PIECES: list[Packet] = [*WHOLE, *whole_key(flags=MESSAGES), (TRUST, b"")]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_any_order_of_packets_is_read_or_refused_in_a_short_sentence(packets: list[Packet]) -> None:
    _read_or_refuse(binary(*packets))
