"""Who may talk to whom, as one table: the NetworkPolicies are built of it, and the docs show it.

Everything that no row names is refused. A row whose peers do not exist in a cluster is left out of
its policy. Semantics: Kubernetes API reference, NetworkPolicySpec.
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
Guarded = Literal["servers", "jobs"]
Direction = Literal["in", "out"]

NAMESPACE_NAME = "kubernetes.io/metadata.name"
OPERATOR_POD_LABELS = {labels.NAME: labels.OPERATOR}
# Where the API server listens when nobody tells otherwise (kubeadm and most others).
ENDPOINT_PORT = 6443


@dataclass(frozen=True, slots=True)
class Ways:
    """What the rows look at: one cluster, and where the API server is."""

    resolved: Resolved
    api_server_hosts: tuple[str, ...]
    endpoints: ApiEndpoints

    @property
    def settings(self) -> NetworkSettings:
        """What `spec.network` asks for."""
        return self.resolved.network


@dataclass(frozen=True, slots=True)
class FlowPeer:
    """The other side of a row, in words and as the peers of a rule; no peers: no such rule."""

    label: str
    peers: Callable[[Ways], Peers]


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a row, in words and as the ports of a rule."""

    label: str
    ports: Callable[[Ways], list[PolicyPort]]


@dataclass(frozen=True, slots=True)
class Permission:
    """One row: pods of `guarded` may be called by, or may call, `peer` at `ports`, because."""

    guarded: tuple[Guarded, ...]
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


def _servers(context: Ways) -> Peers:
    return [{"podSelector": {"matchLabels": labels.servers(context.resolved.name)}}]


def job_selector(cluster: str) -> dict[str, Any]:
    """Select the pods of all jobs of a cluster."""
    component = {"key": labels.COMPONENT, "operator": "In", "values": list(labels.JOBS)}
    return {"matchLabels": labels.base(cluster), "matchExpressions": [component]}


def _jobs(context: Ways) -> Peers:
    return [{"podSelector": job_selector(context.resolved.name)}]


def _operator(context: Ways) -> Peers:
    namespace = {NAMESPACE_NAME: context.settings.operator_namespace}
    return [
        {
            "namespaceSelector": {"matchLabels": namespace},
            "podSelector": {"matchLabels": OPERATOR_POD_LABELS},
        }
    ]


def _own_namespace(context: Ways) -> Peers:
    return [{"podSelector": {}}] if context.settings.open_to_namespace else []


def _trusted(context: Ways) -> Peers:
    return [dict(peer) for peer in context.settings.trusted_peers]


def _dns(context: Ways) -> Peers:
    namespace = {NAMESPACE_NAME: context.settings.dns_namespace}
    return [
        {"namespaceSelector": {"matchLabels": namespace}},
        *_hosts(context.settings.dns_endpoints),
    ]


def _api_server(context: Ways) -> Peers:
    cidrs = context.settings.api_server_cidrs
    # Bits behind the prefix mean nothing, and the API server warns of them.
    ranges = tuple(str(ipaddress.ip_network(cidr, strict=False)) for cidr in cidrs)
    return _blocks(ranges) if cidrs else _hosts(context.api_server_hosts)


def _endpoints(context: Ways) -> Peers:
    return _hosts(context.settings.api_server_endpoints or context.endpoints.addresses)


def _endpoint_ports(context: Ways) -> list[PolicyPort]:
    numbers = {context.endpoints.port}
    if context.settings.api_server_endpoints:
        numbers.add(ENDPOINT_PORT)
    return [_tcp(number) for number in sorted(numbers)]


def _stores(context: Ways) -> Peers:
    """Nobody knows the address behind a name beforehand: everything but the machine's own link."""
    if not context.settings.store_ports:
        return []
    return [
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["127.0.0.0/8", "169.254.0.0/16"]}},
        {"ipBlock": {"cidr": "::/0", "except": ["::1/128", "fe80::/10"]}},
    ]


def _store_ports(context: Ways) -> list[PolicyPort]:
    return [_tcp(number) for number in context.settings.store_ports]


def _client_ports(context: Ways) -> list[PolicyPort]:
    metrics = context.settings.metrics_port
    return [API.policy_port(), *([] if metrics is None else [_tcp(metrics)])]


def _tcp(number: int) -> PolicyPort:
    return {"port": number, "protocol": "TCP"}


def _always(label: str, *ports: PolicyPort) -> Ports:
    return Ports(label, lambda context: list(ports))


SERVERS = FlowPeer("servers of the same cluster, of every pool", _servers)
JOBS = FlowPeer("jobs of the same cluster", _jobs)
OPERATOR = FlowPeer("the operator, in its own namespace", _operator)
NAMESPACE = FlowPeer(
    "every pod of the cluster's namespace, unless `spec.profile` is Hardened", _own_namespace
)
TRUSTED = FlowPeer("`spec.network.trustedIngressPeers`", _trusted)
DNS = FlowPeer("pods of `spec.network.dnsNamespace`, and `dnsEndpointIPs`", _dns)
API_SERVER = FlowPeer("the API server's Service, or `apiServerCIDR`", _api_server)
STORES = FlowPeer(
    "any address but those of the link, unless `spec.profile` is Hardened or `egressRules` are set",
    _stores,
)
ENDPOINTS = FlowPeer("the API server's own addresses, or `apiServerEndpointIPs`", _endpoints)

CLIENT_PORTS = Ports("8200, and the port of metrics", _client_ports)
RAFT_PORTS = _always("8200, 8201", API.policy_port(), CLUSTER.policy_port())
API_PORT = _always("8200", API.policy_port())
NAME_PORTS = _always("53 UDP and TCP", {"port": 53, "protocol": "UDP"}, _tcp(53))
HTTPS_PORT = _always("443", _tcp(443))
STORE_PORTS = Ports("443, and the port of `spec.backup.target.endpoint`", _store_ports)
ENDPOINT_PORTS = Ports("the port that they listen on, or 6443", _endpoint_ports)

BOTH: tuple[Guarded, ...] = ("servers", "jobs")
PERMISSIONS: tuple[Permission, ...] = (
    Permission(("servers",), "in", SERVERS, RAFT_PORTS, "raft, joining, forwarded requests"),
    Permission(("servers",), "in", NAMESPACE, CLIENT_PORTS, "clients, and a Gateway next door"),
    Permission(("servers",), "in", OPERATOR, API_PORT, "health, membership, handing over the lead"),
    Permission(("servers",), "in", JOBS, API_PORT, "snapshots and restores"),
    Permission(("servers",), "in", TRUSTED, CLIENT_PORTS, "clients, Gateways and Ingresses"),
    Permission(BOTH, "out", DNS, NAME_PORTS, "names"),
    Permission(("servers",), "out", SERVERS, RAFT_PORTS, "raft, joining, forwarded requests"),
    Permission(("jobs",), "out", SERVERS, API_PORT, "snapshots and restores"),
    Permission(("jobs",), "out", STORES, STORE_PORTS, "the store of `spec.backup`"),
    Permission(BOTH, "out", API_SERVER, HTTPS_PORT, "labels of the own pod, the end of a job"),
    Permission(
        BOTH, "out", ENDPOINTS, ENDPOINT_PORTS, "the same, where addresses are translated first"
    ),
)


def rules(context: Ways, guarded: Guarded, direction: Direction) -> list[dict[str, Any]]:
    """Build the rules of one policy and direction from the table, in its order."""
    side = "from" if direction == "in" else "to"
    entries = []
    for permission in PERMISSIONS:
        if guarded not in permission.guarded or permission.direction != direction:
            continue
        peers = permission.peer.peers(context)
        # An empty list of peers would mean everybody.
        if peers:
            entries.append(
                {side: peers, "ports": [dict(port) for port in permission.ports.ports(context)]}
            )
    return entries


def as_markdown() -> str:
    """The table as the documentation shows it."""
    lines = ["| pods | may | whom | at port | why |", "|---|---|---|---|---|"]
    for permission in PERMISSIONS:
        verb = "be called by" if permission.direction == "in" else "call"
        cells = (
            " and ".join(permission.guarded),
            verb,
            permission.peer.label,
            permission.ports.label,
            permission.why,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
