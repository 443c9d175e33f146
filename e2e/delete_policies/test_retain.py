"""Retain: data and unseal key are kept, and the next cluster of the name reuses them."""

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.harness.bao import AUDIENCE
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import CLIENT, SECRETS, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.waiting import Stopwatch, until
from runtime.builtin_kinds import PVC, SECRET, SERVICE_ACCOUNT, STATEFUL_SET
from runtime.types import annotations_of, resource_version_of, uid_of

NAME = "kept"
REPLICAS = 3
PATH = f"{SECRETS}/kept"


def client_token(cluster: Cluster) -> str:
    """Log in as the application."""
    jwt = cluster.api.token(cluster.namespace, CLIENT, AUDIENCE)
    return cluster.server().login(CLIENT, jwt)


@pytest.mark.timeout(900)
def test_data_with_a_rotated_key_is_reused_by_the_same_manifest_and_an_older_one(
    api: Api, operator: Operator, namespace: str
) -> None:
    requests = (key_value_engine(), *client_login(namespace))
    body = manifest(
        namespace, NAME, selfInit=self_init(*requests), deletionPolicy="Retain", replicas=1
    )
    rotated = {**body, "spec": {**body["spec"], "unseal": {"static": {"currentKeyID": "second"}}}}
    api.create(SERVICE_ACCOUNT, {"metadata": {"name": CLIENT, "namespace": namespace}})
    api.create(CLUSTERS, body)
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available()
    cluster.server().post(PATH, client_token(cluster), {"answer": "42"})
    api.patch(CLUSTERS, namespace, NAME, {"spec": {"unseal": rotated["spec"]["unseal"]}})
    until("the key is rotated", lambda: unseal_of(cluster) == ("second=key-2", "Settled"), 240.0)

    keys = [names.unseal_key_secret(NAME, generation) for generation in (1, 2)]
    _recreate(cluster, rotated)
    conflict = cluster.await_condition("Conflict", reason="ForeignObject")
    assert all(key in conflict["message"] for key in keys), conflict
    for key in keys:
        api.patch(SECRET, namespace, key, {"metadata": {"annotations": {labels.ADOPT: NAME}}})
    cluster.await_available(120.0)
    assert cluster.server().get(PATH, client_token(cluster))["data"] == {"answer": "42"}
    until(
        "the older key is removed again",
        lambda: unseal_of(cluster) == ("second=key-2", "Settled"),
        240.0,
    )

    # The Secrets are annotated for a cluster of this name already.
    _recreate(cluster, body)
    stalled = cluster.await_condition("Stalled", reason="UnsealKeyRotationRefused")
    assert "set currentKeyID to second" in stalled["message"]
    cluster.await_condition("Available", seconds=120.0)
    assert cluster.server().get(PATH, client_token(cluster))["data"] == {"answer": "42"}


def _recreate(cluster: Cluster, body: Object) -> None:
    cluster.api.delete(CLUSTERS, cluster.namespace, cluster.name)
    until("the cluster is gone", lambda: cluster.find() is None, 60.0)
    until("all pods are deleted", lambda: not cluster.pods(), 90.0)
    cluster.api.create(CLUSTERS, body)


def unseal_of(cluster: Cluster) -> tuple[str, str]:
    """Return the keys and the step in status.unseal."""
    unseal = (cluster.live().get("status") or {}).get("unseal") or {}
    return unseal.get("keys", ""), unseal.get("step", "")


@pytest.mark.timeout(400)
def test_data_and_key_are_retained_and_reused_by_the_next_cluster(
    api: Api, operator: Operator, namespace: str
) -> None:
    requests = (key_value_engine(), *client_login(namespace))
    body = manifest(
        namespace,
        NAME,
        replicas=REPLICAS,
        selfInit=self_init(*requests),
        deletionPolicy="Retain",
    )
    api.create(SERVICE_ACCOUNT, {"metadata": {"name": CLIENT, "namespace": namespace}})
    first = api.create(CLUSTERS, body)
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    (cluster_id,) = cluster.cluster_ids()
    cluster.server().post(PATH, client_token(cluster), {"answer": "42"})

    key = names.unseal_key_secret(NAME)
    before = api.get(SECRET, namespace, key)
    volumes = {(PVC.kind, names.data_claim(NAME, ordinal)) for ordinal in range(REPLICAS)}
    api.delete(CLUSTERS, namespace, NAME)
    until("the cluster is gone", lambda: cluster.find() is None, 30.0)
    kept = volumes | {(SECRET.kind, key)}
    until("all other objects are deleted", lambda: cluster.belongings() == kept, 90.0)
    after = api.get(SECRET, namespace, key)
    assert (uid_of(after), after["data"]) == (uid_of(before), before["data"])
    assert not after["metadata"].get("ownerReferences")

    second = api.create(CLUSTERS, body)
    assert uid_of(second) != uid_of(first)
    condition = cluster.await_condition("Conflict", reason="ForeignObject")
    assert key in condition["message"]
    assert api.find(STATEFUL_SET, namespace, NAME) is None, "a server was started without its key"
    untouched = api.get(SECRET, namespace, key)
    assert resource_version_of(untouched) == resource_version_of(after)

    watch = Stopwatch()
    api.patch(SECRET, namespace, key, {"metadata": {"annotations": {labels.ADOPT: NAME}}})
    cluster.await_available(60.0)
    print(f"\nAvailable {watch.seconds:.1f} s after its key was annotated for adoption")
    assert cluster.cluster_ids() == {cluster_id}
    assert cluster.server().get(PATH, client_token(cluster))["data"] == {"answer": "42"}
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    cluster.await_condition("Conflict", "False")
    adopted = api.get(SECRET, namespace, key)
    assert adopted["data"] == before["data"], annotations_of(adopted)
