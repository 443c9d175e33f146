"""e2e.harness.rights: rules and requests, split into the smallest rights."""

from dataclasses import replace

from e2e.harness.audit import Entry
from e2e.harness.rights import (
    Permission,
    permissions_of,
    required_permissions,
    unused_rights,
    without,
)

LEASES = {
    "apiGroups": ["coordination.k8s.io"],
    "resources": ["leases"],
    "resourceNames": ["a"],
    "verbs": ["get", "update"],
}
MAPS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]}
PATH = {"nonResourceURLs": ["/version"], "verbs": ["get"]}
ENTRY = Entry(
    at="",
    user="",
    agent="",
    verb="patch",
    resource="configmaps",
    subresource="",
    namespace="n",
    name="m",
    code=201,
    message="",
    uri="/api/v1/namespaces/n/configmaps/m?fieldManager=x",
)
CREATE, PATCH = Permission("", "configmaps", "create"), Permission("", "configmaps", "patch")


def test_a_patch_that_creates_an_object_uses_two_rights() -> None:
    assert [need.verb for need in required_permissions(ENTRY)] == ["patch", "create"]
    assert [need.verb for need in required_permissions(replace(ENTRY, code=200))] == ["patch"]
    assert unused_rights([MAPS], required_permissions(ENTRY)) == []
    assert unused_rights([MAPS], required_permissions(replace(ENTRY, code=200))) == [CREATE]


def test_a_refused_request_uses_no_right() -> None:
    assert list(required_permissions(replace(ENTRY, code=403))) == []


def test_a_right_to_one_name_is_not_used_by_another_name() -> None:
    lease = replace(ENTRY, group="coordination.k8s.io", resource="leases", verb="get", code=200)
    assert len(unused_rights([LEASES], required_permissions(lease))) == 2
    assert [
        permission.verb
        for permission in unused_rights([LEASES], required_permissions(replace(lease, name="a")))
    ] == ["update"]


def test_a_path_is_a_separate_right() -> None:
    look = replace(ENTRY, resource="", verb="get", code=200, uri="/version?timeout=1s")
    assert unused_rights([PATH], required_permissions(look)) == []


def test_one_right_can_be_removed() -> None:
    left = without([MAPS, LEASES, PATH], CREATE)
    assert [permission for rule in left for permission in permissions_of(rule)] == [
        PATCH,
        *permissions_of(LEASES),
        *permissions_of(PATH),
    ]
