"""Scale-down with killed operators, with two operators, and without access to the leader."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from e2e.conftest import MakeNamespace
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.crashing_operator import Plan, read_results, write_plans
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import STEADY, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import NO_ELECTION, Launcher
from e2e.harness.service_writer import ServiceWriter
from e2e.harness.waiting import Stopwatch, until
from e2e.harness.write_key import WriteKey
from e2e.harness.writing import may_write
from e2e.scale.steps import STEPS_SECONDS, Invariants, await_size, replicas_of, scale
from runtime.builtin_kinds import PVC
from runtime.types import annotations_of

NAME, CLOSED = "scale", "closed"
CRASHING = ("e2e.harness.crashing_operator",)
OPERATOR = "openbao-operator"
MARK = WriteKey("patch", "persistentvolumeclaims", "", "data-scale-2", OPERATOR)
SHRINK = WriteKey("patch", "statefulsets", "", NAME, OPERATOR)
DISCARD = WriteKey("delete", "persistentvolumeclaims", "", "data-scale-2", "")
# The writes at which operators are killed, in order, during one scale-down from three to two.
MOMENTS = (
    (MARK, "before"),
    (MARK, "after"),
    (SHRINK, "before"),
    (SHRINK, "after"),
    (DISCARD, "before"),
)
# An auth method without users. The operator has no login either.
PEOPLE = {
    "name": "people",
    "operation": "update",
    "path": "sys/auth/userpass",
    "authMethod": {"type": "userpass"},
}


@pytest.fixture(scope="module")
def namespace_of_all(make_namespace: MakeNamespace) -> str:
    """One namespace for both clusters."""
    return make_namespace()


@pytest.fixture(scope="module")
def cluster_without_login(
    api: Api, namespace_of_all: str, launcher: Launcher, controller: Identity
) -> Iterator[Cluster]:
    """Start two clusters; return the one at which the operator cannot log in."""
    operator = launcher.start(controller, NO_ELECTION)
    requests = (key_value_engine(), *client_login(namespace_of_all))
    spec = {"replicas": 3, "configuration": STEADY, "selfInit": self_init(*requests)}
    api.create(CLUSTERS, manifest(namespace_of_all, NAME, **spec))
    fields = {"replicas": 2, "selfInit": {"enabled": True, "requests": [PEOPLE]}}
    api.create(CLUSTERS, manifest(namespace_of_all, CLOSED, **fields))
    cluster = Cluster(api, namespace_of_all, CLOSED)
    may_write(cluster)
    cluster.await_available(150.0)
    Cluster(api, namespace_of_all, NAME).await_available(150.0)
    yield cluster
    operator.stop()


@pytest.fixture
def cluster(api: Api, cluster_without_login: Cluster) -> Cluster:
    """The cluster with three voters."""
    cluster = Cluster(api, cluster_without_login.namespace, NAME)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=60.0)
    return cluster


@pytest.mark.timeout(300)
def test_no_voter_is_removed_without_a_login(cluster_without_login: Cluster) -> None:
    scale(cluster_without_login, 1)
    stalled = cluster_without_login.await_condition(
        "Stalled", "True", "ScaleDownBlocked", seconds=20.0
    )
    print(f"  {stalled['message']}")
    assert len(cluster_without_login.ready_pods()) == replicas_of(cluster_without_login) == 2
    scale(cluster_without_login, 2)
    cluster_without_login.await_available(20.0)


@pytest.mark.timeout(600)
def test_scale_down_completes_after_an_operator_is_killed_at_each_write(
    cluster: Cluster, launcher: Launcher, controller: Identity, tmp_path: Path
) -> None:
    first = launcher.started[0]
    first.stop()
    watch = Stopwatch()
    with ServiceWriter(cluster) as writer, Invariants(cluster) as rules:
        scale(cluster, 2)
        for number, (write, position) in enumerate(MOMENTS):
            crash(cluster, launcher, controller, tmp_path / str(number), write, position)
            print(f"  {watch.seconds:4.1f} s: killed {position} {write}: {state(cluster)}")
        launcher.start(controller, NO_ELECTION)
        await_size(cluster, 2)
        print(f"  {watch.seconds:4.1f} s: done: {state(cluster)}")
    print(f"  {writer.describe()}; {rules.checks} checks: {rules.samples}")
    until("its volume is deleted", lambda: len(claims_of(cluster)) == 2, STEPS_SECONDS)
    assert rules.violations == []
    assert writer.lost() == []
    budget("longest gap of a client", writer.longest_gap, 5.0, "s")


def crash(
    cluster: Cluster,
    launcher: Launcher,
    identity: Identity,
    folder: Path,
    write: WriteKey,
    when: str,
) -> None:
    """Run an operator that is killed before or after one write."""
    folder.mkdir()
    plans_path, results_path = folder / "plans", folder / "results"
    plan = Plan(cluster.namespace, write, 1, "before" if when == "before" else "after")
    write_plans(plans_path, [plan])
    process = launcher.start(identity, str(plans_path), str(results_path), module=CRASHING)
    process.wait(90.0)
    result = read_results(results_path)[cluster.namespace]
    assert result.crashed, f"the operator did not reach {when} {write}: {result}"


def claims_of(cluster: Cluster) -> list[Object]:
    """Return the claims of a cluster."""
    return cluster.api.list(PVC, cluster.namespace, f"{labels.CLUSTER}={cluster.name}")


def state(cluster: Cluster) -> str:
    """Describe replicas, pods and marked claims."""
    claims = claims_of(cluster)
    marked = [
        str(pvc["metadata"]["name"]) for pvc in claims if labels.REMOVED_PEER in annotations_of(pvc)
    ]
    return f"{replicas_of(cluster)} replicas, {len(cluster.pods())} pods, marked: {marked}"


@pytest.mark.timeout(300)
def test_two_concurrent_operators_remove_no_voter_twice(
    cluster: Cluster, launcher: Launcher, controller: Identity
) -> None:
    second = launcher.start(controller, NO_ELECTION)
    until(
        "the caches of the second operator are ready",
        lambda: second.has_logged("optional kind"),
        60.0,
    )
    with ServiceWriter(cluster) as writer, Invariants(cluster) as rules:
        scale(cluster, 1)
        await_size(cluster, 1)
    print(f"  {writer.describe()}; {rules.checks} checks: {rules.samples}")
    assert rules.violations == []
    assert writer.lost() == []
