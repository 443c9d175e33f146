"""The ClusterServiceVersion of a release: the installation and the texts for OLM. Pure.

Source of the fields: operators.coreos.com/v1alpha1 of github.com/operator-framework/api v0.45.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.naming.installation import CONTROLLER, NAMESPACE
from release.bundle.descriptors import spec_descriptors, status_descriptors, version_of
from release.bundle.objects import Parts
from release.manifests import IMAGE_NAME, Object

PACKAGE = "openbao-operator"
MIN_KUBERNETES = "1.30.0"
"""The oldest version whose admission policies are stable, as deploy/chart/Chart.yaml says."""
_LEVEL = "Full Lifecycle"
_SUMMARY = "Runs OpenBao clusters on Kubernetes"
_INTERNAL = ("bootstrapworkloads.openbao.org",)
_PLATFORMS = ("os.linux", "arch.amd64", "arch.arm64")
_KEYWORDS = ("openbao", "vault", "secrets", "security", "encryption")


@dataclass(frozen=True, slots=True)
class Texts:
    """The content that is not in an overlay."""

    version: str
    image: str
    """Repository of the image of the operator."""
    home: str
    """URL of the project."""
    description: str
    """Markdown."""
    icon: bytes
    """SVG."""
    examples: Sequence[Object]
    """One for each kind."""

    @property
    def reference(self) -> str:
        """The image of this release."""
        return f"{self.image}:{self.version}"


def service_version(parts: Parts, texts: Texts) -> Object:
    """Return the ClusterServiceVersion."""
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{PACKAGE}.v{texts.version}",
            "namespace": "placeholder",
            "labels": {f"operatorframework.io/{name}": "supported" for name in _PLATFORMS},
            "annotations": _annotations(texts),
        },
        "spec": {
            **_about(texts),
            "version": texts.version,
            "minKubeVersion": MIN_KUBERNETES,
            "installModes": _install_modes(),
            "customresourcedefinitions": {"owned": [_owned(crd) for crd in parts.definitions]},
            "install": {"strategy": "deployment", "spec": _install(parts, texts)},
            "relatedImages": [{"name": "operator", "image": texts.reference}],
        },
    }


def _annotations(texts: Texts) -> Mapping[str, str]:
    return {
        "alm-examples": json.dumps(texts.examples, indent=2),
        "capabilities": _LEVEL,
        "categories": "Security",
        "containerImage": texts.reference,
        "description": _SUMMARY,
        "olm.skipRange": f"<{texts.version}",
        # Only the operator writes these kinds, so a console offers no form.
        "operators.operatorframework.io/internal-objects": json.dumps([*_INTERNAL]),
        "operatorframework.io/suggested-namespace": NAMESPACE,
        "repository": texts.home,
    }


def _about(texts: Texts) -> Object:
    icon = {"base64data": base64.b64encode(texts.icon).decode(), "mediatype": "image/svg+xml"}
    return {
        "displayName": "OpenBao Operator",
        "description": texts.description,
        "keywords": [*_KEYWORDS],
        "maturity": "alpha",
        "provider": {"name": "OpenBao Operator", "url": texts.home},
        "links": [{"name": "Source", "url": texts.home}],
        "icon": [icon],
    }


def _install_modes() -> list[Object]:
    modes = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    return [{"type": mode, "supported": mode == "AllNamespaces"} for mode in modes]


def _owned(definition: Object) -> Object:
    names, group = definition["spec"]["names"], definition["spec"]["group"]
    version = version_of(definition)
    described = version["schema"]["openAPIV3Schema"]["description"]
    return {
        "name": f"{names['plural']}.{group}",
        "version": version["name"],
        "kind": names["kind"],
        "displayName": names["kind"],
        "description": " ".join(described.split()),
        "specDescriptors": spec_descriptors(definition),
        "statusDescriptors": status_descriptors(definition),
    }


def _install(parts: Parts, texts: Texts) -> Object:
    metadata = parts.deployment["metadata"]
    return {
        "deployments": [
            {
                "name": metadata["name"],
                "label": metadata["labels"],
                "spec": _with_image(parts.deployment["spec"], texts.reference),
            }
        ],
        "permissions": [{"serviceAccountName": CONTROLLER, "rules": [*parts.permissions]}],
        "clusterPermissions": [
            {"serviceAccountName": CONTROLLER, "rules": [*parts.cluster_permissions]}
        ],
    }


def _with_image(content: Any, reference: str) -> Any:
    """Return a copy with this image in every container of the operator."""
    if isinstance(content, list):
        return [_with_image(item, reference) for item in content]
    if not isinstance(content, dict):
        return content
    return {
        name: reference
        if name == "image" and value == IMAGE_NAME
        else _with_image(value, reference)
        for name, value in content.items()
    }
