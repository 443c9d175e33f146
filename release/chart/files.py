"""All files of the chart. Reads deploy/chart, and builds the overlays."""

from collections.abc import Mapping
from pathlib import Path

from release.chart.objects import templates
from release.chart.template import SHARDED
from release.manifests import MODES, Checkout

FOLDER = Path("deploy") / "chart"
OPTIONS: Mapping[str, str] = {
    ".Values.monitoring.serviceMonitor": "monitoring",
    ".Values.monitoring.prometheusRule": "alerts",
    ".Values.monitoring.recordingRules": "recording-rules",
    ".Values.monitoring.grafanaDashboard": "grafana",
    ".Values.ownerReferencesPermission": "rbac/owner-references",
    SHARDED: "rbac/shards",
}
"""Folders of deploy that values enable, by the condition of their templates."""


def chart_files(checkout: Checkout, version: str, image: str) -> Mapping[str, str]:
    """Return the files by path. Raises UnknownPartError for an overlay without a template."""
    folder = checkout.root / FOLDER
    written = {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }
    written["Chart.yaml"] += f"version: {version}\nappVersion: {version}\n"
    written["values.yaml"] = _with_image(written["values.yaml"], image)
    generated = templates(
        {mode: checkout.objects(f"overlays/{mode}") for mode in MODES},
        {condition: checkout.objects(part) for condition, part in OPTIONS.items()},
    )
    return {**written, **{f"templates/{name}": text for name, text in generated.items()}}


def _with_image(values: str, image: str) -> str:
    before = "  repository: openbao-operator\n"
    if values.count(before) != 1:
        raise ValueError("deploy/chart/values.yaml must name the image exactly once")
    return values.replace(before, f"  repository: {image}\n")
