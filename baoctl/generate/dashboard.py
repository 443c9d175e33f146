"""Renders a Grafana dashboard from a table of panels. Pure.

Called by baoctl.generate.main with the table of baoctl.generate.dashboard_panels. The format is the
JSON model that Grafana 10 and later import.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

UID: Final = "openbao-operator"
SCHEMA_VERSION: Final = 39
"""Version of the JSON model of Grafana 10; later releases migrate it."""
COLUMNS: Final = 24
_DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_CLUSTERS: Final = "openbao_cluster_desired_replicas"

Json = dict[str, Any]
PanelType = Literal["stat", "timeseries"]


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression, and the legend of its series."""

    expr: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel."""

    title: str
    description: str
    queries: tuple[Query, ...]
    unit: str = "short"
    type: PanelType = "timeseries"
    base_color: str = "green"
    """Color below the first step."""
    steps: tuple[tuple[float, str], ...] = ()
    """The lowest value of each further color."""

    @property
    def width(self) -> int:
        """Width in columns of the grid, which has 24."""
        return 4 if self.type == "stat" else 8

    @property
    def height(self) -> int:
        """Height in rows of the grid."""
        return 4 if self.type == "stat" else 8


@dataclass(frozen=True, slots=True)
class Row:
    """A title, and the panels below it."""

    title: str
    panels: tuple[Panel, ...]


def dashboard(rows: Sequence[Row]) -> str:
    """Return the JSON text. The same rows produce the same bytes."""
    model: Json = {
        "uid": UID,
        "title": "OpenBao operator",
        "description": "Written by `python -m baoctl.generate dashboards`.",
        "tags": ["openbao"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": list(_panels(rows)),
    }
    return json.dumps(model, indent=2) + "\n"


def _variables() -> list[Json]:
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        _label_variable("namespace", "Namespace", f"label_values({_CLUSTERS}, namespace)"),
        _label_variable(
            "cluster", "Cluster", f'label_values({_CLUSTERS}{{namespace=~"$namespace"}}, name)'
        ),
    ]


def _label_variable(name: str, label: str, query: str) -> Json:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _DATASOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def _panels(rows: Sequence[Row]) -> Iterator[Json]:
    """Yield the panels from left to right and top to bottom, with IDs from 1."""
    number, top = 1, 0
    for row in rows:
        place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        yield {"id": number, "type": "row", "title": row.title, "gridPos": place, "panels": []}
        number, top, left = number + 1, top + 1, 0
        for panel in row.panels:
            if left + panel.width > COLUMNS:
                top, left = top + panel.height, 0
            place = {"x": left, "y": top, "w": panel.width, "h": panel.height}
            yield {"id": number, "gridPos": place, **_content(panel)}
            number, left = number + 1, left + panel.width
        top += row.panels[-1].height


def _content(panel: Panel) -> Json:
    targets = [
        {
            "refId": chr(ord("A") + position),
            "datasource": _DATASOURCE,
            "expr": query.expr,
            "legendFormat": query.legend or "__auto",
        }
        for position, query in enumerate(panel.queries)
    ]
    return {
        "type": panel.type,
        "title": panel.title,
        "description": panel.description,
        "datasource": _DATASOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _OPTIONS[panel.type],
    }


def _defaults(panel: Panel) -> Json:
    steps: list[Json] = [{"color": panel.base_color, "value": None}]
    steps += [{"color": color, "value": value} for value, color in panel.steps]
    defaults: Json = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.type == "timeseries":
        defaults["custom"] = {"fillOpacity": 10, "showPoints": "never"}
    return defaults


_OPTIONS: Final[dict[str, Json]] = {
    "stat": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value"},
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom"},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
}
