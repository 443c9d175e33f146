"""Servers are added and removed, one voter at a time, under load."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial

import pytest

from contracts.api.group import CLUSTERS
from e2e.conftest import MakeNamespace
from e2e.harness.audit import AuditLog, Entry, tally, work, writes
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADY, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.service_writer import ServiceWriter, write_without_loss
from e2e.harness.waiting import throughout, until
from e2e.harness.writing import may_write
from e2e.scale.steps import (
    STEPS_SECONDS,
    Invariants,
    await_size,
    leading,
    operator_token,
    scale,
)
from runtime.builtin_kinds import PVC
from runtime.types import uid_of

NAME = "scale"
GAP_SECONDS = 5.0
UP_REQUESTS = 15
UP_FACTOR = 1.3
# One second more, because times of a watch are compared with times of a poll.
UP_SLACK = 1.0
SECRETS_READ = ("secrets", "get")


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operator: Operator) -> Cluster:
    """One server that is Available, and a client that may write."""
    namespace = make_namespace()
    requests = (key_value_engine(), *client_login(namespace))
    spec = {"configuration": STEADY, "selfInit": self_init(*requests)}
    api.create(CLUSTERS, manifest(namespace, NAME, **spec))
    cluster = Cluster(api, namespace, NAME)
    may_write(cluster)
    cluster.await_available(120.0)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    return cluster


def volumes(cluster: Cluster) -> dict[str, str]:
    """Return the names and uids of the data volumes."""
    pvcs = cluster.api.list(PVC, cluster.namespace, f"openbao.org/cluster={cluster.name}")
    return {str(pvc["metadata"]["name"]): uid_of(pvc) for pvc in pvcs}


@pytest.fixture
def writer(cluster: Cluster) -> Iterator[ServiceWriter]:
    """A client that writes throughout the test; no acknowledged write may be lost."""
    yield from write_without_loss(cluster, GAP_SECONDS)


@pytest.fixture
def rules(cluster: Cluster) -> Iterator[Invariants]:
    """The invariants hold throughout the test."""
    with Invariants(cluster) as invariants:
        yield invariants
    print(f"  {invariants.checks} checks; members and ready pods: {invariants.samples}")
    assert invariants.checks
    assert invariants.violations == []


def seconds_of_pods(cluster: Cluster) -> float:
    """Return the seconds from the creation of the first new pod until the last one is ready."""
    newer = [pod for pod in cluster.pods() if not pod["metadata"]["name"].endswith("-0")]
    created = min(timestamp(pod["metadata"]["creationTimestamp"]) for pod in newer)
    ready = [
        timestamp(condition["lastTransitionTime"])
        for pod in newer
        for condition in pod["status"]["conditions"]
        if condition["type"] == "Ready"
    ]
    return max(ready) - created


def timestamp(text: str) -> float:
    """Parse a timestamp of the API server, in seconds."""
    return datetime.fromisoformat(text).timestamp()


def requests_for(cluster: Cluster, audit: AuditLog, mark: int, controller: Identity) -> list[Entry]:
    """Return the requests of the operator for this cluster.

    Without the reads of the metadata of three Secrets, which it repeats every 15 seconds.
    """
    entries = work(audit.since(mark, controller.user))
    return [
        entry
        for entry in entries
        if entry.namespace == cluster.namespace and (entry.resource, entry.verb) != SECRETS_READ
    ]


@pytest.mark.timeout(200)
def test_scale_up_is_one_write_and_as_fast_as_its_pods(
    cluster: Cluster, audit: AuditLog, controller: Identity, writer: ServiceWriter
) -> None:
    mark, watch = audit.mark(), scale(cluster, 3)
    cluster.await_available(STEPS_SECONDS)
    up, needed = watch.seconds, seconds_of_pods(cluster)
    requests = requests_for(cluster, audit, mark, controller)
    print(f"  {up:.1f} s, its pods needed {needed:.0f} s (whole seconds)")
    print(f"  {len(requests)} requests: {tally(requests)}")
    budget("up to three servers", up, UP_FACTOR * needed + UP_SLACK, "s")
    budget("up to three servers", len(requests), UP_REQUESTS, "requests")
    sets = [entry.verb for entry in writes(requests) if entry.resource == "statefulsets"]
    assert sets == ["patch"]
    await_size(cluster, 3)
    requests = requests_for(cluster, audit, mark, controller)
    print(f"  {watch.seconds:.1f} s: all are voters; {len(requests)} requests: {tally(requests)}")


@pytest.mark.timeout(300)
def test_scale_down_removes_one_voter_at_a_time_even_the_leader(
    cluster: Cluster,
    audit: AuditLog,
    controller: Identity,
    writer: ServiceWriter,
    rules: Invariants,
) -> None:
    """With the policy Retain, which keeps volumes."""
    set_deletion_policy(cluster, "Retain")
    before, mark, watch = volumes(cluster), audit.mark(), scale(cluster, 2)
    await_size(cluster, 2)
    print(f"  {watch.seconds:.1f} s: two servers are left")
    move_leadership(cluster)
    changes, watch = len(writer.leaders), scale(cluster, 1)
    await_size(cluster, 1)
    requests = requests_for(cluster, audit, mark, controller)
    print(f"  {watch.seconds:.1f} s: the leader left; {len(requests)} requests: {tally(requests)}")
    print(f"  leaders since the request: {writer.leaders[changes:]}")
    sets = [entry.verb for entry in writes(requests) if entry.resource == "statefulsets"]
    assert sets == ["patch"] * 2
    # One change of the leader, or two if the watch saw the previous one late.
    assert set(writer.leaders[changes:]) <= {f"{NAME}-0", f"{NAME}-1"}
    assert len(writer.leaders[changes:]) <= 2
    assert volumes(cluster) == before


def move_leadership(cluster: Cluster) -> None:
    """Make the second of two servers the leader: it is the next one to be removed."""
    if leading(cluster) == 0:
        cluster.server(0).post("sys/step-down", operator_token(cluster), {})
        until("the other server leads", partial(another_leads, cluster, 0), 40.0)
        # The server that stepped down may not lead again for ten seconds.
        throughout("the other server stays the leader", partial(another_leads, cluster, 0), 11.0)


def another_leads(cluster: Cluster, before: int) -> bool:
    """Whether a server with another ordinal leads."""
    leader = cluster.leader()
    return leader is not None and leader["metadata"]["name"] != f"{NAME}-{before}"


@pytest.mark.timeout(300)
def test_b04_servers_that_return_are_members_again(
    cluster: Cluster, writer: ServiceWriter, rules: Invariants
) -> None:
    """Retained volumes are replaced by empty ones."""
    before, watch = volumes(cluster), scale(cluster, 3)
    await_size(cluster, 3)
    print(f"  {watch.seconds:.1f} s: three voters again, with empty volumes")
    after = volumes(cluster)
    assert after.keys() == before.keys()
    assert after["data-scale-0"] == before["data-scale-0"]
    assert all(after[name] != before[name] for name in ("data-scale-1", "data-scale-2"))


def set_deletion_policy(cluster: Cluster, policy: str) -> None:
    """Set the deletion policy."""
    cluster.api.patch(
        CLUSTERS, cluster.namespace, cluster.name, {"spec": {"deletionPolicy": policy}}
    )
