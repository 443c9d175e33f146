"""What a datacenter allows its services: host paths, compared by path segments, and root."""

from typing import Any

import pytest
from pydantic import ValidationError

from contracts.datacenter.grants import (
    NO_ACCESS,
    NodeAccess,
    ObjectKind,
    node_access_violations,
    object_kind_violations,
)
from contracts.datacenter.service_spec import BootstrapService
from tests.contracts.datacenter.services import cluster_role, objects, on_each_node, service


def _refusals(body: dict[str, Any], access: NodeAccess) -> dict[str, str]:
    read = BootstrapService.model_validate(body)
    return {
        violation.field: str(violation)
        for violation in node_access_violations(read, access, "fra1")
    }


def _mounts(path: str) -> dict[str, Any]:
    return on_each_node(
        {"name": "scratch", "mountPath": "/scratch"},
        {"name": "a", "mountPath": "/a", "kind": "HostPath", "hostPath": path},
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/var/log", True),
        ("/var/log/pods/a", True),
        ("/srv", True),
        # A longer name is not a subdirectory.
        ("/var/logs", False),
        ("/var/log-old/x", False),
        ("/var", False),
        ("/etc", False),
    ],
)
def test_a_host_path_is_at_or_below_an_allowed_directory(path: str, expected: bool) -> None:
    access = NodeAccess(host_paths=("/var/log", "/srv"))
    refusals = _refusals(_mounts(path), access)
    assert set(refusals) == (
        set() if expected else {"spec.service.services[0].volumes[1].hostPath"}
    )


def test_without_a_grant_nothing_is_allowed_and_the_message_says_what_to_do() -> None:
    assert _refusals({**_mounts("/var/log"), "runAsUser": 0}, NO_ACCESS) == {
        "spec.service.services[0].volumes[1].hostPath": (
            "spec.service.services[0].volumes[1].hostPath: must be at or below a directory of "
            "spec.nodeAccess.hostPaths of Datacenter fra1, which allows nothing; ask a user with "
            "the verb usenodeaccess to allow it there, or remove the volume (got /var/log)"
        ),
        "spec.service.runAsUser": (
            "spec.service.runAsUser: must not be 0 unless spec.nodeAccess.runAsRoot of Datacenter "
            "fra1 is true; ask a user with the verb usenodeaccess to allow it there, or set "
            "another user (got 0)"
        ),
    }


def test_each_grant_is_independent() -> None:
    assert set(_refusals(service(runAsUser=0), NodeAccess(host_paths=("/var/log",)))) == {
        "spec.service.runAsUser"
    }
    assert _refusals(service(runAsUser=0), NodeAccess(run_as_root=True)) == {}
    assert _refusals(_mounts("/var/log"), NodeAccess(run_as_root=True)) != {}


ROUGH = (
    "/var/log/../lib", "/var/..", "/var//log", "//var", "/var/./log", "/var/log/.", "/.",
    "/var/log/", "/", "var/log", "/var/..log",
)  # fmt: skip


@pytest.mark.parametrize("path", ROUGH)
def test_a_path_that_is_not_normalized_is_refused_on_both_sides(path: str) -> None:
    with pytest.raises(ValidationError, match=r"hostPaths\.0"):
        NodeAccess.model_validate({"hostPaths": [path]})
    with pytest.raises(ValidationError, match="hostPath"):
        BootstrapService.model_validate(_mounts(path))


@pytest.mark.parametrize("path", ["/var", "/var/.hidden/a.b/c..d", "/a b"])
def test_a_normalized_path_is_accepted(path: str) -> None:
    assert NodeAccess.model_validate({"hostPaths": [path]}).host_paths == (path,)


# --- objects of other kinds ---------------------------------------------------------------------

RBAC = "rbac.authorization.k8s.io"


def _unknown_kinds(body: dict[str, Any], *kinds: ObjectKind) -> list[str]:
    read = BootstrapService.model_validate(body)
    return [str(violation) for violation in object_kind_violations(read, kinds, "fra1")]


def test_a_kind_is_allowed_by_group_and_name() -> None:
    body = objects(cluster_role(), {**cluster_role("core"), "apiVersion": "v1"})
    allowed = ObjectKind(group=RBAC, kind="ClusterRole")
    assert _unknown_kinds(body, allowed) == [
        "spec.service.objects[1].kind: must be a kind of spec.objectKinds of Datacenter fra1; ask "
        "a user with the verb useobjectkinds to add group (core) and kind ClusterRole there and "
        "to grant the operator the permissions for it, or remove the object (got ClusterRole)"
    ]
    assert _unknown_kinds(body, allowed, ObjectKind(group="", kind="ClusterRole")) == []
    assert len(_unknown_kinds(body)) == 2
    assert len(_unknown_kinds(body, ObjectKind(group=RBAC, kind="Role"))) == 2


@pytest.mark.parametrize("named", [{"group": "*", "kind": "A"}, {"group": "a.b", "kind": "*"}])
def test_there_is_no_wildcard(named: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        ObjectKind.model_validate(named)


@pytest.mark.parametrize(
    ("group", "kind", "policy", "expected"),
    [
        ("apiextensions.k8s.io", "CustomResourceDefinition", None, True),
        ("apiextensions.k8s.io", "CustomResourceDefinition", "Delete", False),
        (RBAC, "ClusterRole", None, False),
        (RBAC, "ClusterRole", "Retain", True),
    ],
)
def test_only_crds_are_retained_by_default(
    group: str, kind: str, policy: Any, expected: bool
) -> None:
    assert ObjectKind(group=group, kind=kind, deletion_policy=policy).retains is expected
