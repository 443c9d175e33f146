"""managers.networking.egress: the ranges that profile Hardened excepts from rules of a user."""

import ipaddress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from managers.networking.egress import EXCLUDED, egress_rules
from managers.networking.policy import jobs_network_policy, network_policy
from tests import gen
from tests.contracts.api.case import hardened_spec
from tests.contracts.api.clusters import cluster
from tests.managers.networking.evaluator import Peer, Policy

PORTS = [{"port": 443, "protocol": "TCP"}]
V4 = ["169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.0/24"]
V6 = [
    "fe80::/10",
    "fd00:42::42/128",
    "fd00:100::100:200/128",
    "fd00:a9fe:a9fe::1/128",
    "fd00:c1::a9fe:a9fe/128",
    "fd00:ec2::/32",
    "fd20:ce::/32",
]


def rules(*peers: dict[str, Any], profile: str = "Hardened") -> list[dict[str, Any]]:
    network = {"egressRules": [{"to": list(peers), "ports": PORTS}]}
    spec = cluster(**{**hardened_spec(network=network), "profile": profile}).spec
    return [dict(rule) for rule in egress_rules(spec)]


def block(cidr: str, *left_out: str) -> dict[str, Any]:
    return {"ipBlock": {"cidr": cidr, **({"except": list(left_out)} if left_out else {})}}


# sentence: (block of the user, block of the policy)
BLOCKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all of IPv4": (block("0.0.0.0/0"), block("0.0.0.0/0", *V4)),
    "all of IPv6": (block("::/0"), block("::/0", *V6)),
    "half of IPv4": (
        block("128.0.0.0/1"),
        block("128.0.0.0/1", "169.254.0.0/16", "168.63.129.16/32", "192.0.0.0/24"),
    ),
    "a range around the link, with bits behind the prefix": (
        block("169.1.2.3/8"),
        block("169.1.2.3/8", "169.254.0.0/16"),
    ),
    "addresses of providers": (
        block("100.64.0.0/10"),
        block("100.64.0.0/10", "100.100.100.200/32"),
    ),
    "private IPv6": (block("fd00::/8"), block("fd00::/8", *V6[1:])),
    "exceptions of the user stay": (
        block("0.0.0.0/0", "10.0.0.0/8", "169.254.169.254/32"),
        block("0.0.0.0/0", "10.0.0.0/8", "169.254.169.254/32", *V4),
    ),
    "ranges that the user excepted": (
        block("0.0.0.0/0", "169.0.0.0/8", "168.63.129.16/32", "100.64.0.0/10", "192.0.0.0/16"),
        block("0.0.0.0/0", "169.0.0.0/8", "168.63.129.16/32", "100.64.0.0/10", "192.0.0.0/16"),
    ),
    "an unrelated range": (block("198.51.100.0/24"), block("198.51.100.0/24")),
    "a metadata server by its own range": (block("168.63.129.16/32"), block("168.63.129.16/32")),
    "pods": ({"podSelector": {}}, {"podSelector": {}}),
}


@pytest.mark.parametrize(("given_", "rendered"), BLOCKS.values(), ids=BLOCKS.keys())
def test_which_ranges_are_excepted(given_: dict[str, Any], rendered: dict[str, Any]) -> None:
    assert rules(given_) == [{"to": [rendered], "ports": PORTS}]


def test_other_profiles_keep_their_ranges() -> None:
    assert rules(block("0.0.0.0/0"), profile="Development") == [
        {"to": [block("0.0.0.0/0")], "ports": PORTS}
    ]


def test_a_rule_without_destinations_stays() -> None:
    """Such a rule is refused in the profile, but an object may be older than the rule."""
    spec = cluster(**hardened_spec(network={"egressRules": [{"ports": PORTS}]})).spec
    assert egress_rules(spec) == ({"ports": PORTS},)


@settings(deadline=None, max_examples=200)
@given(st.ip_addresses(), st.integers(0, 128), st.lists(st.sampled_from(EXCLUDED), max_size=3))
def test_every_exception_is_valid_for_kubernetes(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, prefix: int, inside: list[Any]
) -> None:
    """It validates that an exception is a strict subset of its block."""
    for start in (address, *(network.network_address for network in inside)):
        width = min(prefix, start.max_prefixlen)
        outer = ipaddress.ip_network(f"{start}/{width}", strict=False)
        ((peer,),) = (rule["to"] for rule in rules(block(f"{start}/{width}")))
        for text in peer["ipBlock"].get("except", ()):
            inner = ipaddress.ip_network(text)
            assert inner.version == outer.version
            assert inner.prefixlen > outer.prefixlen
            assert inner.network_address in outer


# sentence: (address, whether it is reachable)
REACHED: dict[str, tuple[str, bool]] = {
    "a store": ("52.216.0.1", True),
    "a store over IPv6": ("2600:1f00::1", True),
    "the metadata server of most clouds": ("169.254.169.254", False),
    "the agent of EKS Pod Identity": ("169.254.170.23", False),
    "the metadata server of AWS over IPv6": ("fd00:ec2::254", False),
    "the metadata server of Google over IPv6": ("fd20:ce::254", False),
    "the wire server of Azure": ("168.63.129.16", False),
    "the metadata server of Alibaba": ("100.100.100.200", False),
}


@pytest.mark.parametrize(("address", "may"), REACHED.values(), ids=REACHED.keys())
def test_servers_and_jobs_reach_the_internet_except_metadata_services(
    address: str, may: bool
) -> None:
    network = {"egressRules": [{"to": [block("0.0.0.0/0"), block("::/0")], "ports": PORTS}]}
    spec = {**hardened_spec(network=network), "version": "2.5.5"}
    meant = gen.resolved(gen.cluster().with_spec(**spec))
    for build in (network_policy, jobs_network_policy):
        policy = Policy(build(meant, gen.world().facts()).body)
        assert policy.lets_out(Peer(address=address), 443) is may
        assert not policy.lets_out(Peer(address=address), 80)
