"""The operator crashes after each of its writes: two first boots, and a rolling upgrade.

Each operator continues from what the last one wrote, so an operator starts after each write of
these operations, in the order in which a cluster meets them. The audit log shows who created the
pods, and how often.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.audit import AuditLog, Entry, refusals
from e2e.harness.clusters import Cluster, expected_belongings
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADFAST, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import NO_ELECTION, Launcher
from e2e.harness.service_writer import ServiceWriter
from e2e.harness.takeover import with_blue_green
from e2e.harness.upgrade_history import image_of
from e2e.harness.upgrades import change, record_events
from e2e.harness.writing import may_write
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES
from managers.upgrade.rolling.facts import STEP_DOWN_TRIES
from runtime.builtin_kinds import POD, SECRET

THREE, ONE = "three", "one"
FIRST, SECOND = OPENBAO_UPGRADES[:2]
RESTARTING_OPERATOR = ("e2e.harness.restarting_operator",)
# Much longer than an operation takes with all its restarts: a timeout for one that hangs.
SECONDS = 480.0
MAKER = "system:serviceaccount:kube-system:statefulset-controller"
# The Secrets that are written once in the life of a cluster.
ONCE = (names.unseal_key_secret, names.tls_ca_secret, names.root_token_secret)


@dataclass(frozen=True, slots=True)
class Crashes:
    """Clusters of an operator that crashes after each write, and its requests."""

    clusters: dict[str, Cluster]
    audit: AuditLog
    began: int
    writes: Path
    """The last write of each operator, one line each."""

    def so_far(self) -> list[str]:
        """Return the writes after which an operator crashed, in order."""
        lines = map(orjson.loads, self.writes.read_bytes().splitlines())
        return [f"{line['method']} {line['path'].partition('/namespaces/')[2]}" for line in lines]

    def of(self, cluster: Cluster, entries: list[Entry]) -> list[Entry]:
        """Return the successful requests in the namespace of a cluster."""
        return [
            entry for entry in entries if entry.namespace == cluster.namespace and entry.code < 400
        ]


@pytest.fixture(scope="module")
def crashes(
    api: Api,
    audit: AuditLog,
    launcher: Launcher,
    controller: Identity,
    make_namespace: MakeNamespace,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Crashes]:
    """Start it, and create three voters, and one server with strategy BlueGreen."""
    api.rig.load_openbao(OPENBAO_UPGRADES)
    writes = tmp_path_factory.mktemp("restarting") / "writes"
    clusters = {name: Cluster(api, make_namespace(), name) for name in (THREE, ONE)}
    began = audit.mark()
    restarting_operator = launcher.start(
        controller, NO_ELECTION, str(writes), module=RESTARTING_OPERATOR,
        environment={"OPERATOR_IMAGE": api.rig.load_operator_image()},
    )  # fmt: skip
    restarting_operator.faults_expected = True
    upgrade = with_blue_green(autoRollback={"stabilizationSeconds": 0})
    for name, more in (
        (THREE, {"version": FIRST, "replicas": 3}),
        (ONE, {"version": SECOND, "upgrade": upgrade}),
    ):
        cluster = clusters[name]
        init = self_init(key_value_engine(), *client_login(cluster.namespace))
        spec = {"configuration": STEADFAST, "selfInit": init, **more}
        api.create(CLUSTERS, manifest(cluster.namespace, name, **spec))
        may_write(cluster)
    yield Crashes(clusters, audit, began, writes)
    assert restarting_operator.alive, restarting_operator.tail()
    denied = refusals(audit.since(began, controller.user))
    assert not denied, "\n".join(map(str, denied))


@pytest.mark.timeout(900)
def test_a_first_boot_creates_one_cluster_and_each_key_once(crashes: Crashes) -> None:
    """One server of three initializes the cluster; the other two join it."""
    for name, replicas in ((THREE, 3), (ONE, 1)):
        cluster = crashes.clusters[name]
        cluster.await_available(SECONDS)
        cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=SECONDS)
        assert cluster.cluster_ids() == {cluster.live()["status"]["adminOps"]["raft"]["clusterID"]}
        assert cluster.belongings() == expected_belongings(name, replicas=replicas)
    entries, reached = crashes.audit.since(crashes.began), crashes.so_far()
    print_requests(reached)
    for name, cluster in crashes.clusters.items():
        own_entries = crashes.of(cluster, entries)
        once = {secret(name) for secret in ONCE}
        written = Counter(
            entry.name for entry in own_entries if entry.resource == SECRET.plural and entry.writes
        )
        assert {written[name] for name in once} <= {0, 1}, written
        assert written[names.unseal_key_secret(name)] == written[names.tls_ca_secret(name)] == 1
        # Servers that started are never replaced.
        assert count_pod_creations(own_entries) == len(cluster.pods())
        home = cluster.namespace
        assert {
            f"POST {home}/secrets",
            f"PATCH {home}/statefulsets/{name}",
            f"DELETE {home}/configmaps/{names.self_init_config_map(name)}",
            f"PATCH {home}/openbaoclusters/{name}/status",
        } <= set(reached)


@pytest.mark.timeout(900)
def test_a_rolling_upgrade_replaces_each_server_once(crashes: Crashes) -> None:
    cluster, before, mark = crashes.clusters[THREE], len(crashes.so_far()), crashes.audit.mark()
    ids = cluster.cluster_ids()
    with record_events(cluster) as record, ServiceWriter(cluster) as writer:
        change(cluster, {"version": SECOND})
        record.await_finished(SECOND, SECONDS)
        history = record.history
    print(f"\n  {writer.describe()}")
    reached = crashes.so_far()[before:]
    print_requests(reached)
    pods = [names.pod(THREE, number) for number in range(3)]
    assert sorted(history.replaced()) == pods
    assert history.replaced()[-1] == history.leaders()[0]
    assert {image_of(pod) for pod in cluster.pods()} == {openbao_reference(SECOND)}
    assert count_pod_creations(crashes.of(cluster, crashes.audit.since(mark))) == len(pods)
    # A leader that is elected again gets a second Job.
    assert 1 <= len(history.step_downs()) <= STEP_DOWN_TRIES
    assert cluster.cluster_ids() == ids
    assert cluster.condition("Degraded", "False") is not None
    assert writer.lost() == []
    home = cluster.namespace
    evictions = {f"POST {home}/pods/{pod}/eviction" for pod in pods}
    assert {f"POST {home}/jobs", f"PATCH {home}/statefulsets/{THREE}", *evictions} <= set(reached)


def print_requests(reached: list[str]) -> None:
    """Print the writes after which an operator crashed."""
    print(f"\n  {len(reached)} crashes\n" + "\n".join(f"    {request}" for request in reached))


def count_pod_creations(entries: list[Entry]) -> int:
    """Return how many pods the StatefulSet controller created."""
    return sum(
        (entry.user, entry.verb, entry.resource, entry.subresource)
        == (MAKER, "create", POD.plural, "")
        for entry in entries
    )
