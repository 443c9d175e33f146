"""Packages kubectl-bao for krew: an archive per platform, and the manifest.

Reproducible. Source of the format: "Writing krew plugin manifests", API v1alpha2. Called by
release.main.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from release.tarball import FAST, tarball

PROGRAM = "kubectl-bao"
LICENSE = "LICENSE"
FILE = "krew-bao.yaml"
_DESCRIPTION = """\
Shows OpenBao clusters on one screen, finds out what is wrong with one, and acts: backup, restore,
upgrade, restart, pause, fence. For clusters that the OpenBao operator runs.
"""
_CAVEATS = "Needs Python 3.11, 3.12, 3.13 or 3.14 on PATH as python3.\n"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a release is published."""

    home: str
    """URL of the project."""
    files: str
    """URL of the folder with the files of the release."""


def archive_name(platform: str) -> str:
    """Return the name of the archive of a platform such as linux-amd64."""
    return f"{PROGRAM}-{platform}.tar.gz"


def archive(program: bytes, license_text: bytes) -> bytes:
    """Pack the program with its license, which krew requires."""
    return tarball(((LICENSE, license_text, 0o644), (PROGRAM, program, 0o755)), FAST)


def manifest(version: str, source: Source, archives: Mapping[str, bytes]) -> str:
    """Return the manifest; `archives` by platform."""
    document = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "bao"},
        "spec": {
            "version": f"v{version}",
            "homepage": source.home,
            "shortDescription": "Look at OpenBao clusters, and operate them",
            "description": _DESCRIPTION,
            "caveats": _CAVEATS,
            "platforms": [_platform(name, source, archives[name]) for name in archives],
        },
    }
    return yaml.safe_dump(document, sort_keys=False, width=100)


def _platform(platform: str, source: Source, content: bytes) -> dict[str, object]:
    system, _, arch = platform.partition("-")
    return {
        "selector": {"matchLabels": {"os": system, "arch": arch}},
        "uri": f"{source.files}/{archive_name(platform)}",
        "sha256": hashlib.sha256(content).hexdigest(),
        "bin": PROGRAM,
        "files": [{"from": name, "to": "."} for name in (PROGRAM, LICENSE)],
    }
