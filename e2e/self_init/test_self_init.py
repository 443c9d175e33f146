"""Self-init requests of several kinds, logins for users and the operator, and no root token."""

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.bao import BaoError
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import SECRETS, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator

# The log line of a server that initializes its storage.
INITIALIZED = "security barrier initialized"
USER, PASSWORD = "alice", "correct-horse"
REQUESTS: tuple[Object, ...] = (
    key_value_engine(),
    {
        "name": "people",
        "operation": "update",
        "path": "sys/auth/userpass",
        "authMethod": {"type": "userpass", "config": {"default_lease_ttl": "10m"}},
    },
    {
        "name": "use_secrets",
        "operation": "update",
        "path": "sys/policies/acl/use-secrets",
        "policy": {
            "policy": f'path "{SECRETS}/*" {{ capabilities = ["create", "read", "update"] }}'
        },
    },
    {
        "name": "alice",
        "operation": "update",
        "path": f"auth/userpass/users/{USER}",
        "data": {"password": PASSWORD, "token_policies": ["use-secrets"]},
    },
    {
        "name": "may_fail",
        "operation": "update",
        "path": "nowhere/at/all",
        "data": {"a": "b"},
        "allowFailure": True,
    },
    {
        "name": "first_secret",
        "operation": "update",
        "path": f"{SECRETS}/greeting",
        "data": {"text": 'say "hello" to ${HOSTNAME}'},
    },
)


@pytest.fixture(scope="module")
def cluster(api: Api, operator: Operator, make_namespace: MakeNamespace) -> Cluster:
    namespace = make_namespace()
    api.create(CLUSTERS, manifest(namespace, "selfish", replicas=3, selfInit=self_init(*REQUESTS)))
    cluster = Cluster(api, namespace, "selfish")
    cluster.await_available(120.0)
    return cluster


def test_a_user_logs_in_and_reads_what_the_requests_wrote(cluster: Cluster) -> None:
    server = cluster.server()
    answer = server.post(f"auth/userpass/login/{USER}", "", {"password": PASSWORD})
    assert answer["auth"]["lease_duration"] == 600
    token = answer["auth"]["client_token"]
    # The text is unchanged: variables in a request are not expanded.
    assert server.get(f"{SECRETS}/greeting", token)["data"]["text"] == REQUESTS[-1]["data"]["text"]
    with pytest.raises(BaoError, match="403"):
        server.get("sys/mounts", token)


def test_the_operator_logs_in_and_no_root_token_is_stored(cluster: Cluster) -> None:
    token = cluster.operator_token()
    autopilot = cluster.server().get("sys/storage/raft/autopilot/configuration", token)["data"]
    assert autopilot["cleanup_dead_servers"] is True
    assert cluster.secret(names.root_token_secret(cluster.name)) is None
    assert cluster.live()["status"]["selfInitialized"] is True


def test_the_conditions_report_who_can_log_in(cluster: Cluster) -> None:
    people = cluster.await_condition("UserAccessBootstrap", reason="UserLoginFound")
    assert "auth/userpass/" in people["message"]
    cluster.await_condition("OperatorLoginReady", reason="OperatorLoginTrusted")
    # No recovery keys were requested, so they have no condition.
    assert "RecoveryKeysReady" not in {condition["type"] for condition in cluster.conditions()}
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")


def test_exactly_one_server_initialized_the_cluster(cluster: Cluster) -> None:
    assert len(cluster.cluster_ids()) == 1
    logs = {
        pod: cluster.api.rig.kubectl("-n", cluster.namespace, "logs", pod).count(INITIALIZED)
        for pod in (names.pod(cluster.name, ordinal) for ordinal in range(3))
    }
    first, *others = logs.values()
    assert (first, others) == (1, [0, 0]), logs


def test_a_cluster_without_a_user_login_is_reported(
    api: Api, operator: Operator, make_namespace: MakeNamespace
) -> None:
    namespace = make_namespace()
    api.create(CLUSTERS, manifest(namespace, "shut", selfInit=self_init(key_value_engine())))
    shut = Cluster(api, namespace, "shut")
    condition = shut.await_condition("UserAccessBootstrap", "False", "NoUserLogin")
    assert "sys/auth/<mount>" in condition["message"]
    shut.await_available()
