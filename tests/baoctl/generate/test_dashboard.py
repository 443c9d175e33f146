"""baoctl.generate.dashboard: the dashboard of deploy/grafana, and whether its metrics exist."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from baoctl.generate.dashboard import COLUMNS, Panel, Query, Row, dashboard
from baoctl.generate.dashboard_panels import BAD_CONDITIONS, GOOD_CONDITIONS, OWN, ROWS
from baoctl.generate.main import DASHBOARD_FILE, main
from contracts.conditions.catalog import TYPES
from managers.cluster.metrics import REPORTED_CONDITIONS
from tests.baoctl.generate.operator_series import Operator, series_of
from tests.house.checkout import ROOT

MODEL = json.loads((ROOT / DASHBOARD_FILE).read_text(encoding="utf-8"))
PANELS = [panel for panel in MODEL["panels"] if panel["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
_BY = re.compile(r"\bby \(([^)]*)\)")


async def test_the_queries_use_series_and_labels_that_exist(operator: Operator) -> None:
    used = [use for expression in QUERIES for use in series_of(expression)]
    assert len(used) >= len(QUERIES) > 30
    missing = [name for name, _ in used if name not in operator.series]
    assert missing == []
    unknown = [(name, labels - operator.series[name]) for name, labels in used]
    assert [name for name, labels in unknown if labels] == []


async def test_the_labels_of_groups_and_legends_exist(operator: Operator) -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            expression = target["expr"]
            labels = set[str]().union(*(operator.series[name] for name, _ in series_of(expression)))
            outer, *inner = [set(text.split(", ")) for text in _BY.findall(expression)] or [labels]
            assert all(group <= labels for group in (outer, *inner)), panel["title"]
            legend = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert legend <= outer, panel["title"]


async def test_the_queries_name_all_controllers(operator: Operator) -> None:
    assert [name for name in operator.controllers if not re.fullmatch(OWN, name)] == []


def test_the_conditions_are_reported_and_have_the_polarity_of_their_panel() -> None:
    polarity = {kind.name: kind.polarity for kind in TYPES}
    assert {*GOOD_CONDITIONS, *BAD_CONDITIONS} == REPORTED_CONDITIONS
    assert {polarity[name] for name in GOOD_CONDITIONS} == {"good"}
    assert "good" not in {polarity[name] for name in BAD_CONDITIONS}


def test_identifiers_and_titles_are_unique() -> None:
    identifiers = [panel["id"] for panel in MODEL["panels"]]
    assert identifiers == list(range(1, len(identifiers) + 1))
    titles = [panel["title"] for panel in MODEL["panels"]]
    assert len(set(titles)) == len(titles)
    for panel in PANELS:
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references) > 0


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in MODEL["panels"]]
    assert all(place["x"] + place["w"] <= COLUMNS for place in places)
    for one, other in combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)


def test_the_variables_of_the_queries_are_declared() -> None:
    declared = {variable["name"] for variable in MODEL["templating"]["list"]}
    assert declared == {"datasource", "namespace", "cluster"}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(MODEL)))
    assert used == declared | {"__rate_interval", "__all"}


def test_the_file_is_up_to_date(tmp_path: Path) -> None:
    assert (ROOT / DASHBOARD_FILE).read_text(encoding="utf-8") == dashboard(ROWS)
    runner, check = CliRunner(), ["dashboards", "--check", "--root", str(tmp_path)]
    assert runner.invoke(main, check).exit_code == 1
    assert runner.invoke(main, ["dashboards", "--root", str(tmp_path)]).exit_code == 0
    assert runner.invoke(main, check).exit_code == 0


def test_panels_wrap_after_24_columns() -> None:
    panels = tuple(Panel(str(number), "", (Query("up", ""),)) for number in range(4))
    model: dict[str, Any] = json.loads(dashboard((Row("a", panels), Row("b", panels[:1]))))
    places = [(place["x"], place["y"]) for place in (p["gridPos"] for p in model["panels"])]
    assert places == [(0, 0), (0, 1), (8, 1), (16, 1), (0, 9), (0, 17), (0, 18)]


def test_the_config_map_has_the_label_for_grafana() -> None:
    folder = (ROOT / DASHBOARD_FILE).parent
    text = (folder / "kustomization.yaml").read_text(encoding="utf-8")
    (generator,) = yaml.safe_load(text)["configMapGenerator"]
    assert generator["files"] == [DASHBOARD_FILE.name]
    assert generator["options"]["labels"] == {"grafana_dashboard": "1"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('sum by (a) (x_total{b="c_d"}[5m])', [("x_total", {"b"})]),
        ('rate(x_y[5m]) and on (i, j) z_w{k!~"l",m="n"}', [("x_y", set()), ("z_w", {"k", "m"})]),
    ],
)
def test_series_of(expression: str, expected: list[tuple[str, set[str]]]) -> None:
    assert series_of(expression) == expected
