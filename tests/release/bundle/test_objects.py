"""The assignment of the objects of an overlay to parts of the bundle; none is omitted."""

from typing import Any

import pytest

from contracts.naming.installation import CONTROLLER, NAMESPACE
from release.bundle.objects import UnknownObjectError, divide

GROUP = "rbac.authorization.k8s.io"
LEASES = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]}
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def object_of(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **more}


def binding_of(kind: str, role: str, account: str = CONTROLLER) -> dict[str, Any]:
    subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
    reference = {"apiGroup": GROUP, "kind": kind, "name": role}
    return object_of(f"{kind}Binding", f"bind-{role}", roleRef=reference, subjects=[subject])


OVERLAY = [
    object_of("Namespace", NAMESPACE),
    object_of("CustomResourceDefinition", "things.example.com"),
    object_of("ServiceAccount", CONTROLLER),
    object_of("ServiceAccount", "marker"),
    object_of("Role", "own", rules=[LEASES]),
    binding_of("Role", "own"),
    object_of("ClusterRole", "all", rules=[PODS]),
    binding_of("ClusterRole", "all"),
    object_of("ClusterRole", "for-people", rules=[]),
    object_of("Deployment", "operator", spec={}),
    object_of("Service", "metrics"),
    object_of("PodDisruptionBudget", "operator"),
    object_of("NetworkPolicy", "operator"),
    object_of("ValidatingAdmissionPolicy", "rule"),
]


def names(objects: Any) -> set[tuple[str, str]]:
    return {(obj["kind"], obj["metadata"]["name"]) for obj in objects}


def test_roles_of_the_controller_become_permissions() -> None:
    parts = divide(OVERLAY)
    assert parts.permissions == (LEASES,)
    assert parts.cluster_permissions == (PODS,)


def test_objects_that_olm_rejects_are_separate_files() -> None:
    assert names(divide(OVERLAY).extras) == {
        ("ServiceAccount", "marker"),
        ("NetworkPolicy", "operator"),
        ("ValidatingAdmissionPolicy", "rule"),
    }


def test_objects_of_the_bundle_have_no_namespace() -> None:
    held = divide(OVERLAY).others
    assert names(held) == {
        ("ClusterRole", "for-people"),
        ("Service", "metrics"),
        ("PodDisruptionBudget", "operator"),
    }
    assert not [other for other in held if "namespace" in other["metadata"]]


def test_every_object_is_in_one_part() -> None:
    parts = divide(OVERLAY)
    kept = names((parts.deployment, *parts.definitions, *parts.others, *parts.extras))
    by_olm = {
        ("Namespace", NAMESPACE),
        ("ServiceAccount", CONTROLLER),
        ("Role", "own"),
        ("RoleBinding", "bind-own"),
        ("ClusterRole", "all"),
        ("ClusterRoleBinding", "bind-all"),
    }
    assert kept | by_olm == names(OVERLAY)
    assert not kept & by_olm


def test_a_binding_for_another_account_is_refused() -> None:
    with pytest.raises(UnknownObjectError, match=r"RoleBinding bind-own is for .*'somebody'"):
        divide([*OVERLAY, binding_of("Role", "own", "somebody")])
