"""managers.images: a tenant may run a registry, so its responses are limited.

An invalid response is an error of that one image, never another exception, and never more
than was meant to be read.
"""

import asyncio

import orjson
import pytest
from aiohttp import web

from managers.images.registry import _PARAMETER, MANIFEST_MAX, RegistryError, RegistrySession
from runtime.limits.http_client import INTERIM_MAX
from tests.managers.images.registry_server import registry_server
from tests.runtime.pouring import CHUNK, ENDLESS, WRONG, answer, bomb, nested_json, pouring

REPOSITORY = "team/openbao"


def asking(address: str) -> RegistrySession:
    return RegistrySession(address, REPOSITORY, None, insecure=True)


async def test_an_endless_manifest_is_cut_off() -> None:
    async with pouring(ENDLESS, CHUNK) as server, asking(f"127.0.0.1:{server.port}") as registry:
        with pytest.raises(RegistryError, match=f"longer than the limit of {MANIFEST_MAX}"):
            await registry.manifest("x")
        await asyncio.wait_for(server.cut.wait(), 10)
        assert server.bytes_sent < 2 * MANIFEST_MAX


@pytest.mark.parametrize("first", WRONG.values(), ids=WRONG.keys())
async def test_headers_beyond_their_limits_are_a_registry_error(first: bytes) -> None:
    async with pouring(first) as server, asking(f"127.0.0.1:{server.port}") as registry:
        with pytest.raises(RegistryError) as raised:
            await registry.manifest("x")
    assert not raised.value.lasting


async def test_endless_interim_responses_are_cut_off() -> None:
    forever = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    async with pouring(b"", forever) as server, asking(f"127.0.0.1:{server.port}") as registry:
        with pytest.raises(RegistryError, match=f"more than {INTERIM_MAX} interim"):
            await registry.manifest("x")


async def test_a_compressed_response_is_not_decompressed() -> None:
    async with pouring(bomb(8 << 20)) as server, asking(f"127.0.0.1:{server.port}") as registry:
        manifest = await registry.manifest("x")
    assert manifest is not None
    assert len(manifest.body) < 1 << 20
    with pytest.raises(RegistryError, match="not a manifest"):
        manifest.json()


LISTED: dict[str, bytes] = {
    "deep": nested_json(1000),
    "very deep": nested_json(100_000),
    "of a million values": b'{"manifests":[' + b"[]," * 1_000_000 + b"[]]}",
    "no object": b"[]",
    "no JSON": b"\x00",
}


@pytest.mark.parametrize("body", LISTED.values(), ids=LISTED.keys())
async def test_an_unusable_referrers_list_is_an_error(body: bytes) -> None:
    async with pouring(answer(body)) as server, asking(f"127.0.0.1:{server.port}") as registry:
        referrers = await registry.referrers("sha256:" + "a" * 64, "x")
        assert referrers is not None
        with pytest.raises(RegistryError, match="not a manifest"):
            referrers.json()


TOKENS: dict[str, object] = {
    "a list": ["token"],
    "a text": "token",
    "nothing": None,
    "a token of another type": {"token": {"token": "x"}},
    "a line": {"token": "a\r\nb"},
    "a deep one": orjson.Fragment(nested_json(1000)),
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS.keys())
async def test_an_invalid_token_is_a_registry_error(token: object) -> None:
    def other(request: web.Request) -> web.Response | None:
        if request.path != "/token":
            return None
        return web.Response(body=orjson.dumps(token))

    async with (
        registry_server(wants="bearer", fault=other) as server,
        asking(server.address) as registry,
    ):
        with pytest.raises(RegistryError, match="returned no token"):
            await registry.manifest("x")


@pytest.mark.parametrize("location", ["http://[", "//[::1", "http://a:99999999/", "http://[x]/"])
async def test_a_blob_redirect_to_an_invalid_address_is_a_registry_error(location: str) -> None:
    def moved(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": location})

    async with registry_server(fault=moved) as server, asking(server.address) as registry:
        with pytest.raises(RegistryError, match="refers to an invalid URL"):
            await registry.blob("sha256:" + "a" * 64)


@pytest.mark.timeout(20)
def test_a_long_challenge_is_parsed_in_linear_time() -> None:
    """A quadratic parser would take an hour; a header of 8 KiB took a second."""
    assert _PARAMETER.findall("a" * 500_000) == []
    challenge = 'realm="https://x/token",service="s_1",scope="a:b:pull"'
    assert _PARAMETER.findall(challenge) == [
        ("realm", "https://x/token"),
        ("service", "s_1"),
        ("scope", "a:b:pull"),
    ]
