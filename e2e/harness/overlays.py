"""Copies of the overlays of deploy, for another namespace."""

import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from contracts.naming.installation import NAMESPACE
from e2e.demo.manifests import as_list, documents
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from runtime.types import Object

EVERYWHERE = ("cluster-wide", "without-admission", "datacenters")
"""The overlays whose operator reconciles clusters of all namespaces."""
LISTED = ("team-a", "team-b")
_KEPT = frozenset({"Namespace", "CustomResourceDefinition"})
POLICY = "ValidatingAdmissionPolicy"


def copy_overlays(folder: Path, namespace: str) -> Path:
    """Copy the manifests and change the namespace in each overlay."""
    for part in ("deploy", "config"):
        shutil.copytree(REPOSITORY / part, folder / part)
    for file in (folder / "deploy" / "overlays").rglob("kustomization.yaml"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(f"\nnamespace: {NAMESPACE}\n", f"\nnamespace: {namespace}\n"))
    return folder


def render_overlay(rig: Rig, checkout: Path, overlay: str) -> str:
    """Build an overlay with `kubectl kustomize`."""
    return rig.kubectl("kustomize", str(checkout / "deploy" / "overlays" / overlay))


def remove_objects(rig: Rig, objects: Iterable[Object], keep: Collection[str] = ()) -> None:
    """Delete the objects of an overlay, except namespaces, CRDs and the kinds of `keep`."""
    gone = [obj for obj in objects if obj["kind"] not in _KEPT and obj["kind"] not in keep]
    delete = ("delete", "--ignore-not-found", "--wait=false", "-f", "-")
    rig.kubectl(*delete, input=as_list(gone), timeout=120.0)


@dataclass(frozen=True, slots=True)
class Build:
    """The objects of a rendered overlay."""

    text: str
    objects: tuple[Object, ...]

    @classmethod
    def of(cls, rig: Rig, checkout: Path, overlay: str) -> "Build":
        """Build it, and parse the output."""
        text = render_overlay(rig, checkout, overlay)
        return cls(text, tuple(documents(text)))

    def of_kind(self, *kinds: str) -> list[Object]:
        """The objects of these kinds."""
        return [obj for obj in self.objects if obj["kind"] in kinds]

    def get(self, kind: str, name: str) -> Object:
        """The one object of that kind and name."""
        (match_,) = [obj for obj in self.of_kind(kind) if obj["metadata"]["name"] == name]
        return match_
