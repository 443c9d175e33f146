"""A watched bring-up becomes a script that needs no operator."""

import pytest

from contracts.naming import labels
from e2e.demo.errors import DemoError
from e2e.demo.objects import Object, name_of
from e2e.measure.template import MANAGER, SECRETS, Kind, Move, bare, script
from tests.demo.shapes import child, journal_entry

MOVE = Move("home", "away")
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


def test_one_server_comes_first_and_then_all_of_them() -> None:
    steps = script(SIGHTS, [(SECRETS, SECRET)], "bao", MOVE)
    names = [name_of(obj) for _, obj in steps.first]
    assert names == ["bao-tls-ca", "bao-config", "bao-config-init", "bao"]
    assert steps.first[-1][1]["spec"] == {"replicas": 1, "template": "with init"}
    assert steps.then[1]["spec"] == {"replicas": 3, "template": "without"}


def test_without_a_scale_out_there_is_no_script() -> None:
    with pytest.raises(DemoError, match="scale out"):
        script(SIGHTS[:3], [], "bao", MOVE)


def test_what_the_server_or_an_owner_gave_is_taken_away() -> None:
    obj = child("bao")
    obj["metadata"] |= {"resourceVersion": "1", "ownerReferences": [{}], "managedFields": []}
    obj["status"] = {"replicas": 1}
    manifest = bare(obj, Kind("apps/v1", "StatefulSet", "statefulsets"), MOVE)
    assert manifest["metadata"].keys() == {"name", "labels"}
    assert "status" not in manifest
    assert (manifest["apiVersion"], manifest["kind"]) == ("apps/v1", "StatefulSet")


def test_no_operator_feels_responsible_wherever_the_label_stands() -> None:
    selector = {labels.MANAGED_BY: labels.OPERATOR, labels.CLUSTER: "bao"}
    manifest = bare(child("bao", selector=selector), SERVICES, MOVE)
    assert manifest["metadata"]["labels"][labels.MANAGED_BY] == MANAGER
    assert manifest["spec"]["selector"] == {labels.MANAGED_BY: MANAGER, labels.CLUSTER: "bao"}


def test_every_text_that_names_the_namespace_names_the_other_one() -> None:
    manifest = bare(child("bao", hosts=["bao-0.bao.home.svc"], empty=None), SERVICES, MOVE)
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
def test_a_service_keeps_no_address_of_another(fields: Object, expected: Object) -> None:
    assert bare(child("bao", **fields), SERVICES, MOVE)["spec"] == expected


def test_paths_follow_the_group() -> None:
    assert SERVICES.path("x", "y") == "/api/v1/namespaces/x/services/y"
    roles = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")
    assert roles.path("x") == "/apis/rbac.authorization.k8s.io/v1/namespaces/x/roles"
