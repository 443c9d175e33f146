"""managers.networking.policy: the allowed traffic of the servers."""

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
    "a peer reaches the API port": Row({}, "in", SERVER, 8200, True),
    "a server reaches a peer": Row({}, "out", SERVER, 8201, True),
    "a server of another cluster does not join": Row({}, "in", OTHER_CLUSTER, 8201, False),
    "a server of the same name in another namespace does not join": Row(
        {}, "in", SAME_NAME_ELSEWHERE, 8201, False
    ),
    "a server does not reach a server of the same name in another namespace": Row(
        {}, "out", SAME_NAME_ELSEWHERE, 8201, False
    ),
    "an application of the namespace reaches the API port": Row({}, "in", APP, 8200, True),
    "an application of the namespace does not join": Row({}, "in", APP, 8201, False),
    "a job of the cluster reaches the API port": Row({}, "in", BACKUP_JOB, 8200, True),
    "a job of the cluster does not join": Row({}, "in", BACKUP_JOB, 8201, False),
    "an application of another namespace does not reach the API port": Row(
        {}, "in", APP_ELSEWHERE, 8200, False
    ),
    "the operator reaches the API port": Row({}, "in", OPERATOR, 8200, True),
    "a pod of another namespace with the labels of the operator": Row(
        {}, "in", IMPOSTOR, 8200, False
    ),
    "the operator does not join": Row({}, "in", OPERATOR, 8201, False),
    "the internet does not reach the API port": Row({}, "in", INTERNET, 8200, False),
    "no other port is reachable": Row({}, "in", SERVER, 22, False),
    "UDP is not TCP": Row({}, "in", APP, 8200, False, "UDP"),
    "a server reaches DNS by UDP": Row({}, "out", DNS, 53, True, "UDP"),
    "a server reaches DNS by TCP": Row({}, "out", DNS, 53, True),
    "a server reaches no other port of DNS": Row({}, "out", DNS, 443, False),
    "a server reaches the API server": Row({}, "out", API_SERVER, 443, True),
    "a server reaches no other port of the API server": Row({}, "out", API_SERVER, 22, False),
    "a server does not reach another address near the API server": Row(
        {}, "out", Peer(address="10.96.0.2"), 443, False
    ),
    "a server does not reach the internet": Row({}, "out", INTERNET, 443, False),
    "a server does not reach an application": Row({}, "out", APP, 8080, False),
    "DNS in another namespace is reachable": Row(
        {"dnsNamespace": "dns"}, "out", Peer("dns"), 53, True, "UDP"
    ),
    "DNS in the default namespace is no longer reachable": Row(
        {"dnsNamespace": "dns"}, "out", DNS, 53, False, "UDP"
    ),
    "a DNS cache of the node is reachable": Row(CACHED, "out", CACHE, 53, True, "UDP"),
    "no other port of the DNS cache is reachable": Row(CACHED, "out", CACHE, 443, False),
    "a range of API servers is reached": Row(RANGE, "out", Peer(address="192.0.2.9"), 443, True),
    "a range replaces the observed address": Row(RANGE, "out", API_SERVER, 443, False),
    "the endpoint behind the API server's Service is reached": Row(
        ENDPOINT, "out", Peer(address="192.0.2.1"), 6443, True
    ),
    "the endpoint does not replace the Service": Row(ENDPOINT, "out", API_SERVER, 443, True),
    "a trusted peer reaches the API port": Row(TRUSTING_TEAM, "in", TEAM_A, 8200, True),
    "a trusted peer does not join": Row(TRUSTING_TEAM, "in", TEAM_A, 8201, False),
    "another pod of the namespace of a trusted peer does not reach the API port": Row(
        TRUSTING_TEAM, "in", TEAM_B, 8200, False
    ),
    "namespace and pod of a trusted peer must both match": Row(
        TRUSTING_POD, "in", Peer("elsewhere", {"app": "other"}), 8200, False
    ),
    "exceptions of a trusted range are not trusted": Row(
        TRUSTING_RANGE, "in", INTERNET, 8200, False
    ),
    "an ingress rule allows its peers": Row(LET_IN, "in", INTERNET, 8201, True),
    "an egress rule allows its port": Row(OPENED, "out", INTERNET, 443, True),
    "an egress rule allows no other port": Row(OPENED, "out", INTERNET, 80, False),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_which_traffic_is_allowed(row: Row) -> None:
    network_policy = policy(**row.network)
    talks = network_policy.lets_in if row.way == "in" else network_policy.lets_out
    assert talks(row.peer, row.port, row.protocol) is row.may


@pytest.mark.parametrize(
    ("metrics", "may"),
    [({"enabled": True, "scrapeProfile": "AllNodes"}, True), ({"enabled": True}, False)],
)
def test_clients_reach_the_metrics_port_only_with_a_listener(
    metrics: Mapping[str, Any], may: bool
) -> None:
    spec = {"version": "2.5.5", "observability": {"metrics": metrics}}
    meant = gen.resolved(gen.cluster().with_spec(**spec))
    policy = Policy(network_policy(meant, gen.world().facts()).body)
    assert policy.lets_in(APP, 8202, "TCP") is may
    assert policy.lets_in(INTERNET, 8202, "TCP") is False


# sentence: (pod, whether the policy selects it)
GUARDED: dict[str, tuple[Peer, bool]] = {
    "a server of the cluster": (SERVER, True),
    "a server of another cluster": (OTHER_CLUSTER, False),
    "a server of the same name in another namespace": (SAME_NAME_ELSEWHERE, False),
    "a job of the cluster": (BACKUP_JOB, False),
    "an application": (APP, False),
}


@pytest.mark.parametrize(("pod", "guarded"), GUARDED.values(), ids=GUARDED.keys())
def test_which_pods_the_policy_selects(pod: Peer, guarded: bool) -> None:
    assert policy().selects(pod) is guarded


def test_every_address_of_the_api_server_is_reachable() -> None:
    world = gen.World(api_servers=("10.96.0.1", "fd00::1"))
    for address in ("10.96.0.1", "fd00::1"):
        assert policy(world).lets_out(Peer(address=address), 443)


def test_an_unknown_api_server_opens_nothing() -> None:
    """An empty list of peers would match every peer."""
    world = gen.World(api_servers=())
    assert not policy(world).lets_out(INTERNET, 443)


def test_every_rule_has_peers_and_ports() -> None:
    spec = policy().body["spec"]
    for rule in spec["ingress"]:
        assert rule["from"]
        assert rule["ports"]
    for rule in spec["egress"]:
        assert rule["to"]
        assert rule["ports"]


@settings(deadline=None, max_examples=60)
@given(st.ip_addresses().map(str))
def test_a_host_is_a_range_of_one_address(address: str) -> None:
    width = "128" if ":" in address else "32"
    assert host_cidr(address) == f"{address}/{width}"


@pytest.mark.parametrize("text", ["", "example.com", "10.0.0.0/8", "10.0.0"])
def test_other_text_is_not_a_host(text: str) -> None:
    if "/" in text:
        assert host_cidr(text) == text
        return
    with pytest.raises(ValueError, match="does not appear to be"):
        host_cidr(text)
