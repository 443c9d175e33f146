"""A server is unsealed by another OpenBao; missing parts are reported before its pod starts."""

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.installation import as_data
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Operator
from e2e.harness.sealer import CREDENTIALS, Sealer, make_sealer
from e2e.harness.waiting import until
from e2e.rig import RigError
from runtime.builtin_kinds import POD, SECRET
from runtime.types import uid_of

NAME = "sealed"
SOON = 60.0


@pytest.fixture(scope="module")
def sealer(api: Api, operator: Operator, make_namespace: MakeNamespace) -> Sealer:
    return make_sealer(api, make_namespace())


@pytest.fixture(scope="module")
def cluster(api: Api, sealer: Sealer) -> Cluster:
    """Create a cluster whose Secret does not exist."""
    namespace = sealer.cluster.namespace
    spec = {"unseal": sealer.unseal_spec(), "selfInit": self_init(key_value_engine())}
    api.create(CLUSTERS, manifest(namespace, NAME, **spec))
    return Cluster(api, namespace, NAME)


def _await_blocked(cluster: Cluster, words: "tuple[str, ...]") -> None:
    """Wait for Stalled with these words in its message; no pod may exist."""

    def is_stalled() -> bool:
        condition = cluster.condition("Stalled", "True", "PrerequisitesMissing")
        return condition is not None and all(word in condition["message"] for word in words)

    until(f"condition Stalled has {words}", is_stalled, SOON)
    assert not cluster.pods()


def test_a_missing_secret_is_reported_and_no_pod_starts(cluster: Cluster) -> None:
    _await_blocked(
        cluster, ("spec.unseal.credentialsSecretRef.name", CREDENTIALS, "does not exist")
    )


def test_a_missing_key_is_reported_and_no_pod_starts(api: Api, cluster: Cluster) -> None:
    metadata = {"name": CREDENTIALS, "namespace": cluster.namespace}
    api.create(SECRET, {"metadata": metadata, "data": {"ca.crt": as_data("no certificate")}})
    _await_blocked(cluster, (CREDENTIALS, "no key token", "ca.crt", "no PEM certificate"))


@pytest.mark.timeout(400)
def test_the_server_is_unsealed_at_each_start(api: Api, sealer: Sealer, cluster: Cluster) -> None:
    data = sealer.credentials()["data"]
    api.patch(SECRET, cluster.namespace, CREDENTIALS, {"data": data})
    cluster.await_available(240.0)
    assert cluster.secret(names.unseal_key_secret(NAME)) is None, "the operator generates no key"
    (victim,) = cluster.pods()
    api.delete(POD, cluster.namespace, victim["metadata"]["name"])

    def is_replaced() -> bool:
        pod = api.find(POD, cluster.namespace, victim["metadata"]["name"])
        return bool(pod and uid_of(pod) != uid_of(victim) and is_ready(pod))

    until("a new pod is unsealed", is_replaced, 120.0)
    cluster.await_available()
    for pod in cluster.pods():
        assert sealer.token not in str(pod), "the token is only in the Secret"


@pytest.mark.timeout(400)
def test_a_deleted_secret_is_reported_and_no_pod_is_replaced(
    api: Api, sealer: Sealer, cluster: Cluster
) -> None:
    before = {uid_of(pod) for pod in cluster.ready_pods()}
    api.delete(SECRET, cluster.namespace, CREDENTIALS)
    cluster.await_condition("Stalled", reason="PrerequisitesMissing", seconds=SOON)
    assert {uid_of(pod) for pod in cluster.ready_pods()} == before
    api.create(SECRET, sealer.credentials())
    cluster.await_available()
    assert {uid_of(pod) for pod in cluster.ready_pods()} == before


@pytest.mark.timeout(400)
def test_a_refused_token_is_in_the_log_of_the_server(api: Api, sealer: Sealer) -> None:
    """Only the sealing OpenBao can detect a wrong token, so a pod has to start."""
    namespace, secret = sealer.cluster.namespace, "wrong-login"
    data = {"token": as_data("s.thisisnotatoken"), "ca.crt": as_data(sealer.authority)}
    api.create(SECRET, {"metadata": {"name": secret, "namespace": namespace}, "data": data})
    unseal = {**sealer.unseal_spec(), "credentialsSecretRef": {"name": secret}}
    api.create(CLUSTERS, manifest(namespace, "denied", unseal=unseal))
    cluster = Cluster(api, namespace, "denied")

    def is_refused() -> bool:
        logs = api.rig.kubectl("-n", namespace, "logs", names.pod("denied", 0))
        return "permission denied" in logs

    until("the server logs the refusal", is_refused, 120.0, every=1.0, tolerate=(RigError,))
    assert cluster.condition("Ready", "False") is not None
