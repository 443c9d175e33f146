"""Whether pod A may reach pod B, by all policies of a cluster and for both pods."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from contracts.naming import labels
from managers.networking.flows import PERMISSIONS, as_markdown
from managers.networking.plan import plan
from runtime.builtin_kinds import NETWORK_POLICY
from tests import gen
from tests.house.checkout import ROOT
from tests.managers.networking.evaluator import Peer, Policy

VOTER = Peer(gen.NAMESPACE, labels.server_pod("x"))
READER = Peer(gen.NAMESPACE, {**labels.server_pod("x"), labels.WORKLOAD_POOL: labels.READ_REPLICA})
NEIGHBOR = Peer(gen.NAMESPACE, labels.server_pod("y"))
BACKUP = Peer(gen.NAMESPACE, labels.component("x", "backup"))
SNAPSHOT = Peer(gen.NAMESPACE, labels.component("x", "upgrade-snapshot"))
BACKUP_OF_NEIGHBOR = Peer(gen.NAMESPACE, labels.component("y", "backup"))
TEST = Peer(gen.NAMESPACE, labels.component("x", "restore-test"))
CLIENT = Peer(gen.NAMESPACE, {"app": "shop"})
CLIENT_ELSEWHERE = Peer("shop", {"app": "shop"}, namespace_labels={"team": "a"})
GATEWAY = Peer(gen.NAMESPACE, {"gateway": "edge"})
OPERATOR = Peer("operators", {labels.NAME: labels.OPERATOR})
DNS = Peer("kube-system", {"k8s-app": "kube-dns"})
WORLD = Peer(address="198.51.100.7")
SERVICE_ADDRESS = Peer(address="10.96.0.1")
ENDPOINT = Peer(address="192.0.2.1")
STRANGE_ENDPOINT = Peer(address="192.0.2.2")
STORE = Peer(address="203.0.113.5")
METADATA = Peer(address="169.254.169.254")

GATEWAY_TRUSTED = {"podSelector": {"matchLabels": {"gateway": "edge"}}}
TEAM_TRUSTED = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
TO_STORE = {
    "to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}],
    "ports": [{"port": 443, "protocol": "TCP"}],
}
OPEN = gen.cluster()
STORED: Mapping[str, Any] = {
    "schedule": "0 3 * * *",
    "target": {
        "endpoint": "https://s3.example.com:9000",
        "bucket": "b",
        "credentialsSecretRef": {"name": "store"},
    },
}
VOLUME = {"provider": "pvc", "bucket": "b", "pvc": {"claimName": "snapshots"}}
BACKED_UP = OPEN.self_init(login=True).with_spec(backup=STORED)
HARDENED: Mapping[str, Any] = {
    "profile": "Hardened",
    "tls": {"mode": "External"},
    "unseal": {
        "type": "transit",
        "transit": {
            "address": "https://kms.example.com",
            "keyName": "unseal",
            "mountPath": "transit",
        },
    },
}


def hardened_cluster(**network: Any) -> gen.Cluster:
    return gen.cluster().self_init().with_spec(**HARDENED, network=network or None)


def wishing(**network: Any) -> gen.Cluster:
    return gen.cluster(network=network)


def policies(cluster: gen.Cluster, world: gen.World | None = None) -> list[Policy]:
    facts = world or gen.world()
    intents = plan(gen.resolved(cluster, facts), facts.facts()).intents
    return [Policy(intent.body) for intent in intents if intent.resource == NETWORK_POLICY]


def may(policies: list[Policy], source: Peer, target: Peer, port: int, protocol: str) -> bool:
    """Policies are additive: one policy that selects the pod must allow the connection."""
    leaves = [policy for policy in policies if source.namespace and policy.selects(source)]
    enters = [policy for policy in policies if target.namespace and policy.selects(target)]
    out = not leaves or any(leaf.lets_out(target, port, protocol) for leaf in leaves)
    return out and (not enters or any(enter.lets_in(source, port, protocol) for enter in enters))


class Row(NamedTuple):
    cluster: gen.Cluster
    who: Peer
    whom: Peer
    port: int
    allowed: bool
    protocol: str = "TCP"


HARD = hardened_cluster()
TRUSTING = hardened_cluster(trustedIngressPeers=[GATEWAY_TRUSTED])
HARD_BACKED_UP = (
    hardened_cluster(egressRules=[TO_STORE]).self_init(login=True).with_spec(backup=STORED)
)
ROWS = {
    "voters replicate": Row(OPEN, VOTER, VOTER, 8201, True),
    "a read replica joins a voter": Row(OPEN, READER, VOTER, 8201, True),
    "a voter replicates to a read replica": Row(OPEN, VOTER, READER, 8201, True),
    "a read replica forwards": Row(OPEN, READER, VOTER, 8200, True),
    "a server reaches DNS by UDP": Row(OPEN, READER, DNS, 53, True, "UDP"),
    "a server reaches the API server's Service": Row(OPEN, VOTER, SERVICE_ADDRESS, 443, True),
    "a server reaches the endpoint of the API server": Row(OPEN, READER, ENDPOINT, 6443, True),
    "a server reaches no other address at that port": Row(
        OPEN, VOTER, STRANGE_ENDPOINT, 6443, False
    ),
    "a server does not reach the internet": Row(OPEN, VOTER, WORLD, 443, False),
    "a server does not reach a client": Row(OPEN, VOTER, CLIENT, 8080, False),
    "the operator reaches a voter": Row(OPEN, OPERATOR, VOTER, 8200, True),
    "the operator reaches a read replica": Row(OPEN, OPERATOR, READER, 8200, True),
    "the operator does not reach the cluster port": Row(OPEN, OPERATOR, VOTER, 8201, False),
    "a job reaches a server": Row(OPEN, BACKUP, VOTER, 8200, True),
    "a job of an upgrade reaches a server": Row(OPEN, SNAPSHOT, VOTER, 8200, True),
    "a job does not reach the cluster port": Row(OPEN, BACKUP, VOTER, 8201, False),
    "a job reaches DNS": Row(OPEN, BACKUP, DNS, 53, True),
    "a job reaches the API server": Row(OPEN, BACKUP, SERVICE_ADDRESS, 443, True),
    "a job reaches the endpoint of the API server": Row(OPEN, BACKUP, ENDPOINT, 6443, True),
    "a job does not reach the internet": Row(OPEN, BACKUP, WORLD, 443, False),
    "a job reaches the store of an egress rule": Row(
        wishing(egressRules=[TO_STORE]), BACKUP, STORE, 443, True
    ),
    "a job reaches the store of the spec at any address": Row(BACKED_UP, BACKUP, WORLD, 9000, True),
    "a job with backups reaches the token service of a cloud": Row(
        BACKED_UP, BACKUP, WORLD, 443, True
    ),
    "a job with backups reaches no other port": Row(BACKED_UP, BACKUP, WORLD, 22, False),
    "a job with backups does not reach the metadata service": Row(
        BACKED_UP, BACKUP, METADATA, 443, False
    ),
    "a server does not reach the store": Row(BACKED_UP, VOTER, WORLD, 9000, False),
    "an egress rule of the user replaces the default": Row(
        BACKED_UP.with_spec(network={"egressRules": [TO_STORE]}), BACKUP, WORLD, 9000, False
    ),
    "Hardened: a job reaches the store of an egress rule": Row(
        HARD_BACKED_UP, BACKUP, STORE, 443, True
    ),
    "Hardened: a job reaches no other address": Row(HARD_BACKED_UP, BACKUP, WORLD, 443, False),
    "a job with a volume does not reach the internet": Row(
        OPEN.self_init(login=True).with_spec(backup={**STORED, "target": VOLUME}),
        BACKUP,
        WORLD,
        443,
        False,
    ),
    "a restore test reaches the store": Row(BACKED_UP, TEST, WORLD, 9000, True),
    "a client does not reach the server of a restore test": Row(OPEN, CLIENT, TEST, 8200, False),
    "the operator does not reach a job": Row(OPEN, OPERATOR, BACKUP, 8200, False),
    "a client does not reach a job": Row(OPEN, CLIENT, SNAPSHOT, 80, False),
    "a server does not reach a job": Row(OPEN, VOTER, BACKUP, 8200, False),
    "an ingress rule of the user does not apply to jobs": Row(
        wishing(ingressRules=[{"from": [{"podSelector": {}}]}]), CLIENT, BACKUP, 80, False
    ),
    "a job does not reach a job of another cluster": Row(
        OPEN, BACKUP, BACKUP_OF_NEIGHBOR, 80, False
    ),
    "a client of the namespace reaches a server": Row(OPEN, CLIENT, VOTER, 8200, True),
    "a client of the namespace does not reach the cluster port": Row(
        OPEN, CLIENT, VOTER, 8201, False
    ),
    "a client of another namespace does not reach a server": Row(
        OPEN, CLIENT_ELSEWHERE, VOTER, 8200, False
    ),
    "a trusted client of another namespace reaches a server": Row(
        wishing(trustedIngressPeers=[TEAM_TRUSTED]), CLIENT_ELSEWHERE, VOTER, 8200, True
    ),
    "the internet does not reach a server": Row(OPEN, WORLD, VOTER, 8200, False),
    "a server of another cluster does not reach the cluster port": Row(
        OPEN, NEIGHBOR, VOTER, 8201, False
    ),
    "Hardened: a client of the namespace does not reach a server": Row(
        HARD, CLIENT, VOTER, 8200, False
    ),
    "Hardened: a trusted client of the namespace reaches a server": Row(
        TRUSTING, GATEWAY, VOTER, 8200, True
    ),
    "Hardened: an untrusted client of the namespace does not reach a server": Row(
        TRUSTING, CLIENT, VOTER, 8200, False
    ),
    "Hardened: the operator reaches a server": Row(HARD, OPERATOR, VOTER, 8200, True),
    "Hardened: a job reaches a server": Row(HARD, BACKUP, VOTER, 8200, True),
    "Hardened: servers replicate": Row(HARD, VOTER, READER, 8201, True),
    "endpoint addresses of the spec replace the observed ones": Row(
        wishing(apiServerEndpointIPs=["192.0.2.2"]), VOTER, ENDPOINT, 6443, False
    ),
    "endpoint addresses of the spec are reachable": Row(
        wishing(apiServerEndpointIPs=["192.0.2.2"]), VOTER, STRANGE_ENDPOINT, 6443, True
    ),
    "host bits of a range are ignored": Row(
        wishing(apiServerCIDR="198.51.100.99/24"), VOTER, WORLD, 443, True
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_whether_one_pod_may_reach_another(row: Row) -> None:
    cluster, who, whom, port, allowed, protocol = row
    assert may(policies(cluster), who, whom, port, protocol) is allowed


@pytest.mark.parametrize(
    ("requests", "found", "open_ports"),
    [
        ((), 6443, {6443}),
        ((), 443, {443}),
        (("192.0.2.1",), 6443, {6443}),
        (("192.0.2.1",), 443, {443, 6443}),
    ],
)
def test_the_api_server_is_reached_at_its_listening_port(
    requests: tuple[str, ...], found: int, open_ports: set[int]
) -> None:
    world = gen.world().reaching("10.96.0.1", endpoints=("192.0.2.1",), port=found)
    cluster = wishing(apiServerEndpointIPs=list(requests)) if requests else OPEN
    for port in (443, 6443, 22):
        for source in (VOTER, BACKUP):
            allowed = may(policies(cluster, world), source, ENDPOINT, port, "TCP")
            assert allowed is (port in open_ports)


def test_an_unknown_api_server_opens_nothing() -> None:
    network_policies = policies(OPEN, gen.world().reaching())
    for port in (443, 6443):
        assert not may(network_policies, VOTER, WORLD, port, "TCP")
        assert not may(network_policies, BACKUP, WORLD, port, "TCP")


def test_b42_a_gateway_in_the_same_namespace_is_allowed() -> None:
    """By default as a pod of the namespace, in profile Hardened as a trusted peer."""
    assert may(policies(OPEN), GATEWAY, VOTER, 8200, "TCP")
    assert may(policies(TRUSTING), GATEWAY, READER, 8200, "TCP")


@pytest.mark.parametrize("cluster", [OPEN, TRUSTING])
def test_b43_an_ingress_does_not_open_the_servers_to_the_internet(cluster: gen.Cluster) -> None:
    peers = {"trustedIngressPeers": [GATEWAY_TRUSTED]}
    ingress = {"enabled": True, "host": "bao.example.com"}
    network_policies = policies(cluster.with_spec(ingress=ingress, network=peers))
    assert not may(network_policies, WORLD, VOTER, 8200, "TCP")
    assert (
        network_policies[0].body["spec"]["ingress"]
        == policies(cluster.with_spec(network=peers))[0].body["spec"]["ingress"]
    )


def test_b10_no_address_is_guessed() -> None:
    """Every address is from the endpoints of the API server or from the spec."""
    spec = policies(OPEN)[0].body["spec"]
    blocks = [
        peer["ipBlock"]["cidr"]
        for rule in spec["egress"]
        for peer in rule["to"]
        if "ipBlock" in peer
    ]
    assert blocks == ["10.96.0.1/32", "192.0.2.1/32"]


def test_policies_exist_before_the_pods() -> None:
    """No StatefulSet is applied before both policies."""
    assert [policy.body["metadata"]["name"] for policy in policies(OPEN)] == [
        "x-network-policy",
        "x-jobs-network-policy",
    ]


def test_every_row_of_the_table_is_a_rule() -> None:
    cluster = BACKED_UP.with_spec(network={"trustedIngressPeers": [TEAM_TRUSTED]})
    rules = 0
    for policy in policies(cluster):
        spec = policy.body["spec"]
        rules += len(spec.get("ingress", ())) + len(spec["egress"])
    assert rules == sum(len(row.pods) for row in PERMISSIONS)


def test_every_rule_has_peers_and_ports() -> None:
    for cluster in (OPEN, hardened_cluster()):
        for policy in policies(cluster, gen.world().reaching()):
            for rule in (*policy.body["spec"].get("ingress", ()), *policy.body["spec"]["egress"]):
                assert rule.get("from") or rule.get("to")
                assert rule["ports"]


def test_the_documentation_shows_the_table() -> None:
    text = (ROOT / "docs" / "networking.md").read_text(encoding="utf-8")
    assert as_markdown() in text, f"docs/networking.md must contain this:\n{as_markdown()}"


def test_pods_of_a_future_pool_are_selected_too() -> None:
    to_come = replace(VOTER, labels={**VOTER.labels, labels.WORKLOAD_POOL: "to-come"})
    assert not may(policies(OPEN), WORLD, to_come, 8200, "TCP")
