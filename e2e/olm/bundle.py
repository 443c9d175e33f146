"""Builds the bundle, and the objects that OLM would create from it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from e2e.rig import binaries
from e2e.rig.paths import Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import KUBECTL
from release.bundle.files import bundle_files
from release.manifests import Checkout, Object

VERSION = "1.2.3"
HOME_PAGE = "https://forge.example.com/openbao-operator"
_CSV = "ClusterServiceVersion"
_NAMESPACED = frozenset({"Service", "PodDisruptionBudget"})
_RBAC = "rbac.authorization.k8s.io"


def checkout_of(root: Path) -> Checkout:
    """Return the sources below a folder, with the kubectl that builds them."""
    (kubectl,) = binaries.obtain(Cache(cache_root()), [KUBECTL], to_stderr())
    return Checkout(root, kubectl)


def write_bundle(checkout: Checkout, repository: str, folder: Path) -> None:
    """Write the folder of the bundle, with the content of its archive."""
    for path, text in bundle_files(checkout, VERSION, repository, HOME_PAGE).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def objects_of_olm(folder: Path, namespace: str) -> list[Object]:
    """Return the objects that OLM creates from a bundle in a namespace, except for their names.

    Source: pkg/controller/install and pkg/controller/registry/resolver of the
    operator-lifecycle-manager: a ServiceAccount for each name in the permissions, a role and a
    binding for its rules, a Deployment for each strategy, and every other manifest unchanged.
    """
    manifests = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in folder.glob("*.yaml")]
    (csv,) = [manifest for manifest in manifests if manifest["kind"] == _CSV]
    others = [
        _with_namespace(manifest, namespace) for manifest in manifests if manifest["kind"] != _CSV
    ]
    install = csv["spec"]["install"]["spec"]
    name = csv["metadata"]["name"]
    accounts = {permission["serviceAccountName"] for permission in install["permissions"]}
    return [
        *others,
        *(
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": _name_and_namespace(account, namespace),
            }
            for account in accounts
        ),
        *_rights("Role", name, install["permissions"], namespace),
        *_rights("ClusterRole", name, install["clusterPermissions"], namespace),
        *(_deployment(deployment, namespace) for deployment in install["deployments"]),
    ]


def _with_namespace(manifest: Object, namespace: str) -> Object:
    if manifest["kind"] not in _NAMESPACED:
        return manifest
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


def _name_and_namespace(name: str, namespace: str) -> Object:
    return {"name": name, "namespace": namespace}


def _rights(kind: str, name: str, permissions: list[Object], namespace: str) -> list[Object]:
    objects: list[Object] = []
    for number, permission in enumerate(permissions):
        metadata = _name_and_namespace(f"{name}-{number}", namespace)
        if kind == "ClusterRole":
            del metadata["namespace"]
        account = _name_and_namespace(permission["serviceAccountName"], namespace)
        reference = {"apiGroup": _RBAC, "kind": kind, "name": metadata["name"]}
        objects += [
            _rbac(kind, metadata, rules=permission["rules"]),
            _rbac(
                f"{kind}Binding",
                metadata,
                roleRef=reference,
                subjects=[{"kind": "ServiceAccount", **account}],
            ),
        ]
    return objects


def _rbac(kind: str, metadata: Object, **more: Any) -> Object:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, **more}


def _deployment(strategy: Mapping[str, Any], namespace: str) -> Object:
    metadata = {**_name_and_namespace(strategy["name"], namespace), "labels": strategy["label"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": strategy["spec"],
    }
