"""The permissions table as connections: for each row some that must pass, and some that must not.

A connection goes from one place to a port of another. The places are pods of the scenario, the node
(`node`), the address of the API server's Service (`api`), that of another Service (`shop`), and the
link-local address where clouds serve credentials (`metadata`). Places that begin with `locked` are
pods under the policies of a cluster with profile Hardened: there, no two rows overlap.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.naming.ports import API, CLUSTER
from e2e.harness.seats import Protocol
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
class Line:
    """A connection from one place to a port of another."""

    source: str
    target: str
    port: int
    protocol: Protocol = "TCP"


@dataclass(frozen=True, slots=True)
class Lines:
    """The connections of a row that must pass, and those that must not."""

    allowed: tuple[Line, ...]
    denied: tuple[Line, ...]


Key = tuple[PolicyPods, Direction, FlowPeer, Ports]


def keys(permissions: tuple[Permission, ...]) -> list[Key]:
    """Return the rows of the table; a row for both servers and Jobs becomes two."""
    return [
        (pods, permission.direction, permission.peer, permission.ports)
        for permission in permissions
        for pods in permission.pods
    ]


def _names(source: str) -> Lines:
    both: tuple[Protocol, ...] = ("UDP", "TCP")
    lines = [Line(source, place, NAMES, protocol) for place in ("node", "dns") for protocol in both]
    # Another pod that listens on that port, and another port of the same pod.
    return Lines(
        tuple(lines),
        (
            Line(source, "other", NAMES),
            Line(source, "other", NAMES, "UDP"),
            Line(source, "dns", OTHER),
        ),
    )


def _service(source: str) -> Lines:
    return Lines((Line(source, "api", HTTPS),), (Line(source, "shop", HTTPS),))


def _endpoints(source: str) -> Lines:
    return Lines((Line(source, "node", API_PORT),), (Line(source, "node", KUBELET),))


ROWS: Mapping[Key, Lines] = {
    ("servers", "in", flows.SERVERS, flows.RAFT_PORTS): Lines(
        (
            Line("server-1", "server-0", API.number),
            Line("server-1", "server-0", CLUSTER.number),
            Line("locked-server-1", "locked-server-0", CLUSTER.number),
        ),
        (
            Line("app", "server-0", CLUSTER.number),
            Line("job", "server-0", CLUSTER.number),
            Line("server-of-another", "server-0", CLUSTER.number),
            Line("locked-server-1", "locked-server-0", OTHER),
        ),
    ),
    ("servers", "in", flows.NAMESPACE, flows.CLIENT_PORTS): Lines(
        (Line("app", "server-0", API.number), Line("app", "server-0", METRICS_PORT)),
        (
            Line("other", "server-0", API.number),
            Line("other", "server-0", METRICS_PORT),
            Line("locked-app", "locked-server-0", API.number),
            Line("locked-app", "locked-server-0", METRICS_PORT),
        ),
    ),
    ("servers", "in", flows.OPERATOR, flows.API_PORT): Lines(
        (
            Line("operator", "server-0", API.number),
            Line("operator", "locked-server-0", API.number),
        ),
        (
            Line("operator", "server-0", CLUSTER.number),
            Line("operator", "server-0", METRICS_PORT),
            Line("like-operator", "server-0", API.number),
            Line("beside-operator", "server-0", API.number),
        ),
    ),
    ("servers", "in", flows.JOBS, flows.API_PORT): Lines(
        (Line("job", "server-0", API.number), Line("locked-job", "locked-server-0", API.number)),
        (
            Line("locked-job-of-another", "locked-server-0", API.number),
            Line("locked-job", "locked-server-0", METRICS_PORT),
        ),
    ),
    ("servers", "in", flows.TRUSTED, flows.CLIENT_PORTS): Lines(
        (
            Line("edge", "server-0", API.number),
            Line("edge", "server-0", METRICS_PORT),
            Line("edge", "locked-server-0", API.number),
        ),
        (
            Line("edge", "server-0", CLUSTER.number),
            Line("beside-edge", "server-0", API.number),
            Line("beside-edge", "locked-server-0", API.number),
        ),
    ),
    ("servers", "out", flows.DNS, flows.NAME_PORTS): _names("server-0"),
    ("jobs", "out", flows.DNS, flows.NAME_PORTS): _names("job"),
    ("servers", "out", flows.SERVERS, flows.RAFT_PORTS): Lines(
        (
            Line("server-0", "server-1", API.number),
            Line("server-0", "server-1", CLUSTER.number),
            Line("locked-server-0", "locked-server-1", CLUSTER.number),
        ),
        (
            Line("server-0", "app", API.number),
            Line("server-0", "app", CLUSTER.number),
            Line("locked-server-0", "locked-server-1", METRICS_PORT),
        ),
    ),
    ("jobs", "out", flows.SERVERS, flows.API_PORT): Lines(
        (Line("job", "server-1", API.number), Line("locked-job", "locked-server-1", API.number)),
        (Line("job", "app", API.number), Line("locked-job", "app", API.number)),
    ),
    ("jobs", "out", flows.STORES, flows.STORE_PORTS): Lines(
        (Line("job", "other", HTTPS), Line("job", "node", S3_PORT)),
        (
            Line("job", "other", OTHER),
            Line("job", "metadata", HTTPS),
            Line("server-0", "other", HTTPS),
            Line("server-0", "node", S3_PORT),
            Line("locked-job", "other", HTTPS),
        ),
    ),
    ("servers", "out", flows.API_SERVER, flows.HTTPS_PORT): _service("server-0"),
    ("jobs", "out", flows.API_SERVER, flows.HTTPS_PORT): _service("job"),
    ("servers", "out", flows.ENDPOINTS, flows.ENDPOINT_PORTS): _endpoints("server-0"),
    ("jobs", "out", flows.ENDPOINTS, flows.ENDPOINT_PORTS): _endpoints("job"),
}

# The egress of a Hardened cluster with a rule of the user for 0.0.0.0/0 and one port.
WIDE_EGRESS = Lines(
    (Line("wide-server", "other", HTTPS), Line("wide-job", "other", HTTPS)),
    (
        Line("wide-server", "metadata", HTTPS),
        Line("wide-job", "metadata", HTTPS),
        Line("wide-server", "other", OTHER),
        Line("wide-job", "other", OTHER),
    ),
)

# Jobs have no row for ingress: they accept nothing.
JOBS_ACCEPT_NOTHING = (
    Line("app", "job", OTHER),
    Line("server-0", "job", OTHER),
    Line("operator", "job", OTHER),
)
