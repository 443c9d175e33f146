"""Runs helm with the chart of this checkout."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from e2e.rig import binaries
from e2e.rig.paths import REPOSITORY, Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import HELM_TOOL, KUBECTL
from release.chart.archive import NAME, archive
from release.chart.files import chart_files
from release.manifests import IMAGE_NAME, Checkout

VERSION = "1.2.3"
Object = dict[str, Any]


class HelmError(Exception):
    """Helm failed; has its standard error."""


@dataclass(frozen=True, slots=True)
class Helm:
    """Helm, and the chart as an archive."""

    program: Path
    chart: Path
    checkout: Checkout

    @classmethod
    def build(cls, folder: Path) -> "Helm":
        """Build helm if it is not cached, and package the chart."""
        kubectl, program = binaries.obtain(Cache(cache_root()), [KUBECTL, HELM_TOOL], to_stderr())
        checkout = Checkout(REPOSITORY, kubectl)
        chart = folder / f"{NAME}-{VERSION}.tgz"
        chart.write_bytes(archive(chart_files(checkout, VERSION, IMAGE_NAME)))
        return cls(program, chart, checkout)

    def run(self, *args: str, environment: dict[str, str] | None = None) -> str:
        """Run helm and return its output. Raises HelmError."""
        argv = [str(self.program), *args]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, env=environment, timeout=240
        )
        if done.returncode != 0:
            raise HelmError(done.stderr.strip())
        return done.stdout

    def template(self, namespace: str, *options: str) -> list[Object]:
        """Return the objects that an installation would apply. Raises HelmError."""
        text = self.run("template", "any", str(self.chart), "--namespace", namespace, *options)
        return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]
