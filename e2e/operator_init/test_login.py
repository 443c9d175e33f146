"""A cluster without self-init, with a revoked root token, is managed by the operator's login."""

import base64

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.bao import MOUNT, BaoError
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADFAST
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.versions import OPENBAO_PREVIOUS, OPENBAO_RELEASES
from runtime.builtin_kinds import JOB, SECRET

NAME = "drawn"
NEWEST = OPENBAO_RELEASES[-1]
SECRET_NAME = names.root_token_secret(NAME)
UPGRADE_SECONDS = 240.0
SCALE_SECONDS = 180.0
WAITS = "QuorumQuestionRefused"
# A Secret is not watched: the login is checked once a minute, and after a change of the spec.
RECHECK_SECONDS = 100.0


@pytest.fixture(scope="module")
def cluster(
    rig: Rig, api: Api, make_namespace: MakeNamespace, reloading_operator: Operator
) -> Cluster:
    """Three servers of an older version, with a root token and a trusted operator login."""
    rig.load_openbao((OPENBAO_PREVIOUS, NEWEST))
    namespace = make_namespace()
    spec = {"replicas": 3, "version": OPENBAO_PREVIOUS, "configuration": STEADFAST}
    api.create(CLUSTERS, manifest(namespace, NAME, **spec))
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available(150.0)
    cluster.await_condition("OperatorLoginReady", reason="OperatorLoginTrusted", seconds=30.0)
    return cluster


@pytest.fixture(scope="module")
def administrator(cluster: Cluster) -> str:
    """A token of a user; the root token is revoked after its creation, and its Secret deleted."""
    secret = cluster.secret(SECRET_NAME)
    assert secret is not None
    root = base64.b64decode(secret["data"]["token"]).decode()
    server = cluster.server(leader_of(cluster))
    request = {"policies": ["root"], "no_parent": True, "ttl": "1h"}
    token = str(server.post("auth/token/create", root, request)["auth"]["client_token"])
    server.post("auth/token/revoke-self", root, {})
    with pytest.raises(BaoError):
        server.get("auth/token/lookup-self", root)
    cluster.api.delete(SECRET, cluster.namespace, SECRET_NAME)
    return token


def leader_of(cluster: Cluster) -> str:
    leader = until("one server leads", cluster.leader, 30.0)
    return str(leader["metadata"]["name"])


def change(cluster: Cluster, **fields: object) -> None:
    cluster.api.patch(CLUSTERS, cluster.namespace, NAME, {"spec": fields})


def is_upgraded(cluster: Cluster) -> bool:
    status = cluster.live()["status"]
    return status.get("currentVersion") == NEWEST and "upgrade" not in status


@pytest.mark.timeout(500)
def test_an_upgrade_waits_for_a_removed_operator_login(
    cluster: Cluster, administrator: str
) -> None:
    """A token in a new Secret restores the login, and the upgrade uses only that login."""
    before = cluster.pod_uids()
    cluster.server(leader_of(cluster)).delete(f"sys/auth/{MOUNT}", administrator)
    change(cluster, version=NEWEST)
    cluster.await_condition("OperatorLoginReady", "False", "OperatorLoginRefused")
    cluster.await_condition("Upgrading", "False", reason=WAITS)
    assert cluster.pod_uids() == before

    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET_NAME, "namespace": cluster.namespace},
        "stringData": {"token": administrator},
    }
    cluster.api.create(SECRET, secret)
    # A change of the spec triggers a check, which no pod needs.
    change(cluster, deletionPolicy="DeletePVCs")
    trusted = "OperatorLoginTrusted"
    cluster.await_condition("OperatorLoginReady", reason=trusted, seconds=RECHECK_SECONDS)
    cluster.api.delete(SECRET, cluster.namespace, SECRET_NAME)
    until("the upgrade is complete", lambda: is_upgraded(cluster), UPGRADE_SECONDS)
    assert before.isdisjoint(cluster.pod_uids())
    # A Job with a separate role sent the step-down. After an unplanned election a server of the
    # older version may lead again, and a second Job runs.
    jobs = cluster.api.list(JOB, cluster.namespace)
    assert jobs
    assert {job["status"].get("succeeded") for job in jobs} == {1}


@pytest.mark.timeout(400)
def test_a_scale_down_needs_no_root_token(cluster: Cluster, administrator: str) -> None:
    change(cluster, replicas=1)
    until("one server is left", lambda: len(cluster.pods()) == 1, SCALE_SECONDS)
    cluster.await_available()
    members = cluster.server().members(cluster.operator_token())
    assert [member["node_id"] for member in members] == [names.pod(NAME, 0)]
    assert cluster.condition("OperatorLoginReady", "True") is not None
    assert cluster.secret(SECRET_NAME) is None
