"""The operator's manifests, adjusted to an environment."""

import pytest
import yaml

from e2e.demo.errors import DemoError
from e2e.demo.install import REPOSITORY
from e2e.demo.manifests import (
    CONTENT_ANNOTATION,
    OPERATOR_CONTAINER,
    OPERATOR_DEPLOYMENT,
    OPERATOR_SELECTOR,
    Installation,
    documents,
    one_of_kind,
    operator_objects,
)
from e2e.demo.objects import Object

DEPLOYMENT = (REPOSITORY / "deploy" / "base" / "deployment.yaml").read_text()
WISHES = Installation("localhost/operator:1", "Never", "localhost/openbao", "sha256:abc")


def deployment(wishes: Installation = WISHES) -> Object:
    """The Deployment of the base, as it would be applied."""
    return one_of_kind(operator_objects(DEPLOYMENT, wishes), "Deployment")


def test_the_names_match_the_deployment_of_the_base() -> None:
    manifest = deployment()
    assert manifest["metadata"]["name"] == OPERATOR_DEPLOYMENT
    assert manifest["spec"]["selector"]["matchLabels"] == OPERATOR_SELECTOR


def test_image_pull_policy_and_replicas_are_set() -> None:
    manifest = deployment()
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["imagePullPolicy"]) == ("localhost/operator:1", "Never")
    assert manifest["spec"]["replicas"] == 2


def test_the_repository_of_the_server_image_replaces_only_its_variable() -> None:
    text = DEPLOYMENT.replace("env:", "env:\n            - {name: RELATED_IMAGE_OPENBAO, value: x}")
    manifest = one_of_kind(operator_objects(text, WISHES), "Deployment")
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    values = [
        variable["value"]
        for variable in container["env"]
        if variable["name"] == "RELATED_IMAGE_OPENBAO"
    ]
    assert values == ["localhost/openbao"]
    assert "POD_NAME" in {variable["name"] for variable in container["env"]}


def test_another_image_with_the_same_tag_replaces_the_pods() -> None:
    template = deployment()["spec"]["template"]
    assert template["metadata"]["annotations"][CONTENT_ANNOTATION] == "sha256:abc"
    plain = deployment(Installation("i", "Always", "r"))["spec"]["template"]
    assert CONTENT_ANNOTATION not in plain["metadata"]["annotations"]


def test_a_base_without_the_container_is_refused() -> None:
    text = DEPLOYMENT.replace(f"- name: {OPERATOR_CONTAINER}", "- name: other")
    with pytest.raises(DemoError, match="no container operator"):
        operator_objects(text, WISHES)


def test_a_base_without_a_deployment_is_refused() -> None:
    with pytest.raises(DemoError, match="no Deployment openbao-operator"):
        operator_objects("kind: Service\n", WISHES)


def test_empty_documents_are_omitted() -> None:
    assert documents("---\n---\nkind: A\n---\n") == [{"kind": "A"}]


def test_several_objects_of_a_kind_are_refused() -> None:
    with pytest.raises(DemoError, match="found 2"):
        one_of_kind(documents(yaml.safe_dump_all([{"kind": "A"}, {"kind": "A"}])), "A")
