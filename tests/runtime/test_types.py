"""runtime.types and runtime.builtin_kinds: keys, paths, accessors of metadata."""

import pytest

from runtime import builtin_kinds
from runtime.builtin_kinds import NAMESPACE, POD, SECRET, STATEFUL_SET
from runtime.types import (
    Object,
    ObjectKey,
    OwnerReference,
    Resource,
    annotations_of,
    controller_of,
    is_generation_observed,
    is_terminating,
    key_of,
    labels_of,
    resource_version_of,
    uid_of,
)


@pytest.mark.parametrize(
    ("resource", "where", "path"),
    [
        (POD, (None,), "/api/v1/pods"),
        (POD, ("shop",), "/api/v1/namespaces/shop/pods"),
        (POD, ("shop", "web-0"), "/api/v1/namespaces/shop/pods/web-0"),
        (POD, ("shop", "web-0", "status"), "/api/v1/namespaces/shop/pods/web-0/status"),
        (STATEFUL_SET, ("shop", "web"), "/apis/apps/v1/namespaces/shop/statefulsets/web"),
        (NAMESPACE, ("", "shop"), "/api/v1/namespaces/shop"),
        (NAMESPACE, ("ignored", "shop"), "/api/v1/namespaces/shop"),
        (SECRET, ("a/../b", "x?y"), "/api/v1/namespaces/a%2F..%2Fb/secrets/x%3Fy"),
    ],
)
def test_paths(resource: Resource, where: tuple[str | None, ...], path: str) -> None:
    namespace, *rest = where
    assert resource.path(namespace, *rest) == path


@pytest.mark.parametrize("where", [("", "web-0"), (None, "web-0"), ("shop", None, "status")])
def test_ambiguous_paths_are_rejected(where: tuple[str | None, ...]) -> None:
    namespace, *rest = where
    with pytest.raises(ValueError, match="Pod"):
        POD.path(namespace, *rest)


def test_names_of_resources_and_keys() -> None:
    assert str(POD) == "pods"
    assert str(STATEFUL_SET) == "statefulsets.apps"
    assert (POD.api_version, STATEFUL_SET.api_version) == ("v1", "apps/v1")
    assert str(ObjectKey("shop", "web")) == "shop/web"
    assert str(ObjectKey("", "shop")) == "shop"


def test_every_built_in_resource_is_plural_and_unique() -> None:
    all_of_them = [value for value in vars(builtin_kinds).values() if isinstance(value, Resource)]
    assert len(all_of_them) >= 16
    assert len({(r.group, r.plural) for r in all_of_them}) == len(all_of_them)
    assert all(r.plural == r.plural.lower() and r.plural.endswith("s") for r in all_of_them)
    assert [r.kind for r in all_of_them if not r.namespaced] == [
        "Namespace",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ]


def test_accessors_of_a_full_object() -> None:
    owner = {"apiVersion": "v1", "kind": "Shop", "name": "s", "uid": "u1"}
    obj: Object = {
        "metadata": {
            "namespace": "shop",
            "name": "web",
            "uid": "u2",
            "resourceVersion": "7",
            "labels": {"a": "b"},
            "annotations": {"c": "d"},
            "deletionTimestamp": "2030-01-01T00:00:00Z",
            "ownerReferences": [{**owner, "uid": "u0"}, {**owner, "controller": True}],
        }
    }
    assert key_of(obj) == ObjectKey("shop", "web")
    assert (uid_of(obj), resource_version_of(obj)) == ("u2", "7")
    assert (labels_of(obj), annotations_of(obj)) == ({"a": "b"}, {"c": "d"})
    assert is_terminating(obj)
    assert controller_of(obj) == OwnerReference("v1", "Shop", "s", "u1")


@pytest.mark.parametrize(
    ("generation", "observed", "expected"),
    [(2, 1, False), (2, 2, True), (2, None, False), (None, None, True)],
)
def test_the_generation_is_observed_once_the_status_names_it(
    generation: int | None, observed: int | None, expected: bool
) -> None:
    obj = {"metadata": {"generation": generation}, "status": {"observedGeneration": observed}}
    assert is_generation_observed(obj) is expected
    assert is_generation_observed({"metadata": {"generation": generation}}) is (generation is None)


@pytest.mark.parametrize(
    "obj",
    [{}, {"metadata": None}, {"metadata": {"labels": None, "ownerReferences": None, "uid": None}}],
)
def test_accessors_of_an_empty_object(obj: Object) -> None:
    assert key_of(obj) == ObjectKey("", "")
    assert (uid_of(obj), resource_version_of(obj)) == ("", "")
    assert (labels_of(obj), annotations_of(obj)) == ({}, {})
    assert not is_terminating(obj)
    assert controller_of(obj) is None
