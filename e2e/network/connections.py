"""The permissions table as connections: for each row some that must pass, and some that must not.

A connection goes from one place to a port of another. The places are pods of the scenario, the node
(`node`), the address of the API server's Service (`api`), that of another Service (`shop`), and the
link-local address where clouds serve credentials (`metadata`). Places that begin with `locked` are
pods under the policies of a cluster with profile Hardened: there, no two rows overlap.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.naming.ports import API, CLUSTER
from e2e.harness.network_namespaces import Protocol
from e2e.harness.stores import S3_PORT
from e2e.rig.layout import API_PORT
from managers.networking import flows
from managers.networking.flows import Direction, FlowPeer, Permission, PolicyPods, Ports

METRICS_PORT = 8202
HTTPS = 443
NAMES = 53
# At the same address as the API server; no row allows it.
KUBELET = 10250
OTHER = 8443
"""A port that is in no row."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection from one place to a port of another."""

    source: str
    target: str
    port: int
    protocol: Protocol = "TCP"


@dataclass(frozen=True, slots=True)
class RowConnections:
    """The connections of a row that must pass, and those that must not."""

    allowed: tuple[Connection, ...]
    denied: tuple[Connection, ...]


Key = tuple[PolicyPods, Direction, FlowPeer, Ports]


def keys(permissions: tuple[Permission, ...]) -> list[Key]:
    """Return the rows of the table; a row for both servers and Jobs becomes two."""
    return [
        (pods, permission.direction, permission.peer, permission.ports)
        for permission in permissions
        for pods in permission.pods
    ]


def _names(source: str) -> RowConnections:
    both: tuple[Protocol, ...] = ("UDP", "TCP")
    lines = [
        Connection(source, place, NAMES, protocol) for place in ("node", "dns") for protocol in both
    ]
    # Another pod that listens on that port, and another port of the same pod.
    return RowConnections(
        tuple(lines),
        (
            Connection(source, "other", NAMES),
            Connection(source, "other", NAMES, "UDP"),
            Connection(source, "dns", OTHER),
        ),
    )


def _service(source: str) -> RowConnections:
    return RowConnections((Connection(source, "api", HTTPS),), (Connection(source, "shop", HTTPS),))


def _endpoints(source: str) -> RowConnections:
    return RowConnections(
        (Connection(source, "node", API_PORT),), (Connection(source, "node", KUBELET),)
    )


ROWS: Mapping[Key, RowConnections] = {
    ("servers", "in", flows.SERVERS, flows.RAFT_PORTS): RowConnections(
        (
            Connection("server-1", "server-0", API.number),
            Connection("server-1", "server-0", CLUSTER.number),
            Connection("locked-server-1", "locked-server-0", CLUSTER.number),
        ),
        (
            Connection("app", "server-0", CLUSTER.number),
            Connection("job", "server-0", CLUSTER.number),
            Connection("server-of-another", "server-0", CLUSTER.number),
            Connection("locked-server-1", "locked-server-0", OTHER),
        ),
    ),
    ("servers", "in", flows.NAMESPACE, flows.CLIENT_PORTS): RowConnections(
        (Connection("app", "server-0", API.number), Connection("app", "server-0", METRICS_PORT)),
        (
            Connection("other", "server-0", API.number),
            Connection("other", "server-0", METRICS_PORT),
            Connection("locked-app", "locked-server-0", API.number),
            Connection("locked-app", "locked-server-0", METRICS_PORT),
        ),
    ),
    ("servers", "in", flows.OPERATOR, flows.API_PORT): RowConnections(
        (
            Connection("operator", "server-0", API.number),
            Connection("operator", "locked-server-0", API.number),
        ),
        (
            Connection("operator", "server-0", CLUSTER.number),
            Connection("operator", "server-0", METRICS_PORT),
            Connection("like-operator", "server-0", API.number),
            Connection("next-to-operator", "server-0", API.number),
        ),
    ),
    ("servers", "in", flows.JOBS, flows.API_PORT): RowConnections(
        (
            Connection("job", "server-0", API.number),
            Connection("locked-job", "locked-server-0", API.number),
        ),
        (
            Connection("locked-job-of-another", "locked-server-0", API.number),
            Connection("locked-job", "locked-server-0", METRICS_PORT),
        ),
    ),
    ("servers", "in", flows.TRUSTED, flows.CLIENT_PORTS): RowConnections(
        (
            Connection("edge", "server-0", API.number),
            Connection("edge", "server-0", METRICS_PORT),
            Connection("edge", "locked-server-0", API.number),
        ),
        (
            Connection("edge", "server-0", CLUSTER.number),
            Connection("next-to-edge", "server-0", API.number),
            Connection("next-to-edge", "locked-server-0", API.number),
        ),
    ),
    ("servers", "out", flows.DNS, flows.NAME_PORTS): _names("server-0"),
    ("jobs", "out", flows.DNS, flows.NAME_PORTS): _names("job"),
    ("servers", "out", flows.SERVERS, flows.RAFT_PORTS): RowConnections(
        (
            Connection("server-0", "server-1", API.number),
            Connection("server-0", "server-1", CLUSTER.number),
            Connection("locked-server-0", "locked-server-1", CLUSTER.number),
        ),
        (
            Connection("server-0", "app", API.number),
            Connection("server-0", "app", CLUSTER.number),
            Connection("locked-server-0", "locked-server-1", METRICS_PORT),
        ),
    ),
    ("jobs", "out", flows.SERVERS, flows.API_PORT): RowConnections(
        (
            Connection("job", "server-1", API.number),
            Connection("locked-job", "locked-server-1", API.number),
        ),
        (Connection("job", "app", API.number), Connection("locked-job", "app", API.number)),
    ),
    ("jobs", "out", flows.STORES, flows.STORE_PORTS): RowConnections(
        (Connection("job", "other", HTTPS), Connection("job", "node", S3_PORT)),
        (
            Connection("job", "other", OTHER),
            Connection("job", "metadata", HTTPS),
            Connection("server-0", "other", HTTPS),
            Connection("server-0", "node", S3_PORT),
            Connection("locked-job", "other", HTTPS),
        ),
    ),
    ("servers", "out", flows.API_SERVER, flows.HTTPS_PORT): _service("server-0"),
    ("jobs", "out", flows.API_SERVER, flows.HTTPS_PORT): _service("job"),
    ("servers", "out", flows.ENDPOINTS, flows.ENDPOINT_PORTS): _endpoints("server-0"),
    ("jobs", "out", flows.ENDPOINTS, flows.ENDPOINT_PORTS): _endpoints("job"),
}

# The egress of a Hardened cluster with a rule of the user for 0.0.0.0/0 and one port.
WIDE_EGRESS = RowConnections(
    (Connection("wide-server", "other", HTTPS), Connection("wide-job", "other", HTTPS)),
    (
        Connection("wide-server", "metadata", HTTPS),
        Connection("wide-job", "metadata", HTTPS),
        Connection("wide-server", "other", OTHER),
        Connection("wide-job", "other", OTHER),
    ),
)

# Jobs have no row for ingress: they accept nothing.
JOBS_ACCEPT_NOTHING = (
    Connection("app", "job", OTHER),
    Connection("server-0", "job", OTHER),
    Connection("operator", "job", OTHER),
)
