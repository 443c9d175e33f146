"""The metadata that every object of a cluster carries."""

from contracts.builders.metadata import cluster_object
from contracts.naming import labels
from runtime.builtin_kinds import CONFIG_MAP, ROLE
from tests import gen

RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def test_an_object_has_the_namespace_and_the_labels_of_its_cluster() -> None:
    intent = cluster_object(gen.resolved(gen.cluster()), ROLE, "r", {"rules": [RULE]})
    assert intent.body == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": gen.NAMESPACE, "labels": labels.base("x")},
        "rules": [RULE],
    }


def test_without_annotations_the_field_is_absent() -> None:
    meant = gen.resolved(gen.cluster())
    with_some = cluster_object(meant, CONFIG_MAP, "c", {}, annotations={"a": "b"})
    with_none = cluster_object(meant, CONFIG_MAP, "c", {}, annotations={})
    assert with_some.body["metadata"]["annotations"] == {"a": "b"}
    assert "annotations" not in with_none.body["metadata"]


def test_a_field_without_a_value_is_not_owned() -> None:
    intent = cluster_object(
        gen.resolved(gen.cluster()), CONFIG_MAP, "c", {"data": {"a": "b"}, "immutable": None}
    )
    assert intent.body["data"] == {"a": "b"}
    assert "immutable" not in intent.body
