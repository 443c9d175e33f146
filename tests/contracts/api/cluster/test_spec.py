"""Reading an OpenBaoCluster from an object of the API server."""

import pytest
from pydantic import ValidationError

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.violation import InvalidClusterError
from tests.contracts.api.clusters import cluster, cluster_object


def test_defaults_are_those_of_the_documentation() -> None:
    spec = cluster().spec
    assert (spec.replicas, spec.deletion_policy, spec.paused) == (3, "Retain", False)
    assert (spec.tls.enabled, spec.tls.mode, spec.tls.rotation_period) == (
        True,
        "OperatorManaged",
        "720h",
    )
    assert spec.unseal.type == "static"
    assert spec.unseal.static_key().current_key == "file:///etc/bao/unseal/key"
    assert (spec.configuration.ui, spec.configuration.log_level) == (True, "info")
    assert spec.network.dns_namespace == "kube-system"
    assert spec.service is None
    assert spec.self_init is None


def test_fields_of_a_newer_manifest_are_ignored() -> None:
    read = OpenBaoCluster.from_object(cluster_object(fieldOfTheFuture={"a": 1}))
    assert "fieldOfTheFuture" not in read.spec.to_object()


def test_a_cluster_cannot_be_changed_in_place() -> None:
    read = cluster(telemetry={"a": 1})
    with pytest.raises(ValidationError):
        read.spec.replicas = 5  # type: ignore[misc]
    with pytest.raises(TypeError):
        read.spec.telemetry["a"] = 2  # type: ignore[index]


def test_every_invalid_field_is_named_with_its_path() -> None:
    obj = cluster_object(
        version="two", imagePullSecrets=[{"name": "ok"}, {"name": "NO"}], storage=None
    )
    with pytest.raises(InvalidClusterError) as caught:
        OpenBaoCluster.from_object(obj)
    fields = {violation.field: violation.value for violation in caught.value.violations}
    assert fields == {
        "spec.version": "two",
        "spec.imagePullSecrets[1].name": "NO",
        "spec.storage": "",
    }


@pytest.mark.parametrize(
    "status",
    [
        None,
        "text",
        {"readyReplicas": "many"},
        {"conditions": [{"type": "Ready"}]},
        {"phase": "Nonsense"},
    ],
)
def test_an_unreadable_status_is_read_as_an_empty_one(status: object) -> None:
    read = OpenBaoCluster.from_object({**cluster_object(), "status": status})
    assert read.status.to_object() == cluster().status.to_object()


def test_a_status_survives_a_round_trip() -> None:
    status = {
        "observedGeneration": 2,
        "phase": "Running",
        "ready": "3/3",
        "adminOps": {"raft": {"voters": 3, "nonVoters": 0, "leader": "c-0", "clusterID": "id"}},
        "workload": {"lastError": {"reason": "R", "message": "m", "at": "2026-01-01T00:00:00Z"}},
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Ready",
                "message": "",
                "observedGeneration": 2,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    }
    read = OpenBaoCluster.from_object({**cluster_object(), "status": status})
    written = read.status.to_object()
    assert {key: written[key] for key in status} == status


@pytest.mark.parametrize(
    ("login", "expected"),
    [
        (None, True),
        ({}, True),
        ({"reason": "RootTokenMissing"}, False),
        ({"keys": "digest", "reason": "RootTokenMissing"}, True),
    ],
)
def test_the_operator_has_a_login_unless_its_creation_failed(
    login: dict[str, str] | None, expected: bool
) -> None:
    status = {} if login is None else {"adminOps": {"operatorLogin": login}}
    read = OpenBaoCluster.from_object({**cluster_object(), "status": status})
    assert read.has_operator_login is expected


def test_absent_and_empty_peers_are_distinguished() -> None:
    """In a NetworkPolicy an absent list means all; an empty selector does, too."""
    read = cluster(network={"egressRules": [{}, {"to": [{"podSelector": {}}]}]})
    assert [rule.to_object() for rule in read.spec.network.egress_rules] == [
        {},
        {"to": [{"podSelector": {}}]},
    ]


def test_fields_named_like_python_keywords_keep_their_name() -> None:
    rules = [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}]
    read = cluster(network={"ingressRules": rules})
    assert [rule.to_object() for rule in read.spec.network.ingress_rules] == rules
