"""The manifests of the operator, adjusted for the demo. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

from contracts.naming.installation import NAMESPACE
from e2e.demo.errors import DemoError
from e2e.demo.objects import Object, name_of

OPERATOR_NAMESPACE = NAMESPACE
OPERATOR_DEPLOYMENT = "openbao-operator"
OPERATOR_CONTAINER = "operator"
PROVISIONER_CONTAINER = "provisioner"
OPERATOR_SELECTOR = {
    "app.kubernetes.io/name": "openbao-operator",
    "app.kubernetes.io/component": "controller",
}
REPLICAS = 2
# A tag may be rebuilt: pods are replaced when its content has changed.
CONTENT_ANNOTATION = "demo.openbao.org/image-content"


@dataclass(frozen=True, slots=True)
class Installation:
    """How the operator is installed.

    ``content`` is the digest of ``image``, "" if it is not known.
    """

    image: str
    pull_policy: str
    openbao_repository: str
    content: str = ""


def documents(text: str) -> list[Object]:
    """Parse a YAML stream; empty documents are dropped."""
    # As safe as SafeLoader and ten times as fast: the CRDs have half a megabyte.
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]


def as_list(objects: Iterable[Object]) -> str:
    """Return the objects as one List."""
    return orjson.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects]}).decode()


def operator_objects(rendered: str, installation: Installation) -> list[Object]:
    """Return a rendered overlay with its Deployments adjusted to ``installation``.

    Raises DemoError if there is no Deployment with the expected container.
    """
    objects = documents(rendered)
    deployments = {name_of(obj): obj for obj in objects if obj["kind"] == "Deployment"}
    if OPERATOR_DEPLOYMENT not in deployments:
        raise DemoError(f"the overlay has no Deployment {OPERATOR_DEPLOYMENT}")
    for name, deployment in deployments.items():
        container = OPERATOR_CONTAINER if name == OPERATOR_DEPLOYMENT else PROVISIONER_CONTAINER
        _adjust(deployment, container, installation)
    return objects


def _adjust(deployment: Object, name: str, installation: Installation) -> None:
    spec = deployment["spec"]
    spec["replicas"] = REPLICAS
    template = spec["template"]
    containers = template["spec"]["containers"]
    matches = [entry for entry in containers if entry["name"] == name]
    if not matches:
        raise DemoError(f"Deployment {name_of(deployment)} has no container {name}")
    container = matches[0]
    container["image"] = installation.image
    container["imagePullPolicy"] = installation.pull_policy
    set_variable(container, "RELATED_IMAGE_OPENBAO", installation.openbao_repository)
    if installation.content:
        annotations = template.setdefault("metadata", {}).setdefault("annotations", {})
        annotations[CONTENT_ANNOTATION] = installation.content


def set_variable(container: dict[str, Any], name: str, value: str) -> None:
    """Set an environment variable of a container, replacing an existing one."""
    others = [variable for variable in container.get("env") or [] if variable["name"] != name]
    container["env"] = [*others, {"name": name, "value": value}]


def one_of_kind(objects: Iterable[Object], kind: str) -> Object:
    """Return the only object of a kind. Raises DemoError unless there is exactly one."""
    matches = [obj for obj in objects if obj["kind"] == kind]
    if len(matches) != 1:
        raise DemoError(f"expected one {kind}, found {len(matches)}")
    return matches[0]
