"""The table of the permitted network flows, from which the NetworkPolicies are built.

All other traffic is denied. A policy omits the permissions that have no peers in its cluster.
docs/networking.md contains the table.
Semantics: Kubernetes API reference, NetworkPolicySpec.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from contracts.naming import labels
from contracts.naming.ports import API, CLUSTER
from contracts.records.environment import ApiEndpoints
from contracts.records.resolved import NetworkSettings, Resolved

Peers = list[dict[str, Any]]
PolicyPort = Mapping[str, Any]
PolicyPods = Literal["servers", "jobs"]
"""The pods that a NetworkPolicy selects."""
Direction = Literal["in", "out"]

NAMESPACE_NAME = "kubernetes.io/metadata.name"
OPERATOR_POD_LABELS = {labels.NAME: labels.OPERATOR}
# Default port of the API server (kubeadm and most others).
ENDPOINT_PORT = 6443


@dataclass(frozen=True, slots=True)
class FlowContext:
    """Inputs of the permissions: one cluster, and the addresses of the API server."""

    resolved: Resolved
    api_server_hosts: tuple[str, ...]
    endpoints: ApiEndpoints

    @property
    def settings(self) -> NetworkSettings:
        """Resolved settings of `spec.network`."""
        return self.resolved.network


@dataclass(frozen=True, slots=True)
class FlowPeer:
    """The peer of a permission: its label in the docs, and the peers of the rule."""

    label: str
    peers: Callable[[FlowContext], Peers]


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a permission: their label in the docs, and the ports of the rule."""

    label: str
    ports: Callable[[FlowContext], list[PolicyPort]]


@dataclass(frozen=True, slots=True)
class Permission:
    """One permission: `peer` may connect to `pods` at `ports`.

    With direction "out" these pods may connect to `peer`. `why` is the purpose.
    """

    pods: tuple[PolicyPods, ...]
    direction: Direction
    peer: FlowPeer
    ports: Ports
    why: str


def host_cidr(host: str) -> str:
    """Turn an IP address into the CIDR of that one host; raises ValueError for other text."""
    return str(ipaddress.ip_network(host))


def _blocks(cidrs: tuple[str, ...]) -> Peers:
    return [{"ipBlock": {"cidr": cidr}} for cidr in cidrs]


def _hosts(hosts: tuple[str, ...]) -> Peers:
    return _blocks(tuple(map(host_cidr, hosts)))


def _servers(context: FlowContext) -> Peers:
    return [{"podSelector": {"matchLabels": labels.servers(context.resolved.name)}}]


def job_selector(cluster: str) -> dict[str, Any]:
    """Select the pods of all jobs of a cluster."""
    component = {"key": labels.COMPONENT, "operator": "In", "values": list(labels.JOBS)}
    return {"matchLabels": labels.base(cluster), "matchExpressions": [component]}


def _jobs(context: FlowContext) -> Peers:
    return [{"podSelector": job_selector(context.resolved.name)}]


def _operator(context: FlowContext) -> Peers:
    namespace = {NAMESPACE_NAME: context.settings.operator_namespace}
    return [
        {
            "namespaceSelector": {"matchLabels": namespace},
            "podSelector": {"matchLabels": OPERATOR_POD_LABELS},
        }
    ]


def _own_namespace(context: FlowContext) -> Peers:
    return [{"podSelector": {}}] if context.settings.open_to_namespace else []


def _trusted(context: FlowContext) -> Peers:
    return [dict(peer) for peer in context.settings.trusted_peers]


def _dns(context: FlowContext) -> Peers:
    namespace = {NAMESPACE_NAME: context.settings.dns_namespace}
    return [
        {"namespaceSelector": {"matchLabels": namespace}},
        *_hosts(context.settings.dns_endpoints),
    ]


def _api_server(context: FlowContext) -> Peers:
    cidrs = context.settings.api_server_cidrs
    # The API server warns about a CIDR with host bits.
    ranges = tuple(str(ipaddress.ip_network(cidr, strict=False)) for cidr in cidrs)
    return _blocks(ranges) if cidrs else _hosts(context.api_server_hosts)


def _endpoints(context: FlowContext) -> Peers:
    return _hosts(context.settings.api_server_endpoints or context.endpoints.addresses)


def _endpoint_ports(context: FlowContext) -> list[PolicyPort]:
    numbers = {context.endpoints.port}
    if context.settings.api_server_endpoints:
        numbers.add(ENDPOINT_PORT)
    return [_tcp(number) for number in sorted(numbers)]


def _stores(context: FlowContext) -> Peers:
    """Return all addresses except loopback and link-local: the store's address is not known."""
    if not context.settings.store_ports:
        return []
    return [
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["127.0.0.0/8", "169.254.0.0/16"]}},
        {"ipBlock": {"cidr": "::/0", "except": ["::1/128", "fe80::/10"]}},
    ]


def _store_ports(context: FlowContext) -> list[PolicyPort]:
    return [_tcp(number) for number in context.settings.store_ports]


def _client_ports(context: FlowContext) -> list[PolicyPort]:
    metrics = context.settings.metrics_port
    return [API.policy_port(), *([] if metrics is None else [_tcp(metrics)])]


def _tcp(number: int) -> PolicyPort:
    return {"port": number, "protocol": "TCP"}


def _always(label: str, *ports: PolicyPort) -> Ports:
    return Ports(label, lambda context: list(ports))


SERVERS = FlowPeer("servers of the same cluster, in every pool", _servers)
JOBS = FlowPeer("Jobs of the same cluster", _jobs)
OPERATOR = FlowPeer("the operator, in its own namespace", _operator)
NAMESPACE = FlowPeer(
    "all pods of the cluster's namespace, unless `spec.profile` is Hardened", _own_namespace
)
TRUSTED = FlowPeer("`spec.network.trustedIngressPeers`", _trusted)
DNS = FlowPeer("pods of `spec.network.dnsNamespace`, and `dnsEndpointIPs`", _dns)
API_SERVER = FlowPeer("the Service of the API server, or `apiServerCIDR`", _api_server)
STORES = FlowPeer(
    "any address except loopback and link-local; none with `egressRules` or profile Hardened",
    _stores,
)
ENDPOINTS = FlowPeer("the endpoints of the API server, or `apiServerEndpointIPs`", _endpoints)

CLIENT_PORTS = Ports("8200, and the metrics port", _client_ports)
RAFT_PORTS = _always("8200, 8201", API.policy_port(), CLUSTER.policy_port())
API_PORT = _always("8200", API.policy_port())
NAME_PORTS = _always("53 UDP and TCP", {"port": 53, "protocol": "UDP"}, _tcp(53))
HTTPS_PORT = _always("443", _tcp(443))
STORE_PORTS = Ports("443, and the port of `spec.backup.target.endpoint`", _store_ports)
ENDPOINT_PORTS = Ports("the port of the endpoints, or 6443", _endpoint_ports)

BOTH: tuple[PolicyPods, ...] = ("servers", "jobs")
PERMISSIONS: tuple[Permission, ...] = (
    Permission(("servers",), "in", SERVERS, RAFT_PORTS, "raft, joining, request forwarding"),
    Permission(
        ("servers",), "in", NAMESPACE, CLIENT_PORTS, "clients, and Gateways of the same namespace"
    ),
    Permission(("servers",), "in", OPERATOR, API_PORT, "health, raft membership, step-down"),
    Permission(("servers",), "in", JOBS, API_PORT, "snapshots and restores"),
    Permission(("servers",), "in", TRUSTED, CLIENT_PORTS, "clients, Gateways and Ingresses"),
    Permission(BOTH, "out", DNS, NAME_PORTS, "name resolution"),
    Permission(("servers",), "out", SERVERS, RAFT_PORTS, "raft, joining, request forwarding"),
    Permission(("jobs",), "out", SERVERS, API_PORT, "snapshots and restores"),
    Permission(("jobs",), "out", STORES, STORE_PORTS, "the store of `spec.backup`"),
    Permission(BOTH, "out", API_SERVER, HTTPS_PORT, "the labels of server pods, reports of Jobs"),
    Permission(
        BOTH,
        "out",
        ENDPOINTS,
        ENDPOINT_PORTS,
        "the same, if the network plugin evaluates packets after address translation",
    ),
)


def rules(context: FlowContext, pods: PolicyPods, direction: Direction) -> list[dict[str, Any]]:
    """Build the rules of one policy and direction from the table, in its order."""
    side = "from" if direction == "in" else "to"
    entries = []
    for permission in PERMISSIONS:
        if pods not in permission.pods or permission.direction != direction:
            continue
        peers = permission.peer.peers(context)
        # An empty list of peers would match all peers.
        if peers:
            entries.append(
                {side: peers, "ports": [dict(port) for port in permission.ports.ports(context)]}
            )
    return entries


def as_markdown() -> str:
    """Return the table for the documentation."""
    lines = ["| pods | direction | peer | port | purpose |", "|---|---|---|---|---|"]
    for permission in PERMISSIONS:
        cells = (
            " and ".join(permission.pods).replace("jobs", "Jobs"),
            "ingress from" if permission.direction == "in" else "egress to",
            permission.peer.label,
            permission.ports.label,
            permission.why,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
