"""managers.restore.fresh_target: a cluster that the API and the operator take."""

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


def made(expected: ExpectedSnapshot = ExpectedSnapshot(), **spec: object) -> OpenBaoCluster:  # noqa: B008  frozen
    asked = facts({}, None, {"clusterTemplate": TEMPLATE, **spec}).spec
    body = fresh_cluster(KEY, UID, asked, expected)
    assert not isinstance(body, RestoreFailure)
    return OpenBaoCluster.from_object(body)


@pytest.mark.parametrize("lifecycle", ["Retain", "Disposable"])
def test_it_breaks_no_rule(lifecycle: str) -> None:
    cluster = made(targetLifecycle=lifecycle)
    assert tuple(violations(cluster)) == ()
    assert cluster.spec.replicas == 1
    assert cluster.spec.wants_operator_login, "the job has to log in"
    wanted = {"Retain": "Retain", "Disposable": "DeleteAll"}[lifecycle]
    assert cluster.spec.deletion_policy == wanted
    assert cluster.metadata.annotations[labels.RESTORE_ORIGIN] == UID


def test_the_version_is_that_of_the_snapshot_unless_the_template_names_one() -> None:
    assert made().spec.version == "2.4.0"
    template = {"unseal": {"credentialsSecretRef": {"name": "seal"}}}
    asked = facts({}, None, {"clusterTemplate": template}).spec
    body = fresh_cluster(KEY, UID, asked, ExpectedSnapshot(version="2.4.1"))
    assert not isinstance(body, RestoreFailure)
    assert body["spec"]["version"] == "2.4.1"
    told = gen.expect(RestoreFailure, fresh_cluster(KEY, UID, asked, ExpectedSnapshot()))
    assert "spec.clusterTemplate.version" in told.message


def test_the_seal_is_that_of_the_template() -> None:
    assert gen.present(made().spec.unseal.credentials_secret_ref).name == "seal"
