"""managers.bao.client: a server may run an image of a tenant, so its responses are limited.

A response beyond a limit is an error of that one server, which names the limit. The tests count
are bytes: those that were read, and those that the server got rid of.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import orjson
import pytest

from managers.bao import exchange
from managers.bao.client import Bao, BaoError, Denied
from managers.certs.x509 import make_authority
from runtime.client.write_guard import allow_writes
from runtime.clock import SystemClock
from tests.managers.bao.servers import ADDRESS, NAME, serving, tls
from tests.runtime.pouring import (
    CHUNK,
    ENDLESS,
    OK,
    WRONG,
    Pouring,
    answer,
    bomb,
    nested_json,
    pouring,
)

BOUND = 256 * 1024
LEVELS = 64
VALUES = 10_000
HEAD = "more than 64 headers or one of more than 8190 bytes"
BUFFERS = 4 << 20
"""More than the kernel keeps of a connection, and a fraction of pouring.MOST."""
SETTINGS = "sys/storage/raft/autopilot/configuration"
MEMBERS = "sys/storage/raft/configuration"
LOGIN = "auth/jwt-operator/login"
SHARES = "sys/rotate/recovery/backup"
HEALTHY = b'{"initialized":true,"sealed":false,"standby":false}'


@asynccontextmanager
async def asking(
    folder: Path, first: bytes, forever: bytes = b""
) -> AsyncIterator[tuple[Bao, Pouring]]:
    """A session of the operator with a server that sends these bytes."""
    authority = make_authority("x", SystemClock().now())
    async with (
        pouring(first, forever, tls=tls(folder, authority)) as server,
        Bao(authority.certificate.decode(), NAME, server.port, guard=allow_writes) as bao,
    ):
        yield bao, server


def health_of_size(size: int) -> bytes:
    """A healthy response of exactly this number of bytes."""
    return HEALTHY + b" " * (size - len(HEALTHY))


async def test_a_compressed_response_is_refused_without_decompression(tmp_path: Path) -> None:
    async with asking(tmp_path, bomb(8 << 20)) as (bao, server):
        with pytest.raises(BaoError, match=rf"sys/health of {ADDRESS}.*Content-Encoding gzip"):
            await bao.health(ADDRESS)
    assert b"accept-encoding: identity\r\n" in server.requests[0].lower()


@pytest.mark.parametrize("code", [200, 403, 500])
async def test_a_compressed_error_is_refused_without_decompression(
    tmp_path: Path, code: int
) -> None:
    packed = bomb(1 << 20).replace(b"200 OK", b"%d X" % code)
    async with asking(tmp_path, packed) as (bao, _):
        with pytest.raises(BaoError, match="gzip"):
            async with bao.snapshot(ADDRESS, "token"):
                pass


async def test_a_response_of_the_maximum_length_is_read(tmp_path: Path) -> None:
    async with asking(tmp_path, answer(health_of_size(BOUND))) as (bao, _):
        assert (await bao.health(ADDRESS)).initialized


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_response_above_the_maximum_length_is_refused(
    tmp_path: Path, chunked: bool
) -> None:
    body = health_of_size(BOUND + 1)
    whole = ENDLESS + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else answer(body)
    async with asking(tmp_path, whole) as (bao, _):
        with pytest.raises(BaoError, match=f"longer than {BOUND} bytes"):
            await bao.health(ADDRESS)


async def test_an_endless_response_is_cut_off(tmp_path: Path) -> None:
    async with asking(tmp_path, ENDLESS, CHUNK) as (bao, server):
        with pytest.raises(BaoError, match=f"longer than {BOUND} bytes"):
            await bao.health(ADDRESS)
        await asyncio.wait_for(server.cut.wait(), 10)
        assert server.bytes_sent < BUFFERS


@pytest.mark.parametrize("first", WRONG.values(), ids=WRONG.keys())
async def test_headers_beyond_their_limits_are_refused(tmp_path: Path, first: bytes) -> None:
    async with asking(tmp_path, first) as (bao, _):
        with pytest.raises(BaoError, match=rf"sys/health of {ADDRESS}.*({HEAD}|Payload)"):
            await bao.health(ADDRESS)


async def test_a_response_of_sixty_four_levels_is_read(tmp_path: Path) -> None:
    async with asking(tmp_path, answer(nested_json(LEVELS))) as (bao, _):
        assert await bao.autopilot_settings(ADDRESS, "token") == {}


DEEP = {65: "nested deeper than 64 levels", 9000: "nested deeper than 64 levels"}


@pytest.mark.parametrize(
    ("levels", "message"), {**DEEP, 100_000: "made of more than 10000 values"}.items()
)
async def test_a_deeper_response_is_refused(tmp_path: Path, levels: int, message: str) -> None:
    async with asking(tmp_path, answer(nested_json(levels))) as (bao, _):
        with pytest.raises(BaoError, match=message):
            await bao.autopilot_settings(ADDRESS, "token")


@pytest.mark.parametrize("levels", [*DEEP, 100_000])
async def test_deeper_content_of_a_restore_test_is_refused(tmp_path: Path, levels: int) -> None:
    async with asking(tmp_path, answer(nested_json(levels))) as (bao, _):
        with pytest.raises(BaoError, match=f"nested deeper than {LEVELS} levels"):
            await bao.read(ADDRESS, "token", "secret/canary")


async def test_content_of_a_restore_test_keeps_its_numbers(tmp_path: Path) -> None:
    """Digests of snapshots contain them, to the last digit."""
    text = b'{"data":{"count":123456789012345678901234567890}}'
    async with asking(tmp_path, answer(text)) as (bao, _):
        response = await bao.read(ADDRESS, "token", "secret/canary")
    assert response == {"count": 123456789012345678901234567890}


async def test_content_may_be_longer_than_other_responses(tmp_path: Path) -> None:
    """A cluster with a thousand secret engines: sys/mounts lists each twice."""
    mounts = {f"team-{number}/": {"type": "kv", "uuid": "u" * 36} for number in range(10_000)}
    text = orjson.dumps({"data": mounts})
    assert len(text) > BOUND
    async with asking(tmp_path, answer(text)) as (bao, _):
        assert len(await bao.read(ADDRESS, "token", "sys/mounts")) == 10_000


async def test_a_response_with_too_many_values_is_refused(tmp_path: Path) -> None:
    """Two bytes of text become sixty in memory."""
    text = b'{"data":[' + b"[]," * VALUES + b"[]]}"
    assert len(text) < BOUND
    async with asking(tmp_path, answer(text)) as (bao, _):
        with pytest.raises(BaoError, match=f"more than {VALUES} values"):
            await bao.members(ADDRESS, "token")


async def test_recovery_shares_of_many_recipients_are_read(tmp_path: Path) -> None:
    """255 messages for keys of 4096 bits, each in hexadecimal digits and in base64."""
    marks = [f"{number:040x}" for number in range(255)]
    keys = {mark: ["a" * 1400] for mark in marks}
    body = {"data": {"nonce": "n", "keys": keys, "keys_base64": {m: ["b" * 940] for m in marks}}}
    assert len(orjson.dumps(body)) > BOUND
    async with serving(tmp_path, {SHARES: (200, body)}) as server, server.client() as bao:
        recovery_shares = await bao.recovery_shares(ADDRESS, "token")
    assert recovery_shares is not None
    assert len(recovery_shares.keys_base64) == 255


async def test_the_response_to_a_restore_has_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else limits the time of a transfer."""

    async def snapshot() -> AsyncIterator[bytes]:
        yield b"a snapshot"

    monkeypatch.setattr(exchange, "TIMEOUT", aiohttp.ClientTimeout(total=0.1))
    async with asking(tmp_path, OK + b"Content-Length: 5000\r\n\r\n{") as (bao, _):
        with pytest.raises(BaoError, match="TimeoutError"):
            await bao.restore(ADDRESS, "token", snapshot(), force=False)


class TestMoreThanTheAnswer:
    """Unsolicited data of a server costs nothing."""

    async def test_unsolicited_responses_are_not_buffered(self, tmp_path: Path) -> None:
        """Each would be buffered for the next request, a kilobyte for forty bytes."""
        async with asking(tmp_path, answer(HEALTHY), answer(b"")) as (bao, server):
            server.go.clear()
            assert (await bao.health(ADDRESS)).initialized
            server.go.set()
            await asyncio.wait_for(server.cut.wait(), 20)
            assert server.bytes_sent < BUFFERS

    async def test_a_second_response_is_not_used_for_the_next_request(self, tmp_path: Path) -> None:
        sealed = HEALTHY.replace(b'"sealed":false', b'"sealed":true')
        async with asking(tmp_path, answer(HEALTHY) + answer(sealed)) as (bao, server):
            for _ in range(3):
                assert not (await bao.health(ADDRESS)).sealed
            assert len(server.requests) == 3

    async def test_endless_interim_responses_are_cut_off(self, tmp_path: Path) -> None:
        async with asking(tmp_path, b"", b"HTTP/1.1 103 Early Hints\r\n\r\n") as (bao, server):
            with pytest.raises(BaoError, match="interim"):
                await bao.health(ADDRESS)
            await asyncio.wait_for(server.cut.wait(), 10)
            assert server.bytes_sent < BUFFERS

    async def test_an_interim_response_is_ignored(self, tmp_path: Path) -> None:
        first = b"HTTP/1.1 103 Early Hints\r\n\r\n" + answer(HEALTHY)
        async with asking(tmp_path, first) as (bao, _):
            assert (await bao.health(ADDRESS)).initialized

    async def test_a_connection_is_used_again(self, tmp_path: Path) -> None:
        """The health poller sends a request every five seconds."""
        async with serving(tmp_path, {"sys/health": (200, orjson.loads(HEALTHY))}) as server:
            async with server.client() as bao:
                for _ in range(3):
                    await bao.health(ADDRESS)
            assert len(server.peers) == 1


# sentence: (response of sys/health, the error)
TEXTS: dict[str, tuple[dict[str, object], str]] = {
    "a long cluster id": ({"cluster_id": "c" * 65}, "cluster_id.*64 characters"),
    "a long version": ({"version": "2" * 65}, "version.*64 characters"),
    "no text": ({"version": ["2"]}, "version"),
}


@pytest.mark.parametrize(("fields", "message"), TEXTS.values(), ids=TEXTS.keys())
async def test_texts_in_a_response_are_limited(
    tmp_path: Path, fields: dict[str, object], message: str
) -> None:
    body = {**orjson.loads(HEALTHY), **fields}
    async with serving(tmp_path, {"sys/health": (200, body)}) as server, server.client() as bao:
        with pytest.raises(BaoError, match=message) as raised:
            await bao.health(ADDRESS)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("node_id", ["n" * 254, "n" * 100_000])
async def test_the_name_of_a_member_is_limited(tmp_path: Path, node_id: str) -> None:
    body = {"data": {"config": {"servers": [{"node_id": node_id}]}}}
    async with serving(tmp_path, {MEMBERS: (200, body)}) as server, server.client() as bao:
        with pytest.raises(BaoError, match=r"node_id.*253 characters") as raised:
            await bao.members(ADDRESS, "token")
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("token", ["t" * 10_000, "a\r\nX-Evil: b", "", "tøken"])
async def test_a_token_that_does_not_fit_a_header_is_refused(tmp_path: Path, token: str) -> None:
    body = {"auth": {"client_token": token, "lease_duration": 60}}
    async with serving(tmp_path, {LOGIN: (200, body)}) as server, server.client() as bao:
        with pytest.raises(BaoError, match="client_token") as raised:
            await bao.login(ADDRESS, "jwt-operator", "role", "jwt")
    assert token[:100] not in str(raised.value) or not token


async def test_autopilot_settings_are_limited(tmp_path: Path) -> None:
    """They are compared, and one of them is written back."""
    data = {"a": True, "b": 5, "c": "24h", "d": "1" * 257, "e": [[]], "f": {}, "g": None}
    answers = {SETTINGS: (200, {"data": data})}
    async with serving(tmp_path, answers) as server, server.client() as bao:
        autopilot_settings = await bao.autopilot_settings(ADDRESS, "token")
    assert autopilot_settings == {"a": True, "b": 5, "c": "24h"}


SHARE: dict[str, object] = {
    "no base64": {"a" * 40: ["?"]},
    "truncated base64": {"a" * 40: ["QUJ"]},
    "padding in the middle": {"a" * 40: ["QU=J"]},
    "nothing": {"a" * 40: [""]},
    "an invalid key id": {"../x": ["QUJD"]},
    "a long name": {"a" * 65: ["QUJD"]},
    "no list": {"a" * 40: "QUJD"},
    "no text": {"a" * 40: [5]},
}


@pytest.mark.parametrize("keys", SHARE.values(), ids=SHARE.keys())
async def test_shares_are_base64_under_the_name_of_a_key(tmp_path: Path, keys: object) -> None:
    """They go into a Secret, by their names."""
    body = {"data": {"nonce": "n", "keys_base64": keys}}
    async with serving(tmp_path, {SHARES: (200, body)}) as server, server.client() as bao:
        with pytest.raises(BaoError, match="no RecoveryShares"):
            await bao.recovery_shares(ADDRESS, "token")


# sentence: (errors, the message)
ERRORS: dict[str, tuple[object, str]] = {
    "no list": (5, "no reason given"),
    "a text": ("permission denied", "no reason given"),
    "lists": ([["permission denied"], "and this"], "403: and this$"),
    "lines and colors": (["one\r\ntwo \x1b[31mred"], r"403: one two \\x1b\[31mred$"),
    "too many": (["a"] * 9000, "403: a; a; a"),
    "a long one": (["a" * 100_000], "403: aaa"),
}


@pytest.mark.parametrize(("errors", "message"), ERRORS.values(), ids=ERRORS.keys())
async def test_errors_of_a_server_are_one_short_line(
    tmp_path: Path, errors: object, message: str
) -> None:
    body = {"errors": errors}
    async with serving(tmp_path, {MEMBERS: (403, body)}) as server, server.client() as bao:
        with pytest.raises(Denied, match=message) as raised:
            await bao.members(ADDRESS, "token")
    assert len(str(raised.value)) < 300
    assert str(raised.value).isprintable()


async def test_a_session_records_the_response_that_it_refused(tmp_path: Path) -> None:
    async with asking(tmp_path, bomb(1 << 20)) as (bao, _):
        assert bao.unusable == ""
        with pytest.raises(BaoError):
            await bao.health(ADDRESS)
        assert "gzip" in bao.unusable
