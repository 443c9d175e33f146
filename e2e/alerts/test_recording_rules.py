"""The recording rules of deploy/recording-rules, with a real promtool."""

from pathlib import Path

import orjson
import pytest
import yaml

from e2e.harness.prometheus import promtool, write_rules

# The labels of a scrape; namespace is that of the pod, because these metrics have none.
LEADER = 'instance="10.0.0.1:8080",job="openbao-operator",namespace="ops",pod="a"'
STANDBY = 'instance="10.0.0.2:8080",job="openbao-operator",namespace="ops",pod="b"'
RECORDED_LEADER = LEADER.replace('namespace="ops",', "")
RECORDED_STANDBY = STANDBY.replace('namespace="ops",', "")
WORKLOAD = 'controller="openbaocluster-workload"'
TIME = "controller_runtime_reconcile_time_seconds"
DURATION = "openbao_reconcile_duration_seconds"

SERIES = {
    f'{TIME}_bucket{{{WORKLOAD},le="0.4",{LEADER}}}': "0+1x20",
    f'{TIME}_bucket{{{WORKLOAD},le="0.5",{LEADER}}}': "0+2x20",
    f'{TIME}_bucket{{{WORKLOAD},le="1.0",{LEADER}}}': "0+4x20",
    f'{TIME}_bucket{{{WORKLOAD},le="+Inf",{LEADER}}}': "0+4x20",
    f'{TIME}_bucket{{{WORKLOAD},le="+Inf",{STANDBY}}}': "0+0x20",
    f'{TIME}_bucket{{controller="openbaorestore",le="+Inf",{LEADER}}}': "0+9x20",
    f"{TIME}_sum{{{WORKLOAD},{LEADER}}}": "0+2x20",
    f"{TIME}_count{{{WORKLOAD},{LEADER}}}": "0+4x20",
    f'reconcile_error_classes_total{{{WORKLOAD},error="Conflict",{LEADER}}}': "0+3x20",
    f'reconcile_error_classes_total{{{WORKLOAD},error="Forbidden",{LEADER}}}': "0+1x20",
    f"openbao_operator_admission_objects_lacking{{{LEADER}}}": "0x20",
    f"openbao_operator_admission_objects_lacking{{{STANDBY}}}": "2x20",
}
"""Values by series, one per minute, in the notation of promtool: start+step x repetitions."""

RECORDED: dict[str, dict[str, float]] = {
    f"{DURATION}_bucket": {
        f'{DURATION}_bucket{{{WORKLOAD},le="0.5",{RECORDED_LEADER}}}': 20,
        f'{DURATION}_bucket{{{WORKLOAD},le="1.0",{RECORDED_LEADER}}}': 40,
        f'{DURATION}_bucket{{{WORKLOAD},le="+Inf",{RECORDED_LEADER}}}': 40,
        f'{DURATION}_bucket{{{WORKLOAD},le="+Inf",{RECORDED_STANDBY}}}': 0,
    },
    f"{DURATION}_sum": {f"{DURATION}_sum{{{WORKLOAD},{RECORDED_LEADER}}}": 20},
    f"{DURATION}_count": {f"{DURATION}_count{{{WORKLOAD},{RECORDED_LEADER}}}": 40},
    "openbao_reconcile_errors_total": {
        f'openbao_reconcile_errors_total{{{WORKLOAD},reason="Conflict",{RECORDED_LEADER}}}': 30,
        f'openbao_reconcile_errors_total{{{WORKLOAD},reason="Forbidden",{RECORDED_LEADER}}}': 10,
    },
    "openbao_admission_dependencies_ready": {
        f"openbao_admission_dependencies_ready{{{LEADER}}}": 1,
        f"openbao_admission_dependencies_ready{{{STANDBY}}}": 0,
    },
}
"""The series of each rule after ten minutes."""

QUERIES: dict[str, dict[str, float]] = {
    "sum by (controller) (rate(openbao_reconcile_errors_total[5m])) * 60": {f"{{{WORKLOAD}}}": 4},
    f"histogram_quantile(0.5, sum by (le, controller) (rate({DURATION}_bucket[5m])))": {
        f"{{{WORKLOAD}}}": 0.5
    },
}
"""Queries of dashboards of the Go operator."""


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The groups of the PrometheusRule as a file for Prometheus."""
    return write_rules(tmp_path_factory.mktemp("rules"), "recording-rules")


def test_every_rule_has_a_case(rules: Path) -> None:
    groups = yaml.safe_load(rules.read_bytes())["groups"]
    assert RECORDED.keys() == {rule["record"] for group in groups for rule in group["rules"]}
    assert f"{len(RECORDED)} rules found" in promtool("check", "rules", rules)


def test_the_rules_record_the_series_of_the_go_operator(rules: Path) -> None:
    expected = RECORDED | QUERIES
    checks = [
        {
            "expr": expression,
            "eval_time": "10m",
            "exp_samples": [
                {"labels": labels, "value": value} for labels, value in samples.items()
            ],
        }
        for expression, samples in expected.items()
    ]
    series = [{"series": name, "values": values} for name, values in SERIES.items()]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": checks}
    path = rules.with_name("tests.yaml")
    body = {"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": [test]}
    path.write_bytes(orjson.dumps(body))
    promtool("test", "rules", path)


def test_a_restart_of_one_pod_is_no_increase_of_the_other(rules: Path) -> None:
    """Counters of both pods in one series would look like an increase after a restart."""
    family = "reconcile_error_classes_total"
    series = [
        {"series": f'{family}{{{WORKLOAD},error="Conflict",{LEADER}}}', "values": "100x20"},
        {"series": f'{family}{{{WORKLOAD},error="Conflict",{STANDBY}}}', "values": "50x5 0x15"},
    ]
    check = {
        "expr": "sum(increase(openbao_reconcile_errors_total[10m]))",
        "eval_time": "15m",
        "exp_samples": [{"labels": "{}", "value": 0}],
    }
    test = {"interval": "1m", "input_series": series, "promql_expr_test": [check]}
    path = rules.with_name("restart.yaml")
    body = {"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": [test]}
    path.write_bytes(orjson.dumps(body))
    promtool("test", "rules", path)
