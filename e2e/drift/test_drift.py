"""Another client changes or deletes each object of a cluster of three servers."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.conftest import MakeNamespace
from e2e.drift.edits import DELETED, EDITS, NAME, content
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Operator
from e2e.harness.server_process import server_pid
from e2e.harness.waiting import Stopwatch, throughout, until
from runtime.builtin_kinds import POD, SECRET, SERVICE, STATEFUL_SET
from runtime.types import Resource, is_terminating, labels_of, uid_of

WITHIN = 20.0
# Secrets are not watched: they are read every 15 seconds.
SECRET_WITHIN = 60.0
ROLL_SECONDS = 150.0


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operator: Operator) -> Cluster:
    """Three servers that are Available."""
    namespace = make_namespace()
    body = manifest(namespace, NAME, replicas=3, selfInit=self_init(key_value_engine()))
    api.create(CLUSTERS, body)
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available()
    return cluster


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_reverted(cluster: Cluster, what: str) -> None:
    edit = EDITS[what]
    before = cluster.api.get(edit.resource, cluster.namespace, edit.name)
    watch = Stopwatch()
    edited = cluster.api.patch(edit.resource, cluster.namespace, edit.name, edit.change(before))
    assert content(edited) != content(before), "the edit changed nothing"

    def is_reverted() -> bool:
        live = cluster.api.find(edit.resource, cluster.namespace, edit.name)
        return live is not None and content(live) == content(before)

    until(f"the operator reverts the edit of {what}", is_reverted, WITHIN, every=0.05)
    print(f"  {watch.seconds:.2f} s: {what}")


@pytest.mark.parametrize("what", DELETED)
def test_a_deleted_object_is_recreated(cluster: Cluster, what: str) -> None:
    resource, name = DELETED[what]
    before = cluster.api.get(resource, cluster.namespace, name)
    watch = Stopwatch()
    cluster.api.delete(resource, cluster.namespace, name)
    until(
        f"the operator recreates {what}",
        lambda: successor(cluster, resource, before),
        WITHIN,
        every=0.05,
    )
    after = cluster.api.get(resource, cluster.namespace, name)
    assert content(after)["metadata"] == content(before)["metadata"]
    print(f"  {watch.seconds:.2f} s: {what} deleted")


def test_a_stateful_set_that_was_scaled_is_scaled_back(cluster: Cluster) -> None:
    # Before that the operator cannot know that a fourth server is one too many.
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    before = cluster.pod_uids()
    cluster.api.patch(STATEFUL_SET, cluster.namespace, NAME, {"spec": {"replicas": 4}})

    def has_three_replicas() -> bool:
        live = cluster.api.get(STATEFUL_SET, cluster.namespace, NAME)
        return bool(live["spec"]["replicas"] == 3)

    until("the StatefulSet has three replicas", has_three_replicas, WITHIN, every=0.05)
    until("the fourth pod is gone", lambda: not still_exists(cluster, names.pod(NAME, 3)), 30.0)
    assert cluster.pod_uids() == before
    cluster.await_available()


def test_labels_and_annotations_of_other_clients_stay(cluster: Cluster) -> None:
    name = names.public_service(NAME)
    theirs = {"labels": {"example.org/team": "a"}, "annotations": {"example.org/note": "kept"}}
    cluster.api.patch(SERVICE, cluster.namespace, name, {"metadata": theirs})
    spoiled = {"metadata": {"labels": {labels.NAME: "spoiled"}}}
    cluster.api.patch(SERVICE, cluster.namespace, name, spoiled)

    def metadata() -> Object:
        live: Object = cluster.api.get(SERVICE, cluster.namespace, name)["metadata"]
        return live

    def theirs_stay() -> bool:
        live = metadata()
        return all(theirs[kind].items() <= dict(live[kind]).items() for kind in theirs)

    until(
        "our label is restored",
        lambda: metadata()["labels"][labels.NAME] == labels.APP,
        WITHIN,
        every=0.05,
    )
    throughout("the label and the annotation of the other client stay", theirs_stay, 2.0)


def test_no_server_was_restarted_by_the_edits(cluster: Cluster) -> None:
    cluster.await_available()
    assert len(cluster.cluster_ids()) == 1
    statuses = [status for pod in cluster.pods() for status in pod["status"]["containerStatuses"]]
    assert [status["restartCount"] for status in statuses] == [0, 0, 0]


def test_a_stale_leader_label_on_a_standby_is_ignored(cluster: Cluster) -> None:
    """The label stays on its pod: the next test replaces all pods, and must not wait for it."""
    standby = next(pod for pod in cluster.pods() if not leads(pod))
    label = {"metadata": {"labels": {labels.SERVER_ACTIVE: "true"}}}
    cluster.api.patch(POD, cluster.namespace, standby["metadata"]["name"], label)
    assert sum(map(leads, cluster.pods())) == 2

    def one_leader() -> bool:
        condition = cluster.condition("OpenBaoLeader", "True", "LeaderFound")
        degraded = cluster.condition("Degraded", "False", None)
        return condition is not None and degraded is not None

    throughout("the status has one leader, as the servers report", one_leader, 5.0)


@pytest.mark.timeout(400)
def test_a_deleted_certificate_is_reissued_and_servers_restart_one_at_a_time(
    cluster: Cluster,
) -> None:
    (before,) = cluster.cluster_ids()
    old = cluster.pod_uids()
    lost = cluster.secret(names.tls_server_secret(NAME))
    assert lost is not None
    watch = Stopwatch()
    cluster.api.delete(SECRET, cluster.namespace, lost["metadata"]["name"])
    until(
        "the operator issues a certificate", lambda: successor(cluster, SECRET, lost), SECRET_WITHIN
    )
    print(f"  {watch.seconds:.1f} s: a new certificate")

    def all_new() -> bool:
        pods = cluster.pods()
        serving = [pod for pod in pods if is_ready(pod)]
        assert len(serving) >= 2, [pod["metadata"]["name"] for pod in serving]
        assert sum(is_terminating(pod) for pod in pods) <= 1
        return len(serving) == 3 and not old & {uid_of(pod) for pod in pods}

    until("all servers are replaced", all_new, ROLL_SECONDS, every=0.05)
    print(f"  {watch.seconds:.1f} s: all servers are new")
    cluster.await_available()
    assert cluster.cluster_ids() == {before}
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")


@pytest.mark.timeout(400)
def test_deleted_keys_are_reported_and_never_recreated(cluster: Cluster) -> None:
    unseal, authority = names.unseal_key_secret(NAME), names.tls_ca_secret(NAME)
    pods = cluster.pod_uids()
    copies = {name: copy_of(cluster, name) for name in (unseal, authority)}
    for name in copies:
        cluster.api.delete(SECRET, cluster.namespace, name)
    with absent(cluster, *copies):
        condition = cluster.await_condition(
            "Stalled", reason="UnsealKeyMissing", seconds=SECRET_WITHIN
        )
    assert unseal in condition["message"]
    cluster.api.create(SECRET, copies[unseal])
    with absent(cluster, authority):
        condition = cluster.await_condition(
            "Stalled", reason="CASecretMissing", seconds=SECRET_WITHIN
        )
    assert authority in condition["message"]
    cluster.api.create(SECRET, copies[authority])
    cluster.await_condition("Stalled", "False", seconds=SECRET_WITHIN)
    cluster.await_available()
    assert cluster.pod_uids() == pods


def still_exists(cluster: Cluster, name: str) -> bool:
    """Whether a pod exists. If it terminates, its server is killed.

    The server may get SIGTERM before it handles signals. Then kubelet kills it, after the grace
    period of two minutes.
    """
    pod = cluster.api.find(POD, cluster.namespace, name)
    if pod is not None and is_terminating(pod):
        process = server_pid(cluster.namespace, name)
        if process is not None:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    return pod is not None


def leads(pod: Object) -> bool:
    """Whether the pod has the label of the active server."""
    return labels_of(pod).get(labels.SERVER_ACTIVE) == "true"


def successor(cluster: Cluster, resource: Resource, before: Object) -> Object | None:
    """Return the object that replaced a deleted one of the same name."""
    live = cluster.api.find(resource, cluster.namespace, before["metadata"]["name"])
    return live if live is not None and uid_of(live) != uid_of(before) else None


def copy_of(cluster: Cluster, name: str) -> Object:
    """Copy a Secret as a backup would keep it: without the fields that the API server set."""
    live = cluster.api.get(SECRET, cluster.namespace, name)
    server_fields = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
    metadata = {key: value for key, value in live["metadata"].items() if key not in server_fields}
    return {**live, "metadata": metadata}


@contextmanager
def absent(cluster: Cluster, *secrets: str) -> Iterator[None]:
    """Check that these Secrets are not created during the context, nor for two seconds after it."""
    yield
    end = time.monotonic() + 2.0
    while time.monotonic() < end:
        for name in secrets:
            assert cluster.secret(name) is None, f"{name} was recreated"
