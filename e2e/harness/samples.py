"""The manifests in config/samples, as text and as objects."""

from pathlib import Path

import yaml

from e2e.rig.paths import REPOSITORY
from runtime.types import Object

FOLDER = REPOSITORY / "config" / "samples"
FILES: tuple[Path, ...] = tuple(sorted(FOLDER.glob("*.yaml")))


def objects(text: str) -> list[Object]:
    """Return the objects of a file in their order."""
    return [document for document in yaml.safe_load_all(text) if document is not None]
