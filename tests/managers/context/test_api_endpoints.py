"""managers.context.reads.api_server: the endpoints of the API server behind its Service."""

from typing import Any

import pytest

from contracts.records.environment import ApiEndpoints
from managers.context.reads.api_server import ADDRESS_TTL, RECHECK, ApiServer, api_endpoints
from runtime.builtin_kinds import ENDPOINT_SLICE
from runtime.errors import ServerError
from runtime.testing.clock import ManualClock
from runtime.types import Object
from tests.gen.api import FakeApi, api_error

ASKED = "get EndpointSlice kubernetes"


def endpoint_slice(*addresses: str, port: int | None = 6443, **endpoint: Any) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "kubernetes", "namespace": "default"},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], **endpoint} for address in addresses],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }


def api(*addresses: str, port: int = 6443) -> FakeApi:
    return FakeApi().with_objects((ENDPOINT_SLICE, endpoint_slice(*addresses, port=port)))


# sentence: (the object, the endpoints)
SLICES: dict[str, tuple[Object, ApiEndpoints]] = {
    "one address": (endpoint_slice("192.0.2.1"), ApiEndpoints(("192.0.2.1",), 6443)),
    "in one order": (
        endpoint_slice("192.0.2.2", "192.0.2.1", port=443),
        ApiEndpoints(("192.0.2.1", "192.0.2.2"), 443),
    ),
    "IPv6": (endpoint_slice("fd00::1"), ApiEndpoints(("fd00::1",), 6443)),
    "no ready endpoint": (endpoint_slice(), ApiEndpoints()),
    "one that is not ready": (
        endpoint_slice("192.0.2.1", conditions={"ready": False}),
        ApiEndpoints(),
    ),
    "a name is no address": (endpoint_slice("api.example.com"), ApiEndpoints()),
    "no port": (
        endpoint_slice("192.0.2.1", port=None),
        ApiEndpoints(),
    ),
    "an empty object": ({"metadata": {"name": "kubernetes"}}, ApiEndpoints()),
}


@pytest.mark.parametrize(("live", "expected"), SLICES.values(), ids=SLICES.keys())
def test_the_facts_of_a_slice(live: Object, expected: ApiEndpoints) -> None:
    assert api_endpoints(live) == expected


async def test_it_is_read_by_name_once_in_ten_minutes_for_all_clusters() -> None:
    server, clock = api("192.0.2.1"), ManualClock()
    asker = ApiServer(server, clock, None)
    for _ in range(50):
        assert (await asker.endpoints()).addresses == ("192.0.2.1",)
    await clock.advance(RECHECK - 1)
    await asker.endpoints()
    assert server.take_requests() == [ASKED]
    await clock.advance(1)
    await asker.endpoints()
    assert server.take_requests() == [ASKED]


async def test_a_new_node_is_added_and_a_restarting_one_is_kept_for_an_hour() -> None:
    server, clock = api("192.0.2.1"), ManualClock()
    asker = ApiServer(server, clock, None)
    await asker.endpoints()
    server.with_objects((ENDPOINT_SLICE, endpoint_slice("192.0.2.1", "192.0.2.2")))
    await clock.advance(RECHECK)
    assert (await asker.endpoints()).addresses == ("192.0.2.1", "192.0.2.2")
    server.with_objects((ENDPOINT_SLICE, endpoint_slice("192.0.2.1")))
    await clock.advance(RECHECK)
    assert (await asker.endpoints()).addresses == ("192.0.2.1", "192.0.2.2")
    await clock.advance(ADDRESS_TTL)
    assert (await asker.endpoints()).addresses == ("192.0.2.1",)
    server.refuse(ASKED, api_error(500))
    await clock.advance(RECHECK)
    assert (await asker.endpoints()).addresses == ("192.0.2.1",), (
        "an outage keeps the known endpoints"
    )


@pytest.mark.parametrize("code", [401, 403, 404])
async def test_unreadable_endpoints_are_empty_and_not_read_again_soon(code: int) -> None:
    server = FakeApi()
    server.refuse(ASKED, api_error(code))
    asker = ApiServer(server, ManualClock(), None)
    assert await asker.endpoints() == ApiEndpoints()
    assert await asker.endpoints() == ApiEndpoints()
    assert server.take_requests() == [ASKED]


async def test_an_outage_before_the_first_read_is_an_error() -> None:
    """Otherwise the policies would be written without the endpoints, and again a moment later."""
    server = api("192.0.2.1")
    server.refuse(ASKED, api_error(500))
    with pytest.raises(ServerError):
        await ApiServer(server, ManualClock(), None).endpoints()
