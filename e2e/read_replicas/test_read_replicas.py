"""The life cycle of one voter and two read replicas."""

import orjson
import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.conftest import MakeNamespace
from e2e.harness.bao import AUDIENCE, BaoError, Server
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.kubernetes import Api, Object, missing_ok
from e2e.harness.manifests import CLIENT, SECRETS, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.harness.writing import may_write
from runtime.builtin_kinds import CONFIG_MAP, POD, PVC, SERVICE, STATEFUL_SET
from runtime.types import Resource, uid_of

NAME = "readers"
POOL = {"replicas": 2, "service": {"enabled": True}}
AUDIT = {"type": "file", "path": "stdout", "fileOptions": {"filePath": "stdout"}}
READS = 20
ENDPOINT_SLICE = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
# The autopilot promotes a new voter after ten seconds; a non-voter must stay one for longer.
LONG = 25.0
WITHIN = 60.0


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operator: Operator) -> Cluster:
    """A cluster that is Ready, and a client that may write."""
    namespace = make_namespace()
    requests = (key_value_engine(), *client_login(namespace))
    spec = {"readReplicas": POOL, "selfInit": self_init(*requests), "audit": [AUDIT]}
    body = manifest(namespace, NAME, **spec)
    watch = Stopwatch()
    api.create(CLUSTERS, body)
    cluster = Cluster(api, namespace, NAME)
    may_write(cluster)
    cluster.await_available(120.0)
    cluster.await_condition("ReadReplicasReady", reason="AllReadReplicasReady")
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    print(f"\n  {watch.seconds:.1f} s: one voter and two read replicas")
    return cluster


def test_read_replicas_join_and_stay_without_a_vote(cluster: Cluster) -> None:
    assert votes(cluster) == {f"{NAME}-0": True, reader(0): False, reader(1): False}
    assert len(cluster.cluster_ids()) == 1
    status = until(
        "both read replicas are healthy", lambda: status_if_healthy(cluster, healthy=2), 30.0
    )
    assert (status["desiredReplicas"], status["readyReplicas"]) == (2, 2)
    assert status["registeredReplicas"] == 2
    assert status["storage"]["boundPVCs"] == 2
    throughout(
        "the read replicas have no vote",
        lambda: [name for name, vote in votes(cluster).items() if vote] == [f"{NAME}-0"],
        LONG,
        every=1.0,
    )


def test_read_replicas_serve_reads(cluster: Cluster) -> None:
    cluster.await_condition("ReadServingAvailable", "True", "ReadServingAvailable")
    assert cluster.condition("Ready", "True") is not None
    until(
        "the read Service has both read replicas",
        lambda: ready_addresses(cluster, names.read_service(NAME)) == 2,
        30.0,
    )
    until(
        "the public Service has all servers",
        lambda: ready_addresses(cluster, names.public_service(NAME)) == 3,
        30.0,
    )
    jwt = cluster.api.token(cluster.namespace, CLIENT, AUDIENCE)
    for ordinal in (0, 1):
        server = Server(cluster.api, cluster.namespace, NAME, ordinal, reader=True)
        token = server.login(CLIENT, jwt)
        server.post(f"{SECRETS}/by-{ordinal}", token, {"value": str(ordinal)})
        await_value(server, token, ordinal)
        assert server.health()["standby"] is True
        before = audited_reads(cluster, reader(ordinal), ordinal)
        for _ in range(READS):
            server.get(f"{SECRETS}/by-{ordinal}", token)
        assert audited_reads(cluster, reader(ordinal), ordinal) == before + READS
        assert audited_reads(cluster, f"{NAME}-0", ordinal) == 0, "the leader answered no read"


def audited_reads(cluster: Cluster, server: str, number: int) -> int:
    """Count the reads of a secret that a server answered, by its audit log."""
    log = cluster.api.rig.kubectl("-n", cluster.namespace, "logs", server)
    entries = [orjson.loads(line) for line in log.splitlines() if line.startswith("{")]
    return sum(
        entry.get("type") == "response"
        and entry["request"]["operation"] == "read"
        and entry["request"]["path"] == f"{SECRETS}/by-{number}"
        for entry in entries
    )


def await_value(server: Server, token: str, number: int) -> None:
    """Wait until a read replica has a write, which the leader accepted."""

    def has_arrived() -> bool:
        return bool(server.get(f"{SECRETS}/by-{number}", token)["data"] == {"value": str(number)})

    until("the read replica has the write", has_arrived, 30.0, tolerate=(BaoError,))


def test_a_killed_read_replica_rejoins_without_a_vote(cluster: Cluster) -> None:
    before = uid_of(pod(cluster, 1))
    watch = Stopwatch()
    cluster.api.delete(POD, cluster.namespace, reader(1))
    until("a new pod is ready", lambda: uid_if_ready(cluster, 1) not in (None, before), WITHIN)
    cluster.await_available()
    print(f"\n  {watch.seconds:.1f} s: {reader(1)} is ready again")
    assert votes(cluster)[reader(1)] is False
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")


def test_a_restart_replaces_the_read_replicas_first(cluster: Cluster) -> None:
    old = {name: uid_of(pod) for name, pod in all_pods(cluster).items()}
    order: list[str] = []
    watch = Stopwatch()
    change(cluster, {"runtime": {"restartAt": "2026-01-31T12:00:00Z"}})

    def all_new() -> bool:
        pods = all_pods(cluster)
        for name in old:
            there = pods.get(name)
            if name not in order and (there is None or uid_of(there) != old[name]):
                order.append(name)
        return len(order) == len(old) and all(map(is_ready, pods.values())) and len(pods) == 3

    until("all pods are new", all_new, 120.0, every=0.05)
    print(f"\n  {watch.seconds:.1f} s: replaced in this order: {', '.join(order)}")
    assert order == [reader(1), reader(0), f"{NAME}-0"]
    cluster.await_available()


def test_scale_down_removes_the_raft_peer_before_its_pod(cluster: Cluster) -> None:
    watch = Stopwatch()
    change(cluster, {"readReplicas": {"replicas": 1}})
    until("its pod is deleted", lambda: reader(1) not in all_pods(cluster), WITHIN)
    assert reader(1) not in votes(cluster)
    claim = names.read_data_claim(NAME, 1)
    until("its volume is deleted", lambda: is_absent(cluster, PVC, claim), WITHIN)
    cluster.await_available()
    print(f"\n  {watch.seconds:.1f} s: one read replica and its volume are deleted")
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")


def test_removing_the_spec_block_deletes_all_their_objects(cluster: Cluster) -> None:
    watch = Stopwatch()
    change(cluster, {"readReplicas": None})
    left = (
        (STATEFUL_SET, names.read_stateful_set(NAME)),
        (SERVICE, names.read_service(NAME)),
        (CONFIG_MAP, names.read_config_map(NAME)),
        (PVC, names.read_data_claim(NAME, 0)),
        (PVC, names.read_data_claim(NAME, 1)),
    )
    until(
        "all objects of the pool are deleted",
        lambda: all(is_absent(cluster, *ref) for ref in left),
        WITHIN,
    )
    cluster.await_available()
    print(f"\n  {watch.seconds:.1f} s: the read replicas are deleted")
    assert set(votes(cluster)) == {f"{NAME}-0"}
    assert [
        condition["type"]
        for condition in cluster.conditions()
        if condition["type"].startswith("Read")
    ] == ["Ready"]


def test_deletion_of_the_cluster_leaves_no_objects(cluster: Cluster) -> None:
    change(cluster, {"readReplicas": POOL})
    cluster.await_condition("ReadReplicasReady", reason="AllReadReplicasReady")
    until(
        "the read replica is a member again", lambda: votes(cluster).get(reader(1)) is False, WITHIN
    )
    with missing_ok():
        cluster.api.delete(CLUSTERS, cluster.namespace, NAME)
    until("all objects are deleted", lambda: not cluster.find() and not cluster.belongings(), 90.0)


def reader(ordinal: int) -> str:
    """Return the name of a read replica, which is its node id."""
    return names.read_pod(NAME, ordinal)


def votes(cluster: Cluster) -> dict[str, bool]:
    """Return the members of the raft cluster, and whether each has a vote."""
    members = cluster.server(0).members(cluster.operator_token(0))
    return {str(member["node_id"]): bool(member["voter"]) for member in members}


def status_if_healthy(cluster: Cluster, *, healthy: int) -> Object | None:
    """Return status.readReplicas if that many are healthy, otherwise None."""
    status: Object = (cluster.live().get("status") or {}).get("readReplicas") or {}
    return status if status.get("healthyReplicas") == healthy else None


def all_pods(cluster: Cluster) -> dict[str, Object]:
    """Return the server pods of both pools by name."""
    selector = labels.selector_text(labels.servers(NAME))
    pods = cluster.api.list(POD, cluster.namespace, selector)
    return {str(obj["metadata"]["name"]): obj for obj in pods}


def pod(cluster: Cluster, ordinal: int) -> Object:
    """Return a read replica."""
    return cluster.api.get(POD, cluster.namespace, reader(ordinal))


def uid_if_ready(cluster: Cluster, ordinal: int) -> str | None:
    """Return the UID of a read replica if it is ready, otherwise None."""
    pod = all_pods(cluster).get(reader(ordinal))
    return uid_of(pod) if pod and is_ready(pod) else None


def ready_addresses(cluster: Cluster, service: str) -> int:
    """Count the ready addresses of a Service."""
    selector = f"kubernetes.io/service-name={service}"
    slices = cluster.api.list(ENDPOINT_SLICE, cluster.namespace, selector)
    return sum(
        bool((endpoint.get("conditions") or {}).get("ready"))
        for endpoint_slice in slices
        for endpoint in endpoint_slice.get("endpoints") or ()
    )


def change(cluster: Cluster, spec: Object) -> None:
    """Merge fields into the spec; None removes one."""
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, {"spec": spec})


def is_absent(cluster: Cluster, resource: Resource, name: str) -> bool:
    """Whether an object does not exist."""
    return cluster.api.find(resource, cluster.namespace, name) is None
