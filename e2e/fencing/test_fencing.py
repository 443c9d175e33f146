"""Fencing in a cluster of three servers, under load."""

from collections.abc import Iterator

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.conftest import MakeNamespace
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.service_writer import ServiceWriter, steady_voters, write_without_loss
from e2e.harness.waiting import Stopwatch, throughout, until
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.types import uid_of

NAME = "fenced"
SECONDS = 60.0
# A change of leadership interrupts writes for a second or two.
GAP_SECONDS = 5.0


@pytest.fixture(scope="module")
def operators(launcher: Launcher, controller: Identity) -> "Operators":
    return Operators(launcher, controller)


class Operators:
    """One operator at a time."""

    def __init__(self, launcher: Launcher, identity: Identity) -> None:
        self._launcher, self._identity = launcher, identity
        self.running = self.start()

    def start(self) -> Operator:
        """Start one."""
        self.running = self._launcher.start(self._identity, NO_ELECTION)
        return self.running

    def replace(self) -> None:
        """Kill the current one, as a lost node would, and start another."""
        self.running.kill()
        self.start()


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operators: Operators) -> Cluster:
    """Three servers that are voters, with a client that may write."""
    return steady_voters(api, make_namespace(), NAME)


@pytest.fixture(autouse=True)
def client(cluster: Cluster) -> Iterator[ServiceWriter]:
    """A client that writes throughout each test; no acknowledged write is lost."""
    yield from write_without_loss(cluster, GAP_SECONDS)


def test_a_fenced_standby_stops_and_its_volume_is_kept(cluster: Cluster) -> None:
    leader = leader_of(cluster)
    victim = next(name for name in map(name_of, cluster.pods()) if name != leader)
    others = {uid_of(pod) for pod in cluster.pods() if name_of(pod) != victim}
    claim = uid_of(cluster.api.get(PVC, cluster.namespace, claim_of(victim)))
    watch = Stopwatch()
    fence(cluster, victim)
    cluster.await_condition("PodsFenced", reason="PodsFenced", seconds=SECONDS)
    print(f"  {watch.seconds:.1f} s: a standby is fenced")
    pod = cluster.api.get(POD, cluster.namespace, victim)
    assert has_gate(pod)
    assert "nodeName" not in pod["spec"]
    assert uid_of(cluster.api.get(PVC, cluster.namespace, claim_of(victim))) == claim
    assert {uid_of(obj) for obj in cluster.pods() if name_of(obj) != victim} == others
    for kind, status, reason in (
        ("Ready", "False", "PodsFenced"),
        ("Available", "False", "PodsFenced"),
        ("Reconciling", "False", "Ready"),
        ("Degraded", "False", "Ready"),
        ("Stalled", "False", "Ready"),
        ("OpenBaoSealed", "False", "Unsealed"),
        ("RaftMembershipReady", "True", "AllVoters"),
    ):
        assert cluster.condition(kind, status, reason), f"{kind}:\n{cluster.describe()}"
    assert "operation" not in cluster.live()["status"]


def test_another_deleted_pod_is_replaced_while_one_is_fenced(cluster: Cluster) -> None:
    leader, (victim,) = leader_of(cluster), fenced_pods(cluster)
    other = next(name for name in map(name_of, cluster.pods()) if name not in (leader, victim))
    before = uid_of(cluster.api.get(POD, cluster.namespace, other))
    kept = uid_of(cluster.api.get(POD, cluster.namespace, victim))
    # Two voters are a bare quorum: no write is acknowledged until the other pod is ready again.
    watch = Stopwatch()
    cluster.api.delete(POD, cluster.namespace, other)

    def is_replaced() -> bool:
        live = cluster.api.find(POD, cluster.namespace, other)
        return live is not None and uid_of(live) != before and is_ready(live)

    until(f"a new {other} is ready", is_replaced, SECONDS, every=0.05)
    print(f"  {watch.seconds:.1f} s: the deleted pod is replaced")
    assert uid_of(cluster.api.get(POD, cluster.namespace, victim)) == kept


def test_the_fence_moves_to_the_leader_while_the_operator_is_replaced(
    cluster: Cluster, operators: Operators
) -> None:
    leader, (first,) = leader_of(cluster), fenced_pods(cluster)
    assert leader is not None
    watch = Stopwatch()
    fence(cluster, leader)
    until("the first server is unfenced", lambda: not is_gated(cluster, first), SECONDS, every=0.02)
    operators.replace()
    cluster.await_condition("PodsFenced", reason="PodsFenced", seconds=SECONDS)
    print(f"  {watch.seconds:.1f} s: the leader is fenced, the first one runs")
    assert is_gated(cluster, leader)
    assert leader_of(cluster) not in (None, leader)
    until("two servers are ready", lambda: len(cluster.ready_pods()) == 2, SECONDS)


def test_without_a_fence_all_servers_become_ready(cluster: Cluster) -> None:
    (victim,) = fenced_pods(cluster)
    uid = uid_of(cluster.api.get(POD, cluster.namespace, victim))
    watch = Stopwatch()
    fence(cluster)
    cluster.await_available(SECONDS)
    print(f"  {watch.seconds:.1f} s: all servers are ready")
    pod = cluster.api.get(POD, cluster.namespace, victim)
    assert uid_of(pod) == uid, "the pod was replaced instead of unfenced"
    template = cluster.api.get(STATEFUL_SET, cluster.namespace, NAME)["spec"]["template"]
    assert not has_gate(template)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    assert [
        condition for condition in cluster.conditions() if condition["type"] == "PodsFenced"
    ] == []
    throughout("all three servers stay ready", lambda: len(cluster.ready_pods()) == 3, 2.0)


def fence(cluster: Cluster, *pods: str) -> None:
    """Set the list of fenced pods."""
    spec = {"fencedPods": list(pods) or None}
    cluster.api.patch(CLUSTERS, cluster.namespace, NAME, {"spec": spec})


def fenced_pods(cluster: Cluster) -> list[str]:
    """Return the pods that the spec fences."""
    return list(cluster.live()["spec"].get("fencedPods") or ())


def has_gate(pod: Object) -> bool:
    """Whether a pod or a pod template has our scheduling gate."""
    gates = pod["spec"].get("schedulingGates") or ()
    return any(gate["name"] == labels.FENCE_GATE for gate in gates)


def is_gated(cluster: Cluster, name: str) -> bool:
    """Whether the pod of that name exists and has the scheduling gate."""
    pod = cluster.api.find(POD, cluster.namespace, name)
    return pod is not None and has_gate(pod)


def claim_of(pod: str) -> str:
    """Return the name of the data volume of a pod."""
    ordinal = names.ordinal_of(NAME, pod)
    assert ordinal is not None
    return names.data_claim(NAME, ordinal)


def name_of(pod: Object) -> str:
    """Return the name of a pod."""
    return str(pod["metadata"]["name"])


def leader_of(cluster: Cluster) -> str | None:
    """Return the name of the active pod, as its server reports."""
    leader = cluster.leader()
    return None if leader is None else name_of(leader)
