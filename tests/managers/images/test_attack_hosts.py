"""T09: the only requests of the operator to an address from a spec.

Only for images with a policy, only GET, only https, and never an address of the node, of its link
or of a cloud's metadata service: neither by its number, nor by a name that leads there, nor because
a registry sends us.
"""

import asyncio
import socket
from typing import Any

import aiohttp
import pytest

from contracts.image_reference import parse
from e2e.attacks.payloads import HOSTS
from managers.images.credentials import RegistryLogin
from managers.images.registry import RegistryError, RegistrySession, is_allowed_address

REPOSITORY = "team/openbao"
METADATA = (
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:42::42",
    "fd00:100::100:200",
    "fd00:a9fe:a9fe::1",
    "fd00:c1::a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "2002:7f00:1::",
    "2001::1",
    "::a9fe:a9fe",
    "::ffff:a9fe:a9fe",
)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every address of a connection attempt; all attempts fail."""
    tried: list[Any] = []

    async def refuse(loop: Any, sock: socket.socket, address: Any) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", refuse)
    return tried


def resolving_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    async def resolve(
        self: Any, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[Any]:
        kind = socket.AF_INET6 if ":" in address else socket.AF_INET
        address_info = {"hostname": host, "host": address, "port": port, "family": kind}
        return [{**address_info, "proto": 0, "flags": 0}]

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", resolve)


async def verify_at(host: str) -> str:
    """The verdict on an image at that host."""
    try:
        async with RegistrySession(
            host, REPOSITORY, RegistryLogin("me", "secret"), insecure=False
        ) as registry:
            await registry.manifest("x")
    except (RegistryError, ValueError) as error:
        return str(error) or "refused"
    return ""


@pytest.mark.parametrize("host", HOSTS, ids=ascii)
async def test_attack_t09_no_host_of_the_table_is_contacted(
    host: str, connections: list[Any]
) -> None:
    """What the grammar of images lets through is asked of the resolver, and never connected to.

    The names of the table that lead nowhere special, such as an empty one, reach no address.
    """
    try:
        host = parse(f"{host}/x/y:1").registry
    except ValueError:
        return
    assert await verify_at(host)
    assert [
        connection
        for connection in connections
        if not is_allowed_address(connection[0], loopback=False)
    ] == []


@pytest.mark.parametrize("address", METADATA)
async def test_attack_t09_a_name_that_resolves_to_a_metadata_service_is_not_contacted(
    address: str, connections: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the check uses the address of the connection."""
    assert not is_allowed_address(address, loopback=False)
    resolving_to(monkeypatch, address)
    assert await verify_at("registry.example.com")
    assert connections == []


async def test_the_address_of_a_registry_is_contacted(
    connections: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that the tests above would detect a connection."""
    resolving_to(monkeypatch, "192.0.2.10")
    assert await verify_at("registry.example.com")
    assert [connection[0] for connection in connections] == ["192.0.2.10"]
