"""The NetworkPolicy of the server pods: everything is refused but the rows below.

The rig's network does not enforce policies, so tests evaluate the object instead
(docs/limits.md).
"""

from __future__ import annotations

import ipaddress
from typing import Any

from contracts import labels, names
from contracts.observed import Observed
from contracts.ports import API, CLUSTER, Port
from contracts.resolved import Resolved
from contracts.shapes.metadata import cluster_object
from runtime.intent import Intent
from runtime.memo import remembered
from runtime.resources import NETWORK_POLICY

OPERATOR_POD_LABELS = {labels.NAME: labels.OPERATOR}
NAMESPACE_NAME = "kubernetes.io/metadata.name"
DNS_PORTS = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]


def network_policy(resolved: Resolved, observed: Observed) -> Intent:
    """Build the policy: who may call the servers, and whom they may call."""
    return _policy(resolved, observed.api_server_hosts)


@remembered
def _policy(resolved: Resolved, api_server_hosts: tuple[str, ...]) -> Intent:
    return cluster_object(
        resolved,
        NETWORK_POLICY,
        names.network_policy(resolved.name),
        {
            "spec": {
                "podSelector": {"matchLabels": labels.voters(resolved.name)},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": _ingress(resolved),
                "egress": _egress(resolved, api_server_hosts),
            }
        },
    )


def _peers(resolved: Resolved) -> list[dict[str, Any]]:
    return [{"podSelector": {"matchLabels": labels.voters(resolved.name)}}]


def _ingress(resolved: Resolved) -> list[dict[str, Any]]:
    wishes = resolved.network
    rules: list[dict[str, Any]] = [
        {"from": _peers(resolved), "ports": [API.policy_port(), CLUSTER.policy_port()]},
        # Clients of this namespace reach the API; other namespaces are named in
        # spec.network.trustedIngressPeers.
        {"from": [{"podSelector": {}}], "ports": _client_ports(resolved)},
        {
            "from": [
                {
                    "namespaceSelector": {
                        "matchLabels": {NAMESPACE_NAME: wishes.operator_namespace}
                    },
                    "podSelector": {"matchLabels": OPERATOR_POD_LABELS},
                }
            ],
            "ports": [API.policy_port()],
        },
    ]
    if wishes.trusted_peers:
        rules.append(
            {"from": [dict(p) for p in wishes.trusted_peers], "ports": _client_ports(resolved)}
        )
    return rules + [dict(rule) for rule in wishes.ingress_rules]


def _client_ports(resolved: Resolved) -> list[dict[str, Any]]:
    number = resolved.network.metrics_port
    metrics = () if number is None else (Port("metrics", number),)
    return [port.policy_port() for port in (API, *metrics)]


def _egress(resolved: Resolved, api_server_hosts: tuple[str, ...]) -> list[dict[str, Any]]:
    wishes = resolved.network
    dns: list[dict[str, Any]] = [
        {"namespaceSelector": {"matchLabels": {NAMESPACE_NAME: wishes.dns_namespace}}}
    ]
    dns += [_block(host) for host in wishes.dns_endpoints]
    api_servers = wishes.api_server_cidrs or tuple(map(host_cidr, api_server_hosts))
    rules: list[dict[str, Any]] = [
        {"to": dns, "ports": DNS_PORTS},
        {"to": _peers(resolved), "ports": [API.policy_port(), CLUSTER.policy_port()]},
    ]
    if api_servers:
        rules.append(
            {
                "to": [{"ipBlock": {"cidr": cidr}} for cidr in api_servers],
                "ports": [{"port": 443, "protocol": "TCP"}],
            }
        )
    if wishes.api_server_endpoints:
        # Some networks judge a packet after its Service address was replaced.
        rules.append(
            {
                "to": [_block(host) for host in wishes.api_server_endpoints],
                "ports": [{"port": 6443, "protocol": "TCP"}],
            }
        )
    return rules + [dict(rule) for rule in wishes.egress_rules]


def _block(host: str) -> dict[str, Any]:
    return {"ipBlock": {"cidr": host_cidr(host)}}


def host_cidr(host: str) -> str:
    """Turn an IP address into the CIDR of that one host; raises ValueError for other text."""
    return str(ipaddress.ip_network(host))
