"""managers.networking.api_server_condition: the way from the servers to the API server."""

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

# sentence: (what was found, spec.network, status and reason, a word of the message)
ROWS: dict[str, tuple[gen.World, Mapping[str, Any], Expected, str]] = {
    "all was found and nothing asked for: not stated": (FOUND, {}, None, ""),
    "nothing was found": (NOTHING, {}, ("False", INVALID), "spec.network.apiServerCIDR"),
    "a range without what pods look for": (
        FOUND,
        {"apiServerCIDR": "198.51.100.0/24"},
        ("False", INVALID),
        "does not contain 10.96.0.1",
    ),
    "a range that holds it": (
        FOUND,
        {"apiServerCIDR": "10.96.0.0/12"},
        ("True", KIND),
        "allow the servers",
    ),
    "a range where nothing was found": (
        gen.world().reaching(endpoints=BEHIND),
        {"apiServerCIDR": "198.51.100.0/24"},
        ("True", KIND),
        "allow the servers",
    ),
    "a range of one family of two": (
        gen.world().reaching(HOST, "fd00::1", endpoints=BEHIND),
        {"apiServerCIDR": "10.96.0.1/32"},
        ("True", KIND),
        "allow the servers",
    ),
    "a text that is no range": (
        FOUND,
        {"apiServerCIDR": "1.2.3.4/99"},
        ("False", INVALID),
        "1.2.3.4/99",
    ),
    "nobody may read the endpoints": (
        NO_SLICE,
        {},
        ("Unknown", RECOMMENDED),
        "spec.network.apiServerEndpointIPs",
    ),
    "the user names them": (
        NO_SLICE,
        {"apiServerEndpointIPs": ["192.0.2.9"]},
        ("True", KIND),
        "allow the servers",
    ),
    "the user names one of two": (
        FOUND,
        {"apiServerEndpointIPs": ["192.0.2.1"]},
        ("Unknown", RECOMMENDED),
        "omits 192.0.2.2",
    ),
    "the user names all": (
        FOUND,
        {"apiServerEndpointIPs": [*BEHIND]},
        ("True", KIND),
        "allow the servers",
    ),
}


@pytest.mark.parametrize(("world", "network", "told", "word"), ROWS.values(), ids=ROWS.keys())
def test_what_is_said(
    world: gen.World, network: Mapping[str, Any], told: Expected, word: str
) -> None:
    update = api_server_network(gen.cluster(network=network).read().spec, world.facts())
    if told is None:
        assert update is None
        return
    assert update is not None
    assert (update.status, update.reason) == told
    assert word in update.message
