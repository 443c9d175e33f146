"""Three servers under load, restarted on request, after maintenance and after a deletion."""

from collections.abc import Callable, Iterator

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from e2e.conftest import MakeNamespace
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.service_writer import ServiceWriter, steady_voters, write_without_loss
from e2e.harness.waiting import Stopwatch, throughout, until
from runtime.builtin_kinds import POD, STATEFUL_SET
from runtime.types import annotations_of, is_terminating, uid_of

NAME = "again"
ROLL_SECONDS = 150.0
GAP_SECONDS = 5.0
# A server that wins an election and cannot store its lock retries after ten seconds
# (lockRetryInterval in its vault/ha.go). A pod that a user deletes gets no step-down before.
UNPREPARED_GAP_SECONDS = 20.0


@pytest.fixture(scope="module")
def operators(launcher: Launcher, controller: Identity) -> list[Operator]:
    return [launcher.start(controller, NO_ELECTION)]


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operators: list[Operator]) -> Cluster:
    """Three servers that are voters, with a client that may write."""
    return steady_voters(api, make_namespace(), NAME)


@pytest.fixture
def client(cluster: Cluster) -> Iterator[ServiceWriter]:
    """A client that writes throughout the test, with a budget for its longest gap."""
    yield from write_without_loss(cluster, GAP_SECONDS)


@pytest.fixture
def unprepared_client(cluster: Cluster) -> Iterator[ServiceWriter]:
    """The same, for a leader that exits without step-down."""
    yield from write_without_loss(cluster, UNPREPARED_GAP_SECONDS)


def test_maintenance_delays_a_restart_and_annotates_the_pods(cluster: Cluster) -> None:
    before = ready_uids(cluster)
    change(cluster, maintenance={"enabled": True}, runtime={"restartAt": "first"})
    cluster.await_condition("Reconciling", reason="Maintenance", seconds=20.0)
    until("all pods are annotated", lambda: all(map(is_marked, cluster.pods())), 20.0)
    assert is_marked(cluster.api.get(STATEFUL_SET, cluster.namespace, NAME))
    throughout("no pod is replaced", lambda: ready_uids(cluster) == before, 5.0)


@pytest.mark.timeout(300)
def test_the_restart_after_maintenance_survives_a_second_request_and_a_killed_operator(
    cluster: Cluster,
    client: ServiceWriter,
    operators: list[Operator],
    launcher: Launcher,
    controller: Identity,
) -> None:
    def replace_operator() -> None:
        operators[-1].kill()
        operators.append(launcher.start(controller, NO_ELECTION))

    leader = leader_of(cluster)
    before = {uid_of(pod): name_of(pod) for pod in cluster.pods()}
    change(cluster, maintenance=None)
    until(
        "one pod is terminating", lambda: any(map(is_terminating, cluster.pods())), 30.0, every=0.02
    )
    order = change_and_await_restart(
        cluster, before, after_first=replace_operator, runtime={"restartAt": "second"}
    )
    assert sorted(order) == [f"{NAME}-{number}" for number in range(3)]
    assert order[-1] == leader
    assert client.leader_changes == 1, client.leaders
    template = cluster.api.get(STATEFUL_SET, cluster.namespace, NAME)["spec"]["template"]
    assert {digest_of(pod) for pod in cluster.pods()} == {digest_of(template)}
    assert not any(map(is_marked, cluster.pods()))
    assert not is_marked(cluster.api.get(STATEFUL_SET, cluster.namespace, NAME))


def test_a_manually_deleted_leader_pod_is_replaced(
    cluster: Cluster, unprepared_client: ServiceWriter
) -> None:
    """It steps down on SIGTERM (B-08)."""
    leader = cluster.leader()
    assert leader is not None
    watch = Stopwatch()
    cluster.api.delete(POD, cluster.namespace, name_of(leader))
    until("another server leads", lambda: leader_of(cluster) not in (None, name_of(leader)), 30.0)
    print(f"  {watch.seconds:.1f} s: another server leads")
    until(
        "the former leader is ready again",
        lambda: len(ready_uids(cluster) - {uid_of(leader)}) == 3,
        60.0,
    )
    cluster.await_available()


def change(cluster: Cluster, **spec: object) -> None:
    """Merge fields into the spec."""
    cluster.api.patch(CLUSTERS, cluster.namespace, NAME, {"spec": spec})


def change_and_await_restart(
    cluster: Cluster,
    old: dict[str, str] | None = None,
    *,
    after_first: Callable[[], None] | None = None,
    **spec: object,
) -> list[str]:
    """Change the spec, and return the names of the old pods in the order of their replacement.

    Fails if fewer than two pods are ready at any time. `old`: UIDs and names of the pods to
    replace; the default is all current pods.
    """
    left = old or {uid_of(pod): name_of(pod) for pod in cluster.pods()}
    order: list[str] = []
    watch = Stopwatch()
    change(cluster, **spec)

    def all_new() -> bool:
        pods = cluster.pods()
        assert sum(is_ready(pod) for pod in pods) >= 2, cluster.describe()
        there = {uid_of(pod) for pod in pods if not is_terminating(pod)}
        for uid in [uid for uid in left if uid not in there]:
            order.append(left.pop(uid))
            if after_first is not None and len(order) == 1:
                after_first()
        return not left and len(ready_uids(cluster)) == 3

    until("all pods are new", all_new, ROLL_SECONDS, every=0.05)
    print(f"  {watch.seconds:.1f} s: all pods are new")
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    return order


def is_marked(obj: Object) -> bool:
    """Whether an object has the annotation of maintenance."""
    return annotations_of(obj).get(labels.MAINTENANCE) == "true"


def digest_of(obj: Object) -> str | None:
    """Return the hash of the template of a pod, or of a template."""
    return annotations_of(obj).get(labels.TEMPLATE_HASH)


def name_of(pod: Object) -> str:
    """Return the name of a pod."""
    return str(pod["metadata"]["name"])


def leader_of(cluster: Cluster) -> str | None:
    """Return the name of the pod with the label of the active node."""
    leader = cluster.leader()
    return None if leader is None else name_of(leader)


def ready_uids(cluster: Cluster) -> set[str]:
    """Return the UIDs of the ready pods."""
    return {uid_of(pod) for pod in cluster.ready_pods()}
