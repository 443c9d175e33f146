"""managers.networking.api_server_condition: whether the servers can reach the API server."""

from collections.abc import Mapping
from typing import Any

import pytest

from managers.networking.api_server_condition import INVALID, KIND, RECOMMENDED, api_server_network
from tests import gen

Expected = tuple[str, str] | None
HOST, BEHIND = "10.96.0.1", ("192.0.2.1", "192.0.2.2")
FOUND = gen.world().reaching(HOST, endpoints=BEHIND)
NO_SLICE = gen.world().reaching(HOST)
NOTHING = gen.world().reaching()

# sentence: (observed addresses, spec.network, status and reason, a word of the message)
ROWS: dict[str, tuple[gen.World, Mapping[str, Any], Expected, str]] = {
    "no condition if all addresses were found": (FOUND, {}, None, ""),
    "no address was found": (NOTHING, {}, ("False", INVALID), "spec.network.apiServerCIDR"),
    "a range without the Service address": (
        FOUND,
        {"apiServerCIDR": "198.51.100.0/24"},
        ("False", INVALID),
        "does not contain 10.96.0.1",
    ),
    "a range with the Service address": (
        FOUND,
        {"apiServerCIDR": "10.96.0.0/12"},
        ("True", KIND),
        "allow the servers",
    ),
    "a range without a known Service address": (
        gen.world().reaching(endpoints=BEHIND),
        {"apiServerCIDR": "198.51.100.0/24"},
        ("True", KIND),
        "allow the servers",
    ),
    "a range of one of two address families": (
        gen.world().reaching(HOST, "fd00::1", endpoints=BEHIND),
        {"apiServerCIDR": "10.96.0.1/32"},
        ("True", KIND),
        "allow the servers",
    ),
    "an invalid range": (
        FOUND,
        {"apiServerCIDR": "1.2.3.4/99"},
        ("False", INVALID),
        "1.2.3.4/99",
    ),
    "endpoints that may not be read": (
        NO_SLICE,
        {},
        ("Unknown", RECOMMENDED),
        "spec.network.apiServerEndpointIPs",
    ),
    "endpoints from the spec": (
        NO_SLICE,
        {"apiServerEndpointIPs": ["192.0.2.9"]},
        ("True", KIND),
        "allow the servers",
    ),
    "one of two endpoints from the spec": (
        FOUND,
        {"apiServerEndpointIPs": ["192.0.2.1"]},
        ("Unknown", RECOMMENDED),
        "omits 192.0.2.2",
    ),
    "all endpoints from the spec": (
        FOUND,
        {"apiServerEndpointIPs": [*BEHIND]},
        ("True", KIND),
        "allow the servers",
    ),
}


@pytest.mark.parametrize(("world", "network", "told", "word"), ROWS.values(), ids=ROWS.keys())
def test_the_condition(
    world: gen.World, network: Mapping[str, Any], told: Expected, word: str
) -> None:
    update = api_server_network(gen.cluster(network=network).read().spec, world.facts())
    if told is None:
        assert update is None
        return
    assert update is not None
    assert (update.status, update.reason) == told
    assert word in update.message
