"""baoctl.generate.alerts: the page of alerts, and whether the metrics of the alerts exist."""

import re
from typing import Any

import pytest
import yaml

from baoctl.generate.alerts import alert_page
from baoctl.generate.main import ALERT_RULES
from managers.cluster.metrics import PHASES, REPORTED_CONDITIONS
from tests.baoctl.generate.operator_series import Operator
from tests.house.checkout import ROOT

RULE = yaml.safe_load((ROOT / ALERT_RULES).read_text(encoding="utf-8"))
ALERTS = [alert for group in RULE["spec"]["groups"] for alert in group["rules"]]


def names(alert: dict[str, Any]) -> str:
    name: str = alert["alert"]
    return name


def test_the_page_replaces_template_actions() -> None:
    alert = {
        "alert": "Late",
        "expr": "a > 1\n",
        "for": "5m",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": "{{ $labels.namespace }} waits for {{ $value | humanizeDuration }}",
            "description": "Read the log (docs/limits.md).",
        },
    }
    page = alert_page({"spec": {"groups": [{"name": "all", "rules": [alert]}]}})
    _, _, section = page.partition("### Late\n\n")
    assert section == (
        "Severity warning, after 5m. NAMESPACE waits for VALUE.\n\n"
        "Read the log ([limits.md](limits.md)).\n\n```promql\na > 1\n```\n"
    )


@pytest.mark.parametrize("alert", ALERTS, ids=names)
async def test_an_alert_uses_metrics_and_values_that_exist(
    alert: dict[str, Any], operator: Operator
) -> None:
    expression = alert["expr"]
    metrics = re.findall(
        r"\b(?:openbao|workqueue|leader_election|controller_runtime)_\w+", expression
    )
    assert metrics
    assert [metric for metric in metrics if metric not in operator.series] == []
    for condition in re.findall(r'openbao_cluster_condition\{type=~?"([^"]*)"', expression):
        assert set(condition.split("|")) <= REPORTED_CONDITIONS
    assert set(re.findall(r'phase!?="([^"]*)"', expression)) <= PHASES | {"Idle"}


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_an_alert_names_its_severity_and_the_next_step(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    annotations = alert["annotations"]
    assert annotations.keys() == {"summary", "description"}
    assert not annotations["summary"].endswith(".")
    assert annotations["description"].endswith(".")
    for page, _, heading in re.findall(
        r"docs/([a-z-]+\.md)(, ([A-Z][a-z -]+[a-z]))?", annotations["description"]
    ):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert not heading or f"## {heading}\n" in text


def test_the_names_of_alerts_are_unique() -> None:
    assert len({alert["alert"] for alert in ALERTS}) == len(ALERTS)
