"""managers.images.registry: requests, credentials, redirects and forbidden addresses."""

import pytest
from aiohttp import web

from managers.images.credentials import RegistryLogin
from managers.images.registry import BLOB_MAX, RegistryError, RegistrySession, is_allowed_address
from tests import gen
from tests.managers.images.registry_server import (
    BASIC,
    TOKEN,
    RegistryServer,
    digest_of,
    registry_server,
)

READER = RegistryLogin("reader", "open sesame")
REPOSITORY = "team/openbao"


def asking(server: RegistryServer, login: RegistryLogin | None = None) -> RegistrySession:
    return RegistrySession(server.address, REPOSITORY, login, insecure=True)


async def test_a_manifest_is_returned_with_its_digest() -> None:
    async with registry_server() as server, asking(server) as registry:
        digest = server.image("2.4.0")
        manifest = gen.present(await registry.manifest("2.4.0"))
        assert manifest.digest == digest == digest_of(manifest.body)
        assert server.paths == [f"/v2/{REPOSITORY}/manifests/2.4.0"]


async def test_a_missing_object_is_none() -> None:
    async with registry_server(lists_referrers=False) as server, asking(server) as registry:
        assert await registry.manifest("x") is None
        assert await registry.blob("sha256:" + "a" * 64) is None
        assert await registry.referrers("sha256:" + "a" * 64, "x") is None


@pytest.mark.parametrize("wants", ["basic", "bearer"])
async def test_credentials_are_sent_only_after_a_challenge(wants: str) -> None:
    async with registry_server(wants=wants) as server, asking(server, READER) as registry:
        server.image("2.4.0")
        assert await registry.manifest("2.4.0") is not None
        assert server.authorized[0] == ""
        assert await registry.manifest("2.4.0") is not None
        expected = BASIC if wants == "basic" else f"Bearer {TOKEN}"
        assert server.authorized[-2:] == [expected, expected]


async def test_a_token_is_requested_with_pull_scope_for_the_repository() -> None:
    scopes = []

    def note(request: web.Request) -> None:
        if request.path == "/token":
            scopes.append((request.query["scope"], request.query["service"]))

    async with (
        registry_server(wants="bearer", fault=note) as server,
        asking(server, READER) as registry,
    ):
        server.image("2.4.0")
        await registry.manifest("2.4.0")
    assert scopes == [(f"repository:{REPOSITORY}:pull", "here")]


@pytest.mark.parametrize("wants", ["basic", "bearer"])
@pytest.mark.parametrize("login", [None, RegistryLogin("reader", "wrong")])
async def test_wrong_credentials_are_a_lasting_error(
    wants: str, login: RegistryLogin | None
) -> None:
    async with registry_server(wants=wants) as server, asking(server, login) as registry:
        with pytest.raises(RegistryError) as caught:
            await registry.manifest("2.4.0")
    assert caught.value.lasting
    assert "wrong" not in str(caught.value)
    assert "wrong" not in repr(login)


async def test_a_digest_mismatch_is_an_error() -> None:
    async with registry_server() as server, asking(server) as registry:
        wrong = "sha256:" + "a" * 64
        server.manifests[wrong] = server.blobs[wrong] = b"{}"
        with pytest.raises(RegistryError, match="digest"):
            await registry.manifest(wrong)
        with pytest.raises(RegistryError, match="digest"):
            await registry.blob(wrong)


async def test_a_long_response_is_cut_off() -> None:
    async with registry_server() as server, asking(server) as registry:
        digest = digest_of(b"x" * (BLOB_MAX + 1))
        server.blobs[digest] = b"x" * (BLOB_MAX + 1)
        with pytest.raises(RegistryError, match="longer"):
            await registry.blob(digest)


@pytest.mark.parametrize("status", [500, 503, 429, 400])
async def test_an_error_response_is_temporary(status: int) -> None:
    def broken(request: web.Request) -> web.Response:
        return web.Response(status=status, text="secret words of the server")

    async with registry_server(fault=broken) as server, asking(server) as registry:
        with pytest.raises(RegistryError, match=f"HTTP {status}") as caught:
            await registry.manifest("x")
    assert not caught.value.lasting
    assert "secret words" not in str(caught.value)


async def test_an_unreachable_registry_is_a_temporary_error() -> None:
    async with registry_server() as server:
        address = server.address
    async with RegistrySession(address, REPOSITORY, None, insecure=True) as registry:
        with pytest.raises(RegistryError, match="ClientConnectorError") as caught:
            await registry.manifest("x")
    assert not caught.value.lasting


async def test_a_blob_redirect_is_followed_without_credentials() -> None:
    async with registry_server() as store, registry_server(wants="basic") as server:
        digest = digest_of(b"content")
        store.blobs[digest] = b"content"

        def moved(request: web.Request) -> web.Response | None:
            if "blobs" not in request.path or not request.headers.get("Authorization"):
                return None
            return web.Response(
                status=307, headers={"Location": f"http://{store.address}{request.path}"}
            )

        server.fault = moved
        async with asking(server, READER) as registry:
            blob = await registry.blob(digest)
        assert gen.present(blob).body == b"content"
        assert store.authorized == [""]


async def test_a_manifest_redirect_is_refused() -> None:
    def moved(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"})

    async with registry_server(fault=moved) as server, asking(server, READER) as registry:
        with pytest.raises(RegistryError, match="HTTP 302"):
            await registry.manifest("x")


async def test_the_number_of_redirects_is_limited() -> None:
    def moved(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": request.path})

    async with registry_server(fault=moved) as server, asking(server) as registry:
        with pytest.raises(RegistryError, match="HTTP 302"):
            await registry.blob("sha256:" + "a" * 64)
        assert server.requests < 6


ADDRESSES = {
    "10.0.0.1": True,
    "192.168.1.1": True,
    "93.184.216.34": True,
    "fd00::1": True,
    "127.0.0.1": False,
    "::1": False,
    "::ffff:127.0.0.1": False,
    "169.254.169.254": False,
    "::ffff:169.254.169.254": False,
    "fe80::1": False,
    "fe80::1%eth0": False,
    "0.0.0.0": False,  # noqa: S104  not bound, but refused
    "224.0.0.1": False,
    "255.255.255.255": False,
}


@pytest.mark.parametrize(("address", "fine"), ADDRESSES.items())
def test_which_addresses_are_allowed(address: str, fine: bool) -> None:
    assert is_allowed_address(address, loopback=False) is fine


@pytest.mark.parametrize("host", ["169.254.169.254", "127.0.0.1:1", "localhost:1", "[::1]:1"])
async def test_addresses_of_the_node_are_never_contacted(host: str) -> None:
    async with RegistrySession(host, REPOSITORY, READER, insecure=False) as registry:
        with pytest.raises(RegistryError):
            await registry.manifest("x")


@pytest.mark.parametrize("place", ["http://registry.example.com", "ftp://x", "https://u:p@x"])
async def test_a_token_address_without_tls_gets_no_request(place: str) -> None:
    async with RegistrySession(
        "registry.example.com", REPOSITORY, READER, insecure=False
    ) as registry:
        with pytest.raises(RegistryError, match="without https") as caught:
            await registry._authorize(f'Bearer realm="{place}/token"')
    assert caught.value.lasting


@pytest.mark.parametrize("realm", ["", "file:///etc/passwd", "http://[", "https://", "x"])
async def test_an_invalid_realm_is_an_error(realm: str) -> None:
    def challenge(request: web.Request) -> web.Response:
        return web.Response(status=401, headers={"WWW-Authenticate": f'Bearer realm="{realm}"'})

    async with registry_server(fault=challenge) as server, asking(server, READER) as registry:
        with pytest.raises(RegistryError):
            await registry.manifest("x")


async def test_a_proxy_in_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with registry_server() as server, asking(server) as registry:
        server.image("x")
        assert await registry.manifest("x") is not None
