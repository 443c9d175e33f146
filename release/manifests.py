"""The overlays of deploy as objects and as installation files.

Runs kubectl. Called by release.main and by the tests of the chart.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

MODES = (
    "cluster-wide",
    "namespace-list",
    "single-namespace",
    "multi-tenant",
    "datacenters",
    "without-admission",
)
"""Each is an overlay of the same name."""
DEFAULT_MODE = "cluster-wide"
IMAGE_NAME = "openbao-operator"
"""Name of the image in the manifests; an installation replaces it."""

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checkout:
    """The repository with the manifests, and the kubectl that builds them."""

    root: Path
    kubectl: Path

    def build(self, folder: str) -> str:
        """Build a folder of deploy. Raises subprocess.CalledProcessError."""
        return self._kustomize(self.root / "deploy" / folder)

    def objects(self, folder: str) -> list[Object]:
        """Build a folder of deploy and parse the output."""
        return [body for body in yaml.load_all(self.build(folder), yaml.CSafeLoader) if body]

    def with_image(self, folder: str, image: str, version: str) -> str:
        """Build a folder of deploy with another image."""
        with _kustomization(self.root, self.root / "deploy" / folder, image, version) as built:
            return self._kustomize(built)

    def _kustomize(self, folder: Path) -> str:
        argv = [str(self.kubectl), "kustomize", str(folder)]
        return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextmanager
def _kustomization(root: Path, base: Path, image: str, version: str) -> Iterator[Path]:
    # Below the root: kustomize refuses absolute paths.
    (root / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root / "build") as name:
        folder = Path(name)
        kustomization = {
            "resources": [os.path.relpath(base.resolve(), folder.resolve())],
            "images": [{"name": IMAGE_NAME, "newName": image, "newTag": version}],
        }
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        yield folder


def install_files(checkout: Checkout, image: str, version: str) -> Mapping[str, str]:
    """Return the installation files by name: one per mode, and install.yaml for the default one."""
    files = {
        f"install-{mode}.yaml": _header(mode, version)
        + checkout.with_image(f"overlays/{mode}", image, version)
        for mode in MODES
    }
    return {"install.yaml": files[f"install-{DEFAULT_MODE}.yaml"], **files}


def _header(mode: str, version: str) -> str:
    return (
        f"# openbao-operator {version}, deploy/overlays/{mode}.\n"
        "# Install it with: kubectl apply --server-side -f FILE\n"
    )
