"""e2e.harness.rights: rules and requests, cut into the smallest rights."""

from dataclasses import replace

from e2e.harness.audit import Entry
from e2e.harness.rights import Grain, grains, grains_of, unused_rights, without

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
CREATE, PATCH = Grain("", "configmaps", "create"), Grain("", "configmaps", "patch")


def test_a_patch_that_makes_an_object_needs_two_rights() -> None:
    assert [need.verb for need in grains_of(ENTRY)] == ["patch", "create"]
    assert [need.verb for need in grains_of(replace(ENTRY, code=200))] == ["patch"]
    assert unused_rights([MAPS], grains_of(ENTRY)) == []
    assert unused_rights([MAPS], grains_of(replace(ENTRY, code=200))) == [CREATE]


def test_what_was_refused_used_nothing() -> None:
    assert list(grains_of(replace(ENTRY, code=403))) == []


def test_a_right_on_one_name_is_not_used_by_another() -> None:
    lease = replace(ENTRY, group="coordination.k8s.io", resource="leases", verb="get", code=200)
    assert len(unused_rights([LEASES], grains_of(lease))) == 2
    assert [
        grain.verb for grain in unused_rights([LEASES], grains_of(replace(lease, name="a")))
    ] == ["update"]


def test_a_path_is_a_right_of_its_own() -> None:
    look = replace(ENTRY, resource="", verb="get", code=200, uri="/version?timeout=1s")
    assert unused_rights([PATH], grains_of(look)) == []


def test_one_right_is_taken_out_and_all_others_stay() -> None:
    left = without([MAPS, LEASES, PATH], CREATE)
    assert [grain for rule in left for grain in grains(rule)] == [
        PATCH,
        *grains(LEASES),
        *grains(PATH),
    ]
