"""The kernel enforces the NetworkPolicies of a cluster: only the connections of each row pass.

The enforcer is the policy controller of kube-router. It runs from the start, for the operator,
which runs in the network of a pod, for three servers that form a cluster, and for Jobs. At the end
the enforcer stops and all connections pass: only the policies refused them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from e2e.conftest import MakeNamespace
from e2e.demo import table
from e2e.harness.backups import SELDOM, backup_now, check_stored, make_credentials
from e2e.harness.clusters import Cluster
from e2e.harness.installation import NAMESPACE as OPERATORS
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADY, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.network_namespaces import (
    NetworkNamespace,
    await_network,
    echo_datagrams,
    make_idle_pod,
    network_of,
    node,
)
from e2e.harness.operator import Launcher, Operator
from e2e.harness.stores import Store
from e2e.harness.waiting import Stopwatch, until
from e2e.network import policies
from e2e.network.connections import (
    HTTPS,
    JOBS_ACCEPT_NOTHING,
    METRICS_PORT,
    NAMES,
    OTHER,
    ROWS,
    WIDE_EGRESS,
    Connection,
    RowConnections,
    keys,
)
from e2e.rig import Rig
from managers.networking.flows import OPERATOR_POD_LABELS, PERMISSIONS
from runtime.builtin_kinds import POD, SERVICE

NAME, LOCKED, WIDE = "bao", "locked", "wide"
DNS_NAMESPACE = "kube-system"
EDGE = {"app": "edge"}
METADATA = "169.254.169.254"
PARALLEL = 8
Addresses = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The namespaces of the scenario."""

    cluster: str
    locked: str
    edge: str
    other: str


@pytest.fixture(scope="module")
def network_policies(rig: Rig) -> Iterator[None]:
    rig.enforce_policies()
    yield
    rig.ignore_policies()


@pytest.fixture(scope="module")
def namespaces(network_policies: None, make_namespace: MakeNamespace) -> Namespaces:
    return Namespaces(*(make_namespace() for _ in range(4)))


@pytest.fixture(scope="module")
def networks(api: Api, namespaces: Namespaces) -> Iterator[dict[str, NetworkNamespace]]:
    """The idle pods of the scenario, by place."""
    of_job = labels.component(NAME, "backup")
    places: dict[str, tuple[str, Mapping[str, str]]] = {
        "operator": (OPERATORS, OPERATOR_POD_LABELS),
        "next-to-operator": (OPERATORS, {"app": "tools"}),
        "like-operator": (namespaces.other, OPERATOR_POD_LABELS),
        "dns": (DNS_NAMESPACE, {"k8s-app": "names"}),
        "edge": (namespaces.edge, EDGE),
        "next-to-edge": (namespaces.edge, {"app": "shop"}),
        "app": (namespaces.cluster, {"app": "shop"}),
        "job": (namespaces.cluster, of_job),
        "server-of-another": (namespaces.cluster, labels.server_pod("another")),
        "other": (namespaces.other, {"app": "shop", **EDGE}),
        "locked-app": (namespaces.locked, {"app": "shop"}),
        "locked-job": (namespaces.locked, labels.component(LOCKED, "backup")),
        "locked-job-of-another": (namespaces.locked, labels.component("another", "backup")),
        "locked-server-0": (namespaces.locked, labels.server_pod(LOCKED)),
        "locked-server-1": (namespaces.locked, labels.server_pod(LOCKED)),
        "wide-server": (namespaces.locked, labels.server_pod(WIDE)),
        "wide-job": (namespaces.locked, labels.component(WIDE, "backup")),
    }
    pod_names = {place: (namespace, f"network-{place}") for place, (namespace, _) in places.items()}
    for place, (namespace, carried) in places.items():
        make_idle_pod(api, namespace, f"network-{place}", carried)
    yield {place: await_network(api, *pod) for place, pod in pod_names.items()}
    for namespace, name in pod_names.values():
        api.delete(POD, namespace, name)


@pytest.fixture(scope="module")
def launcher(
    rig: Rig, networks: dict[str, NetworkNamespace], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Launcher]:
    """Starts operators in the network of a pod that has the labels of the operator."""
    launcher = Launcher(rig, tmp_path_factory.mktemp("network"), inside=networks["operator"].inside)
    yield launcher
    launcher.stop_all()


@pytest.fixture(scope="module")
def cluster(
    rig: Rig, api: Api, namespaces: Namespaces, reloading_operator: Operator, store: Store
) -> Cluster:
    """Three servers with a metrics port and a store; two Hardened clusters of policies alone."""
    of_edge = {"kubernetes.io/metadata.name": namespaces.edge}
    trusted = {
        "namespaceSelector": {"matchLabels": of_edge},
        "podSelector": {"matchLabels": EDGE},
    }
    network = {
        "dnsEndpointIPs": [str(rig.layout.slot.node)],
        "trustedIngressPeers": [trusted],
    }
    policies.apply_hardened(rig, namespaces.locked, LOCKED, network)
    anywhere = {"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"port": HTTPS}]}
    wide = {**network, "egressRules": [anywhere]}
    policies.apply_hardened(rig, namespaces.locked, WIDE, wide)
    make_credentials(api, namespaces.cluster, store)
    body = manifest(
        namespaces.cluster,
        NAME,
        replicas=3,
        configuration=STEADY,
        selfInit=self_init(key_value_engine()),
        backup={"schedule": SELDOM, "target": store.target()},
        observability={"metrics": {"enabled": True, "scrapeProfile": "AllNodes"}},
        network=network,
    )
    api.create(CLUSTERS, body)
    return Cluster(api, namespaces.cluster, NAME)


@pytest.fixture(scope="module")
def places(
    rig: Rig, cluster: Cluster, networks: dict[str, NetworkNamespace]
) -> dict[str, NetworkNamespace]:
    """All sources of connections, as soon as the enforcer has their addresses."""
    cluster.await_available()
    servers = {f"server-{at}": network_of(rig, pod) for at, pod in enumerate(cluster.pods())}
    places = {**networks, **servers}

    def unknown() -> list[str]:
        rules = rig.enforced_addresses()
        return [
            place for place, network in places.items() if f" {network.address}/32 " not in rules
        ]

    until("the enforcer has the address of every pod", lambda: not unknown(), 30.0)
    return places


@pytest.fixture(scope="module")
def addresses(
    rig: Rig, api: Api, namespaces: Namespaces, places: dict[str, NetworkNamespace]
) -> Iterator[Addresses]:
    """The addresses of all places, with a listener on each port of the table."""
    service = {
        "selector": {"app": "shop", **EDGE},
        "ports": [{"port": HTTPS, "targetPort": OTHER}],
    }
    shop = api.create(
        SERVICE, {"metadata": {"name": "shop", "namespace": namespaces.other}, "spec": service}
    )
    machine = node(rig)
    listening: dict[str, tuple[int, ...]] = {
        "other": (NAMES, HTTPS, OTHER),
        "dns": (NAMES, OTHER),
        "app": (8200, 8201),
        "job": (OTHER,),
        "locked-server-0": (8200, 8201, METRICS_PORT, OTHER),
        "locked-server-1": (8200, 8201, METRICS_PORT),
    }
    with ExitStack() as open_ports, machine.hold_address(METADATA):
        for place, ports in listening.items():
            for port in ports:
                open_ports.enter_context(closing(places[place].listen(port)))
        open_ports.enter_context(closing(machine.listen(HTTPS, METADATA)))
        for place in ("other", "dns"):
            open_ports.enter_context(echo_datagrams(places[place], NAMES))
        yield {
            **{place: network.address for place, network in places.items()},
            "node": machine.address,
            "api": str(rig.layout.slot.api_service),
            "shop": shop["spec"]["clusterIP"],
            "metadata": METADATA,
        }
    api.delete(SERVICE, namespaces.other, "shop")


def connect_all(
    lines: Iterable[Connection], places: Mapping[str, NetworkNamespace], addresses: Addresses
) -> dict[Connection, bool]:
    """Open all connections, and return which were accepted."""
    all_lines = list(lines)

    def connects(line: Connection) -> bool:
        return places[line.source].reaches(addresses[line.target], line.port, line.protocol)

    with ThreadPoolExecutor(PARALLEL) as pool:
        return dict(zip(all_lines, pool.map(connects, all_lines), strict=True))


def expected_results() -> dict[Connection, bool]:
    accepted = dict.fromkeys(JOBS_ACCEPT_NOTHING, False)
    for lines in (*ROWS.values(), WIDE_EGRESS):
        accepted |= dict.fromkeys(lines.allowed, True) | dict.fromkeys(lines.denied, False)
    return accepted


def test_each_row_of_the_permissions_table_has_connections() -> None:
    assert set(keys(PERMISSIONS)) == set(ROWS)
    assert all(lines.allowed and lines.denied for lines in ROWS.values())
    # No row may expect a refusal of a connection that another row allows.
    allowed = {line for lines in ROWS.values() for line in lines.allowed}
    assert not [line for lines in ROWS.values() for line in lines.denied if line in allowed]


@pytest.mark.timeout(300)
def test_a_cluster_becomes_available_under_its_policies(cluster: Cluster) -> None:
    watch = Stopwatch()
    cluster.await_available()
    cluster.await_condition("OperatorLoginReady", reason="OperatorLoginTrusted")
    # The servers label their pods through the API server.
    until("one server leads", cluster.leader, 30.0)
    print(f"\nAvailable with three servers after {watch.seconds:.1f} s")


@pytest.mark.timeout(200)
def test_only_permitted_connections_pass(
    rig: Rig, places: dict[str, NetworkNamespace], addresses: Addresses
) -> None:
    expectation, watch = expected_results(), Stopwatch()

    def under_one_set_of_rules() -> dict[Connection, bool] | None:
        """The enforcer rewrites all rules when a pod changes, for example when a server starts."""
        before = rig.enforced_addresses()
        samples = connect_all(expectation, places, addresses)
        return samples if rig.enforced_addresses() == before else None

    results = until("the rules do not change meanwhile", under_one_set_of_rules, 60.0, every=2.0)
    print(f"\n{len(results)} connections in {watch.seconds:.1f} s\n{as_table(results)}")
    assert results == expectation


def as_table(results: Mapping[Connection, bool]) -> str:
    headers = ("pods, direction, peer", "from", "to", "port", "expected", "result")
    rows: list[tuple[str, ...]] = []

    def add(title: str, lines: RowConnections) -> None:
        for expectation, some in ((True, lines.allowed), (False, lines.denied)):
            for line in some:
                port = f"{line.port} {line.protocol}"
                words = (_word(expectation), _word(results[line]))
                rows.append((title, line.source, line.target, port, *words))

    for (pods, direction, peer, _), lines in ROWS.items():
        add(f"{pods} {direction}, {re.split('[,;]', peer.label)[0]}", lines)
    add("both out, 0.0.0.0/0 by the user", WIDE_EGRESS)
    add("jobs in, none", RowConnections((), JOBS_ACCEPT_NOTHING))
    return table.plain(headers, rows)


def _word(allowed: bool) -> str:
    return "passed" if allowed else "refused"


@pytest.mark.timeout(200)
def test_a_snapshot_reaches_its_store(cluster: Cluster, store: Store) -> None:
    status = backup_now(cluster, "first").await_phase("Completed")
    check_stored(store, status)


@pytest.mark.timeout(200)
def test_all_connections_pass_without_the_enforcer(
    rig: Rig, places: dict[str, NetworkNamespace], addresses: Addresses
) -> None:
    rig.ignore_policies()
    results = connect_all(expected_results(), places, addresses)
    assert not [line for line, allowed in results.items() if not allowed]
