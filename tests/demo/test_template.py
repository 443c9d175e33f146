"""A recorded bring-up is converted to a script that needs no operator."""

import pytest

from contracts.naming import labels
from e2e.demo.errors import DemoError
from e2e.demo.objects import Object, name_of
from e2e.measure.template import (
    MANAGER,
    SECRETS,
    Kind,
    NamespaceChange,
    script,
    without_server_fields,
)
from tests.demo.shapes import child, journal_entry

CHANGE = NamespaceChange("home", "away")
SERVICES = Kind("v1", "Service", "services")
SECRET: Object = {**child("bao-tls-ca"), "data": {"ca.crt": "x"}}
SIGHTS = [
    journal_entry(1.0, "configmaps", child("bao-config"), "ADDED"),
    journal_entry(1.1, "configmaps", child("bao-config-init"), "ADDED"),
    journal_entry(1.2, "statefulsets", child("bao", replicas=1, template="with init"), "ADDED"),
    journal_entry(3.0, "statefulsets", child("bao", replicas=3, template="without")),
    journal_entry(3.1, "configmaps", child("bao-config-init"), "DELETED"),
    journal_entry(3.2, "configmaps", {"metadata": {"name": "kube-root-ca.crt"}}, "ADDED"),
]


def test_the_script_starts_one_server_and_then_scales_out() -> None:
    steps = script(SIGHTS, [(SECRETS, SECRET)], "bao", CHANGE)
    names = [name_of(obj) for _, obj in steps.first]
    assert names == ["bao-tls-ca", "bao-config", "bao-config-init", "bao"]
    assert steps.first[-1][1]["spec"] == {"replicas": 1, "template": "with init"}
    assert steps.then[1]["spec"] == {"replicas": 3, "template": "without"}


def test_a_bring_up_without_a_scale_out_is_refused() -> None:
    with pytest.raises(DemoError, match="scale out"):
        script(SIGHTS[:3], [], "bao", CHANGE)


def test_metadata_of_the_server_and_owner_references_are_removed() -> None:
    obj = child("bao")
    obj["metadata"] |= {"resourceVersion": "1", "ownerReferences": [{}], "managedFields": []}
    obj["status"] = {"replicas": 1}
    manifest = without_server_fields(obj, Kind("apps/v1", "StatefulSet", "statefulsets"), CHANGE)
    assert manifest["metadata"].keys() == {"name", "labels"}
    assert "status" not in manifest
    assert (manifest["apiVersion"], manifest["kind"]) == ("apps/v1", "StatefulSet")


def test_the_managed_by_label_is_replaced_everywhere() -> None:
    selector = {labels.MANAGED_BY: labels.OPERATOR, labels.CLUSTER: "bao"}
    manifest = without_server_fields(child("bao", selector=selector), SERVICES, CHANGE)
    assert manifest["metadata"]["labels"][labels.MANAGED_BY] == MANAGER
    assert manifest["spec"]["selector"] == {labels.MANAGED_BY: MANAGER, labels.CLUSTER: "bao"}


def test_the_namespace_is_replaced_in_every_string() -> None:
    manifest = without_server_fields(
        child("bao", hosts=["bao-0.bao.home.svc"], empty=None), SERVICES, CHANGE
    )
    assert manifest["spec"] == {"hosts": ["bao-0.bao.away.svc"]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {"clusterIP": "None", "clusterIPs": ["None"]}, {"clusterIP": "None"}, id="headless"
        ),
        pytest.param(
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}, {}, id="with an address"
        ),
    ],
)
def test_the_cluster_ip_of_a_service_is_removed(fields: Object, expected: Object) -> None:
    assert without_server_fields(child("bao", **fields), SERVICES, CHANGE)["spec"] == expected


def test_paths_depend_on_the_api_group() -> None:
    assert SERVICES.path("x", "y") == "/api/v1/namespaces/x/services/y"
    roles = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")
    assert roles.path("x") == "/apis/rbac.authorization.k8s.io/v1/namespaces/x/roles"
