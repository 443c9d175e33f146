"""managers.networking.policy: who may talk to whom."""

from collections.abc import Mapping
from typing import Any, NamedTuple

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


class Row(NamedTuple):
    network: Mapping[str, Any]
    way: str
    peer: Peer
    port: int
    may: bool
    protocol: str = "TCP"


BLOCK = {"ipBlock": {"cidr": "198.51.100.0/24"}}
RANGE = {"apiServerCIDR": "192.0.2.0/24"}
ENDPOINT = {"apiServerEndpointIPs": ["192.0.2.1"]}
CACHE = Peer(address="169.254.20.10")
CACHED = {"dnsEndpointIPs": ["169.254.20.10"]}
TEAM_A, TEAM_B = (Peer("elsewhere", {}, namespace_labels={"team": team}) for team in "ab")
TRUSTING_TEAM = {"trustedIngressPeers": [{"namespaceSelector": {"matchLabels": {"team": "a"}}}]}
SHOPS = {"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "shop"}}}
TRUSTING_POD = {"trustedIngressPeers": [SHOPS]}
HOLED = {"ipBlock": {"cidr": "198.51.100.0/24", "except": ["198.51.100.0/28"]}}
TRUSTING_RANGE = {"trustedIngressPeers": [HOLED]}
LET_IN = {"ingressRules": [{"from": [BLOCK]}]}
OPENED = {"egressRules": [{"to": [BLOCK], "ports": [{"port": 443, "protocol": "TCP"}]}]}
ROWS = {
    "a peer joins": Row({}, "in", SERVER, 8201, True),
    "a peer asks": Row({}, "in", SERVER, 8200, True),
    "a server calls a peer": Row({}, "out", SERVER, 8201, True),
    "a server of another cluster does not join": Row({}, "in", OTHER_CLUSTER, 8201, False),
    "a namesake of another namespace does not join": Row(
        {}, "in", SAME_NAME_ELSEWHERE, 8201, False
    ),
    "a server does not call a namesake elsewhere": Row({}, "out", SAME_NAME_ELSEWHERE, 8201, False),
    "an application of the namespace asks": Row({}, "in", APP, 8200, True),
    "an application of the namespace does not join": Row({}, "in", APP, 8201, False),
    "a job of the cluster asks": Row({}, "in", BACKUP_JOB, 8200, True),
    "a job of the cluster does not join": Row({}, "in", BACKUP_JOB, 8201, False),
    "an application elsewhere does not ask": Row({}, "in", APP_ELSEWHERE, 8200, False),
    "the operator asks": Row({}, "in", OPERATOR, 8200, True),
    "a pod elsewhere that calls itself operator": Row({}, "in", IMPOSTOR, 8200, False),
    "the operator does not join": Row({}, "in", OPERATOR, 8201, False),
    "the world does not ask": Row({}, "in", INTERNET, 8200, False),
    "nobody reaches another port": Row({}, "in", SERVER, 22, False),
    "UDP is not TCP": Row({}, "in", APP, 8200, False, "UDP"),
    "a server asks for names": Row({}, "out", DNS, 53, True, "UDP"),
    "a server asks for long names": Row({}, "out", DNS, 53, True),
    "a server asks DNS for nothing else": Row({}, "out", DNS, 443, False),
    "a server labels its pod": Row({}, "out", API_SERVER, 443, True),
    "a server asks the API server's host for nothing else": Row({}, "out", API_SERVER, 22, False),
    "a neighbour of the API server is not it": Row(
        {}, "out", Peer(address="10.96.0.2"), 443, False
    ),
    "a server calls nobody in the world": Row({}, "out", INTERNET, 443, False),
    "a server calls no application": Row({}, "out", APP, 8080, False),
    "DNS may run elsewhere": Row({"dnsNamespace": "dns"}, "out", Peer("dns"), 53, True, "UDP"),
    "then it no longer runs where it did": Row(
        {"dnsNamespace": "dns"}, "out", DNS, 53, False, "UDP"
    ),
    "a cache of names on the node is asked": Row(CACHED, "out", CACHE, 53, True, "UDP"),
    "such a cache is asked for names only": Row(CACHED, "out", CACHE, 443, False),
    "a range of API servers is reached": Row(RANGE, "out", Peer(address="192.0.2.9"), 443, True),
    "a range replaces the address that was found": Row(RANGE, "out", API_SERVER, 443, False),
    "the endpoint behind the API server's Service is reached": Row(
        ENDPOINT, "out", Peer(address="192.0.2.1"), 6443, True
    ),
    "the endpoint does not replace the Service": Row(ENDPOINT, "out", API_SERVER, 443, True),
    "a trusted peer asks": Row(TRUSTING_TEAM, "in", TEAM_A, 8200, True),
    "a trusted peer does not join": Row(TRUSTING_TEAM, "in", TEAM_A, 8201, False),
    "a trusted peer's neighbour does not ask": Row(TRUSTING_TEAM, "in", TEAM_B, 8200, False),
    "a trusted namespace and pod must both be right": Row(
        TRUSTING_POD, "in", Peer("elsewhere", {"app": "other"}), 8200, False
    ),
    "a trusted range has its holes": Row(TRUSTING_RANGE, "in", INTERNET, 8200, False),
    "an ingress rule opens what it says": Row(LET_IN, "in", INTERNET, 8201, True),
    "an egress rule opens what it says": Row(OPENED, "out", INTERNET, 443, True),
    "and no more": Row(OPENED, "out", INTERNET, 80, False),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_who_may_talk_to_whom(row: Row) -> None:
    network_policy = policy(**row.network)
    talks = network_policy.lets_in if row.way == "in" else network_policy.lets_out
    assert talks(row.peer, row.port, row.protocol) is row.may


@pytest.mark.parametrize(
    ("metrics", "may"),
    [({"enabled": True, "scrapeProfile": "AllNodes"}, True), ({"enabled": True}, False)],
)
def test_the_port_of_metrics_is_open_to_clients_when_something_listens(
    metrics: Mapping[str, Any], may: bool
) -> None:
    spec = {"version": "2.5.5", "observability": {"metrics": metrics}}
    meant = gen.resolved(gen.cluster().with_spec(**spec))
    policy = Policy(network_policy(meant, gen.world().facts()).body)
    assert policy.lets_in(APP, 8202, "TCP") is may
    assert policy.lets_in(INTERNET, 8202, "TCP") is False


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
