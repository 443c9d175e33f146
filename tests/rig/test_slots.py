"""Numbers and addresses: concurrent rigs share no network, port or interface name."""

from ipaddress import IPv4Network
from itertools import pairwise
from pathlib import Path

import pytest

from e2e.rig.errors import RigError
from e2e.rig.paths import Cache
from e2e.rig.slots import SLOTS, Slot, assignments, choose, claim, parse_routes, release


def test_networks_of_slots_do_not_overlap() -> None:
    networks = [
        network
        for index in range(SLOTS)
        for network in (Slot(index).link, Slot(index).pods, Slot(index).services)
    ]
    networks.sort()
    assert len(networks) == 3 * SLOTS
    assert not any(a.overlaps(b) for a, b in pairwise(networks))


def test_ports_of_slots_are_unique_and_not_ephemeral() -> None:
    ports = [port for index in range(SLOTS) for port in Slot(index).ports]
    assert len(set(ports)) == len(ports)
    assert max(ports) < 32768


def test_interface_names_are_short_enough_for_linux() -> None:
    assert max(len(Slot(index).interface) for index in range(SLOTS)) <= 15


def test_addresses_of_a_slot() -> None:
    slot = Slot(3)
    assert str(slot.link) == "10.213.3.0/30"
    assert (str(slot.host), str(slot.node)) == ("10.213.3.1", "10.213.3.2")
    assert str(slot.pods) == "10.244.3.0/24"
    assert str(slot.services) == "10.112.48.0/20"
    assert str(slot.api_service) == "10.112.48.1"


TABLE: dict[str, tuple[dict[str, int], str, list[str], int]] = {
    "the first rig gets the first number": ({}, "a", [], 0),
    "a rig keeps its number": ({"a": 4}, "a", [], 4),
    "a rig keeps its number despite its own routes": (
        {"a": 0},
        "a",
        ["10.244.0.0/24"],
        0,
    ),
    "the lowest free number is given": ({"a": 0, "c": 2}, "b", [], 1),
    "a foreign pod network is avoided": ({}, "a", ["10.244.0.0/23"], 2),
    "a foreign link is avoided": ({}, "a", ["10.213.0.0/24"], 1),
    "a foreign service network is avoided": ({}, "a", ["10.112.0.0/19"], 2),
}


@pytest.mark.parametrize("case", TABLE)
def test_choose(case: str) -> None:
    taken, name, routes, expected = TABLE[case]
    assert choose(taken, name, [IPv4Network(route) for route in routes]) == expected


def test_choose_fails_without_a_free_network() -> None:
    with pytest.raises(RigError, match="no free network"):
        choose({}, "a", [IPv4Network("10.0.0.0/8")])


def test_routes_of_the_kernel_are_parsed_without_the_default() -> None:
    table = (
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
        "x0\t0007D50A\t00000000\t0001\t0\t0\t0\tFCFFFFFF\t0\t0\t0\n"
    )
    assert parse_routes(table) == [IPv4Network("192.0.2.0/24"), IPv4Network("10.213.7.0/30")]


def test_claims_and_releases_are_stored(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    first, second = claim(cache, "one").index, claim(cache, "two").index
    assert first != second
    assert claim(cache, "one").index == first
    release(cache, "one")
    release(cache, "never-claimed")
    assert assignments(cache) == {"two": second}


@pytest.mark.parametrize("name", ["", "Demo", "1st", "a/b", "..", ".x", "a" * 32, "a b"])
def test_an_invalid_name_is_refused_before_any_write(tmp_path: Path, name: str) -> None:
    with pytest.raises(RigError, match="rig name"):
        claim(Cache(tmp_path), name)
    assert list(tmp_path.iterdir()) == []
