"""managers.restore.fresh_target: the created cluster is accepted by the API and the operator."""

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.cluster import violations
from contracts.naming import labels
from managers.restore.fresh_target import fresh_cluster
from managers.restore.inputs import ExpectedSnapshot, RestoreFailure
from runtime.types import ObjectKey
from tests import gen
from tests.managers.restore.situations import TEMPLATE, UID, facts

KEY = ObjectKey("team-a", "monday")


def created(expected: ExpectedSnapshot = ExpectedSnapshot(), **spec: object) -> OpenBaoCluster:  # noqa: B008  frozen
    restore_spec = facts({}, None, {"clusterTemplate": TEMPLATE, **spec}).spec
    body = fresh_cluster(KEY, UID, restore_spec, expected)
    assert not isinstance(body, RestoreFailure)
    return OpenBaoCluster.from_object(body)


@pytest.mark.parametrize("lifecycle", ["Retain", "Disposable"])
def test_the_cluster_is_valid(lifecycle: str) -> None:
    cluster = created(targetLifecycle=lifecycle)
    assert tuple(violations(cluster)) == ()
    assert cluster.spec.replicas == 1
    assert cluster.spec.wants_operator_login, "the job has to log in"
    policy = {"Retain": "Retain", "Disposable": "DeleteAll"}[lifecycle]
    assert cluster.spec.deletion_policy == policy
    assert cluster.metadata.annotations[labels.RESTORE_ORIGIN] == UID


def test_the_template_overrides_the_version_of_the_snapshot() -> None:
    assert created().spec.version == "2.4.0"
    template = {"unseal": {"credentialsSecretRef": {"name": "seal"}}}
    spec = facts({}, None, {"clusterTemplate": template}).spec
    body = fresh_cluster(KEY, UID, spec, ExpectedSnapshot(version="2.4.1"))
    assert not isinstance(body, RestoreFailure)
    assert body["spec"]["version"] == "2.4.1"
    failure = gen.expect(RestoreFailure, fresh_cluster(KEY, UID, spec, ExpectedSnapshot()))
    assert "spec.clusterTemplate.version" in failure.message


def test_the_seal_is_that_of_the_template() -> None:
    assert gen.present(created().spec.unseal.credentials_secret_ref).name == "seal"
