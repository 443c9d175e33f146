"""Rules about addresses and peers in spec.network.

Uses the API models. Collected by contracts.api.rules.cluster.
"""

from contracts.api.cluster.network import IpBlock
from contracts.api.rules.checks import group, has, it
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import Rule
from contracts.ip_address import is_cidr

# The fields of spec.network that hold peers.
PEER_LISTS = ("trustedIngressPeers[]", "egressRules[].to[]", "ingressRules[].from[]")


def _bad_range(block: IpBlock) -> str | None:
    return None if all(map(is_cidr, (block.cidr, *(block.except_ or ())))) else block.cidr


def _peer_rule(where: str) -> Rule:
    return rule(
        f"peer-{where.partition('[')[0]}",
        f"spec.network.{where}",
        "",
        "must have either an ipBlock or selectors, as Kubernetes requires; set one of them and "
        "not both",
        has("ipBlock").xor(group(has("podSelector") | has("namespaceSelector"))),
        shows=None,
    )


def _block_rule(where: str) -> Rule:
    return rule(
        f"ip-block-{where.partition('[')[0]}",
        f"spec.network.{where}.ipBlock",
        "",
        "must have CIDRs such as 192.0.2.0/24; correct or remove it",
        _bad_range,
        cel="isCIDR(self.cidr) && (!has(self.except) || self.except.all(c, isCIDR(c)))",
        got="self.cidr",
    )


NETWORK_RULES: tuple[Rule, ...] = (
    rule(
        "api-server-cidr",
        "spec.network.apiServerCIDR",
        "",
        "must be a CIDR such as 10.96.0.1/32; correct or remove it",
        it().is_cidr(),
    ),
    *(
        rule(
            id,
            f"spec.network.{field}[]",
            "",
            "must be an IP address; correct or remove the entry",
            it().is_ip(),
        )
        for id, field in (
            ("api-server-endpoint-ips", "apiServerEndpointIPs"),
            ("dns-endpoint-ips", "dnsEndpointIPs"),
        )
    ),
    *map(_block_rule, PEER_LISTS),
    *map(_peer_rule, PEER_LISTS),
)
