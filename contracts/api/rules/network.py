"""Rules about addresses and peers in spec.network.

Uses the API models. Collected by contracts.api.rules.cluster; `peers_of` also serves the Hardened
rules.
"""

from collections.abc import Iterator

from contracts.api.cluster.network import NetworkPolicyPeer, is_cidr, is_ip
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Broken, Offence, Rule

Old = OpenBaoCluster | None

# The fields of spec.network that hold peers.
PEER_LISTS = ("trustedIngressPeers[]", "egressRules[].to[]", "ingressRules[].from[]")


def _api_server_cidr(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    cidr = new.spec.network.api_server_cidr
    if cidr is not None and not is_cidr(cidr):
        yield "spec.network.apiServerCIDR", cidr


def _api_server_ips(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, text in enumerate(new.spec.network.api_server_endpoint_ips):
        if not is_ip(text):
            yield f"spec.network.apiServerEndpointIPs[{position}]", text


def _dns_ips(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, text in enumerate(new.spec.network.dns_endpoint_ips):
        if not is_ip(text):
            yield f"spec.network.dnsEndpointIPs[{position}]", text


def peers_of(cluster: OpenBaoCluster, where: str) -> Iterator[tuple[str, NetworkPolicyPeer]]:
    """The peers of one of PEER_LISTS, each with its field path."""
    network = cluster.spec.network
    if where == "trustedIngressPeers[]":
        lists = [("trustedIngressPeers", network.trusted_ingress_peers)]
    elif where == "egressRules[].to[]":
        lists = [
            (f"egressRules[{position}].to", rule.to or ())
            for position, rule in enumerate(network.egress_rules)
        ]
    else:
        lists = [
            (f"ingressRules[{position}].from", rule.from_ or ())
            for position, rule in enumerate(network.ingress_rules)
        ]
    for path, peers in lists:
        for number, peer in enumerate(peers):
            yield f"spec.network.{path}[{number}]", peer


def _bad_blocks(where: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        for path, peer in peers_of(new, where):
            block = peer.ip_block
            if block and not all(map(is_cidr, (block.cidr, *(block.except_ or ())))):
                yield f"{path}.ipBlock", block.cidr

    return broken


def _is_muddled(peer: NetworkPolicyPeer) -> bool:
    selects = peer.pod_selector is not None or peer.namespace_selector is not None
    return (peer.ip_block is not None) == selects


def _muddled(where: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        for path, peer in peers_of(new, where):
            if _is_muddled(peer):
                yield path, None

    return broken


def _peer_rule(where: str) -> Rule:
    return Rule(
        id=f"peer-{where.partition('[')[0]}",
        at=f"spec.network.{where}",
        field=f"spec.network.{where}",
        message=(
            "must be either an ipBlock or selectors, as Kubernetes wants it; set one of them and "
            "not both"
        ),
        broken=_muddled(where),
        cel="has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))",
    )


def _block_rule(where: str) -> Rule:
    return Rule(
        id=f"ip-block-{where.partition('[')[0]}",
        at=f"spec.network.{where}.ipBlock",
        field=f"spec.network.{where}.ipBlock",
        message="must hold ranges of addresses such as 192.0.2.0/24; correct or remove it",
        broken=_bad_blocks(where),
        cel="isCIDR(self.cidr) && (!has(self.except) || self.except.all(c, isCIDR(c)))",
        got="self.cidr",
    )


NETWORK_RULES: tuple[Rule, ...] = (
    Rule(
        id="api-server-cidr",
        at="spec.network.apiServerCIDR",
        field="spec.network.apiServerCIDR",
        message="must be a range of addresses such as 10.96.0.1/32; correct or remove it",
        broken=_api_server_cidr,
        cel="isCIDR(self)",
    ),
    Rule(
        id="api-server-endpoint-ips",
        at="spec.network.apiServerEndpointIPs[]",
        field="spec.network.apiServerEndpointIPs[]",
        message="must be an IP address; correct or remove the entry",
        broken=_api_server_ips,
        cel="isIP(self)",
    ),
    Rule(
        id="dns-endpoint-ips",
        at="spec.network.dnsEndpointIPs[]",
        field="spec.network.dnsEndpointIPs[]",
        message="must be an IP address; correct or remove the entry",
        broken=_dns_ips,
        cel="isIP(self)",
    ),
    *map(_block_rule, PEER_LISTS),
    *map(_peer_rule, PEER_LISTS),
)
