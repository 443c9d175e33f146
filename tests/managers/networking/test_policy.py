"""managers.networking.policy: who may talk to whom."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.naming import labels
from managers.networking.flows import host_cidr
from managers.networking.policy import network_policy
from tests import gen
from tests.managers.networking.evaluator import Peer, Policy

SERVER = Peer(gen.NAMESPACE, labels.server_pod("x"))
OTHER_CLUSTER = Peer(gen.NAMESPACE, labels.server_pod("y"))
SAME_NAME_ELSEWHERE = Peer("elsewhere", labels.server_pod("x"))
BACKUP_JOB = Peer(gen.NAMESPACE, labels.component("x", "backup"))
APP = Peer(gen.NAMESPACE, {"app": "shop"})
APP_ELSEWHERE = Peer("elsewhere", {"app": "shop"})
OPERATOR = Peer("operators", {labels.NAME: labels.OPERATOR})
IMPOSTOR = Peer("elsewhere", {labels.NAME: labels.OPERATOR})
DNS = Peer("kube-system", {"k8s-app": "kube-dns"})
API_SERVER = Peer(address="10.96.0.1")
INTERNET = Peer(address="198.51.100.7")


def policy(world: gen.World | None = None, **network: Any) -> Policy:
    cluster = gen.cluster(network=network) if network else gen.cluster()
    facts = world or gen.world()
    return Policy(network_policy(gen.resolved(cluster, facts), facts.facts()).body)


# sentence: (spec.network, "in" or "out", peer, port, protocol, may it)
Row = tuple[Mapping[str, Any], str, Peer, int, str, bool]
ROWS: dict[str, Row] = {
    "a peer joins": ({}, "in", SERVER, 8201, "TCP", True),
    "a peer asks": ({}, "in", SERVER, 8200, "TCP", True),
    "a server calls a peer": ({}, "out", SERVER, 8201, "TCP", True),
    "a server of another cluster does not join": ({}, "in", OTHER_CLUSTER, 8201, "TCP", False),
    "a namesake of another namespace does not join": (
        {},
        "in",
        SAME_NAME_ELSEWHERE,
        8201,
        "TCP",
        False,
    ),
    "a server does not call a namesake elsewhere": (
        {},
        "out",
        SAME_NAME_ELSEWHERE,
        8201,
        "TCP",
        False,
    ),
    "an application of the namespace asks": ({}, "in", APP, 8200, "TCP", True),
    "an application of the namespace does not join": ({}, "in", APP, 8201, "TCP", False),
    "a job of the cluster asks": ({}, "in", BACKUP_JOB, 8200, "TCP", True),
    "a job of the cluster does not join": ({}, "in", BACKUP_JOB, 8201, "TCP", False),
    "an application elsewhere does not ask": ({}, "in", APP_ELSEWHERE, 8200, "TCP", False),
    "the operator asks": ({}, "in", OPERATOR, 8200, "TCP", True),
    "a pod elsewhere that calls itself operator": ({}, "in", IMPOSTOR, 8200, "TCP", False),
    "the operator does not join": ({}, "in", OPERATOR, 8201, "TCP", False),
    "the world does not ask": ({}, "in", INTERNET, 8200, "TCP", False),
    "nobody reaches another port": ({}, "in", SERVER, 22, "TCP", False),
    "UDP is not TCP": ({}, "in", APP, 8200, "UDP", False),
    "a server asks for names": ({}, "out", DNS, 53, "UDP", True),
    "a server asks for long names": ({}, "out", DNS, 53, "TCP", True),
    "a server asks DNS for nothing else": ({}, "out", DNS, 443, "TCP", False),
    "a server labels its pod": ({}, "out", API_SERVER, 443, "TCP", True),
    "a server asks the API server's host for nothing else": (
        {},
        "out",
        API_SERVER,
        22,
        "TCP",
        False,
    ),
    "a neighbour of the API server is not it": (
        {},
        "out",
        Peer(address="10.96.0.2"),
        443,
        "TCP",
        False,
    ),
    "a server calls nobody in the world": ({}, "out", INTERNET, 443, "TCP", False),
    "a server calls no application": ({}, "out", APP, 8080, "TCP", False),
    "DNS may run elsewhere": ({"dnsNamespace": "dns"}, "out", Peer("dns"), 53, "UDP", True),
    "then it no longer runs where it did": ({"dnsNamespace": "dns"}, "out", DNS, 53, "UDP", False),
    "a cache of names on the node is asked": (
        {"dnsEndpointIPs": ["169.254.20.10"]},
        "out",
        Peer(address="169.254.20.10"),
        53,
        "UDP",
        True,
    ),
    "such a cache is asked for names only": (
        {"dnsEndpointIPs": ["169.254.20.10"]},
        "out",
        Peer(address="169.254.20.10"),
        443,
        "TCP",
        False,
    ),
    "a range of API servers is reached": (
        {"apiServerCIDR": "192.0.2.0/24"},
        "out",
        Peer(address="192.0.2.9"),
        443,
        "TCP",
        True,
    ),
    "a range replaces the address that was found": (
        {"apiServerCIDR": "192.0.2.0/24"},
        "out",
        API_SERVER,
        443,
        "TCP",
        False,
    ),
    "the endpoint behind the API server's Service is reached": (
        {"apiServerEndpointIPs": ["192.0.2.1"]},
        "out",
        Peer(address="192.0.2.1"),
        6443,
        "TCP",
        True,
    ),
    "the endpoint does not replace the Service": (
        {"apiServerEndpointIPs": ["192.0.2.1"]},
        "out",
        API_SERVER,
        443,
        "TCP",
        True,
    ),
    "a trusted peer asks": (
        {"trustedIngressPeers": [{"namespaceSelector": {"matchLabels": {"team": "a"}}}]},
        "in",
        Peer("elsewhere", {}, namespace_labels={"team": "a"}),
        8200,
        "TCP",
        True,
    ),
    "a trusted peer does not join": (
        {"trustedIngressPeers": [{"namespaceSelector": {"matchLabels": {"team": "a"}}}]},
        "in",
        Peer("elsewhere", {}, namespace_labels={"team": "a"}),
        8201,
        "TCP",
        False,
    ),
    "a trusted peer's neighbour does not ask": (
        {"trustedIngressPeers": [{"namespaceSelector": {"matchLabels": {"team": "a"}}}]},
        "in",
        Peer("elsewhere", {}, namespace_labels={"team": "b"}),
        8200,
        "TCP",
        False,
    ),
    "a trusted namespace and pod must both be right": (
        {
            "trustedIngressPeers": [
                {"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "shop"}}}
            ]
        },
        "in",
        Peer("elsewhere", {"app": "other"}),
        8200,
        "TCP",
        False,
    ),
    "a trusted range has its holes": (
        {
            "trustedIngressPeers": [
                {"ipBlock": {"cidr": "198.51.100.0/24", "except": ["198.51.100.0/28"]}}
            ]
        },
        "in",
        INTERNET,
        8200,
        "TCP",
        False,
    ),
    "an ingress rule opens what it says": (
        {"ingressRules": [{"from": [{"ipBlock": {"cidr": "198.51.100.0/24"}}]}]},
        "in",
        INTERNET,
        8201,
        "TCP",
        True,
    ),
    "an egress rule opens what it says": (
        {
            "egressRules": [
                {
                    "to": [{"ipBlock": {"cidr": "198.51.100.0/24"}}],
                    "ports": [{"port": 443, "protocol": "TCP"}],
                }
            ]
        },
        "out",
        INTERNET,
        443,
        "TCP",
        True,
    ),
    "and no more": (
        {
            "egressRules": [
                {
                    "to": [{"ipBlock": {"cidr": "198.51.100.0/24"}}],
                    "ports": [{"port": 443, "protocol": "TCP"}],
                }
            ]
        },
        "out",
        INTERNET,
        80,
        "TCP",
        False,
    ),
}


@pytest.mark.parametrize(
    ("network", "way", "peer", "port", "protocol", "may"), ROWS.values(), ids=ROWS.keys()
)
def test_who_may_talk_to_whom(
    network: Mapping[str, Any], way: str, peer: Peer, port: int, protocol: str, may: bool
) -> None:
    found = policy(**network)
    talks = found.lets_in if way == "in" else found.lets_out
    assert talks(peer, port, protocol) is may


@pytest.mark.parametrize(
    ("metrics", "may"),
    [({"enabled": True, "scrapeProfile": "AllNodes"}, True), ({"enabled": True}, False)],
)
def test_the_port_of_metrics_is_open_to_clients_when_something_listens(
    metrics: Mapping[str, Any], may: bool
) -> None:
    spec = {"version": "2.5.5", "observability": {"metrics": metrics}}
    meant = gen.resolved(gen.cluster().wanting(**spec))
    found = Policy(network_policy(meant, gen.world().facts()).body)
    assert found.lets_in(APP, 8202, "TCP") is may
    assert found.lets_in(INTERNET, 8202, "TCP") is False


# sentence: (pod, is it guarded)
GUARDED: dict[str, tuple[Peer, bool]] = {
    "a server is guarded": (SERVER, True),
    "a server of another cluster has its own policy": (OTHER_CLUSTER, False),
    "a namesake elsewhere has its own": (SAME_NAME_ELSEWHERE, False),
    "a job of the cluster is not a server": (BACKUP_JOB, False),
    "an application is left alone": (APP, False),
}


@pytest.mark.parametrize(("pod", "guarded"), GUARDED.values(), ids=GUARDED.keys())
def test_whom_the_policy_guards(pod: Peer, guarded: bool) -> None:
    assert policy().selects(pod) is guarded


def test_every_address_of_the_api_server_is_reached() -> None:
    world = gen.World(api_servers=("10.96.0.1", "fd00::1"))
    for address in ("10.96.0.1", "fd00::1"):
        assert policy(world).lets_out(Peer(address=address), 443)


def test_an_unknown_api_server_opens_nothing() -> None:
    """An empty list of peers would mean everybody."""
    world = gen.World(api_servers=())
    assert not policy(world).lets_out(INTERNET, 443)


def test_no_rule_of_ours_is_open_to_everybody() -> None:
    spec = policy().body["spec"]
    for rule in spec["ingress"]:
        assert rule["from"]
        assert rule["ports"]
    for rule in spec["egress"]:
        assert rule["to"]
        assert rule["ports"]


@settings(deadline=None, max_examples=60)
@given(st.ip_addresses().map(str))
def test_a_host_is_a_range_of_one(address: str) -> None:
    width = "128" if ":" in address else "32"
    assert host_cidr(address) == f"{address}/{width}"


@pytest.mark.parametrize("text", ["", "example.com", "10.0.0.0/8", "10.0.0"])
def test_other_text_is_no_host(text: str) -> None:
    if "/" in text:
        assert host_cidr(text) == text
        return
    with pytest.raises(ValueError, match="does not appear to be"):
        host_cidr(text)
