"""The operator's manifests as the demo applies them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from e2e.demo.errors import DemoError
from e2e.demo.objects import Object

OPERATOR_NAMESPACE = "openbao-operator-system"
OPERATOR_DEPLOYMENT = "openbao-operator"
OPERATOR_CONTAINER = "operator"
OPERATOR_SELECTOR = {
    "app.kubernetes.io/name": "openbao-operator",
    "app.kubernetes.io/component": "controller",
}
REPLICAS = 2
# A tag may be built anew: pods are replaced when the content behind it has changed.
CONTENT_ANNOTATION = "demo.openbao.org/image-content"


@dataclass(frozen=True, slots=True)
class Installation:
    """How the operator is installed.

    ``content`` names what is behind ``image`` (a digest), "" when that is not known.
    """

    image: str
    pull_policy: str
    openbao_repository: str
    content: str = ""


def documents(text: str) -> list[Object]:
    """Parse a YAML stream; empty documents are left out."""
    return [document for document in yaml.safe_load_all(text) if document]


def operator_objects(rendered: str, wishes: Installation) -> list[Object]:
    """Return the rendered kustomize base with the Deployment as ``wishes`` asks.

    Raises DemoError when the base holds no Deployment with the container that is expected.
    """
    objects = documents(rendered)
    deployments = [one for one in objects if one["kind"] == "Deployment"]
    if len(deployments) != 1:
        raise DemoError(f"deploy/base holds {len(deployments)} Deployments instead of one")
    _adjust(deployments[0], wishes)
    return objects


def _adjust(deployment: Object, wishes: Installation) -> None:
    spec = deployment["spec"]
    spec["replicas"] = REPLICAS
    template = spec["template"]
    containers = template["spec"]["containers"]
    found = [one for one in containers if one["name"] == OPERATOR_CONTAINER]
    if not found:
        raise DemoError(f"the Deployment in deploy/base has no container {OPERATOR_CONTAINER}")
    container = found[0]
    container["image"] = wishes.image
    container["imagePullPolicy"] = wishes.pull_policy
    set_variable(container, "RELATED_IMAGE_OPENBAO", wishes.openbao_repository)
    if wishes.content:
        annotations = template.setdefault("metadata", {}).setdefault("annotations", {})
        annotations[CONTENT_ANNOTATION] = wishes.content


def set_variable(container: dict[str, Any], name: str, value: str) -> None:
    """Set an environment variable of a container, replacing what was there."""
    others = [one for one in container.get("env") or [] if one["name"] != name]
    container["env"] = [*others, {"name": name, "value": value}]


def one_of_kind(objects: Iterable[Object], kind: str) -> Object:
    """Return the only object of a kind. Raises DemoError when there are none or several."""
    found = [one for one in objects if one["kind"] == kind]
    if len(found) != 1:
        raise DemoError(f"expected one {kind}, found {len(found)}")
    return found[0]
