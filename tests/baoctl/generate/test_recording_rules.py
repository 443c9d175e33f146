"""deploy/recording-rules: the metrics of the Go operator that have other names here."""

import re
from typing import Any

import pytest
import yaml
from prometheus_client.utils import floatToGoString

from runtime.metrics.metrics import RECONCILE_BUCKETS
from tests.baoctl.generate.operator_series import SCRAPED, Operator, series_of
from tests.house.checkout import ROOT

FILE = ROOT / "deploy" / "recording-rules" / "prometheus_rule.yaml"
RULES = {
    rule["record"]: rule
    for group in yaml.safe_load(FILE.read_text(encoding="utf-8"))["spec"]["groups"]
    for rule in group["rules"]
}
PAGE = (ROOT / "docs" / "migrate.md").read_text(encoding="utf-8")
CLUSTER = frozenset({"namespace", "name"})
RECONCILE = CLUSTER | {"controller"}

GAUGES: dict[str, frozenset[str]] = {
    "openbao_admission_dependencies_ready": frozenset(),
    "openbao_backup_consecutive_failures": CLUSTER,
    "openbao_backup_in_progress": CLUSTER,
    "openbao_backup_last_duration_seconds": CLUSTER,
    "openbao_backup_last_size_bytes": CLUSTER,
    "openbao_backup_last_success_timestamp": CLUSTER,
    "openbao_cluster_phase": CLUSTER | {"phase"},
    "openbao_cluster_read_replicas_desired": CLUSTER,
    "openbao_cluster_read_replicas_healthy": CLUSTER,
    "openbao_cluster_read_replicas_ready": CLUSTER,
    "openbao_cluster_read_replicas_registered": CLUSTER,
    "openbao_cluster_ready_replicas": CLUSTER,
    "openbao_tls_cert_expiry_timestamp": CLUSTER | {"type"},
    "openbao_upgrade_in_progress": CLUSTER,
    "openbao_upgrade_partition": CLUSTER,
    "openbao_upgrade_pods_completed": CLUSTER,
    "openbao_upgrade_pods_total": CLUSTER,
    "openbao_upgrade_status": CLUSTER,
}
COUNTERS: dict[str, frozenset[str]] = {
    "openbao_backup_failure_total": CLUSTER,
    "openbao_backup_retention_deleted_total": CLUSTER,
    "openbao_backup_success_total": CLUSTER,
    "openbao_reconcile_errors_total": RECONCILE | {"reason"},
    "openbao_restore_failure_total": CLUSTER,
    "openbao_restore_success_total": CLUSTER,
    "openbao_restore_total": CLUSTER,
    "openbao_tls_rotation_total": CLUSTER,
    "openbao_upgrade_stepdown_failures_total": CLUSTER,
    "openbao_upgrade_stepdown_total": CLUSTER,
}
HISTOGRAMS: dict[str, frozenset[str]] = {
    "openbao_reconcile_duration_seconds": RECONCILE,
    "openbao_restore_duration_seconds": CLUSTER,
    "openbao_upgrade_duration_seconds": CLUSTER | {"from_version", "to_version"},
    "openbao_upgrade_pod_duration_seconds": CLUSTER | {"pod"},
}
FAMILIES = GAUGES | COUNTERS | HISTOGRAMS
"""The metrics of the Go operator, and their labels."""
MISSING_LABELS = {
    "openbao_reconcile_duration_seconds": CLUSTER,
    "openbao_reconcile_errors_total": CLUSTER,
    "openbao_upgrade_pod_duration_seconds": frozenset({"pod"}),
}
"""Labels of the Go operator that are missing here; docs/migrate.md explains them."""
BUCKETS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""Those of openbao_reconcile_duration_seconds of the Go operator."""


def series_names(family: str) -> list[str]:
    suffixes = ("_bucket", "_sum", "_count") if family in HISTOGRAMS else ("",)
    return [family + suffix for suffix in suffixes]


def recorded_labels(rule: dict[str, Any], operator: Operator) -> frozenset[str]:
    """The labels of the series that a rule records."""
    ((source, _),) = series_of(rule["expr"])
    added = set(re.findall(r'"(\w+)", "\$1"', rule["expr"]))
    dropped = re.findall(r"without \(([^)]*)\)", rule["expr"])
    return (operator.series[source] | added) - {
        label for labels in dropped for label in labels.split(", ")
    }


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
async def test_a_rule_reads_series_and_labels_that_exist(
    rule: dict[str, Any], operator: Operator
) -> None:
    ((source, matched),) = series_of(rule["expr"])
    assert matched <= operator.series[source]
    assert set(re.findall(r'"\$1", "(\w+)"', rule["expr"])) <= operator.series[source]


async def test_each_metric_is_exported_or_recorded_and_not_both(operator: Operator) -> None:
    names = {name for family in FAMILIES for name in series_names(family)}
    assert names - operator.series.keys() == RULES.keys()


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_metric_has_the_labels_of_the_go_operator(family: str, operator: Operator) -> None:
    for name in series_names(family):
        rule = RULES.get(name)
        labels = recorded_labels(rule, operator) if rule else operator.series[name]
        assert FAMILIES[family] - labels == MISSING_LABELS.get(family, frozenset())
        if rule:
            assert labels - FAMILIES[family] - {"le"} == SCRAPED


async def test_the_rules_select_the_controllers_of_clusters(operator: Operator) -> None:
    rules = [rule for rule in RULES.values() if "controller=~" in rule["expr"]]
    assert len(rules) == 4
    for rule in rules:
        ((pattern),) = re.findall(r'controller=~"([^"]+)"', rule["expr"])
        selected = {name for name in operator.controllers if re.fullmatch(pattern, name)}
        assert selected >= {"openbaocluster-workload", "openbaocluster-adminops"}
        assert all(name.startswith("openbaocluster-") for name in selected)


def test_the_buckets_are_those_of_the_go_operator() -> None:
    expression = RULES["openbao_reconcile_duration_seconds_bucket"]["expr"]
    (pattern,) = re.findall(r'le=~"([^"]+)"', expression)
    exported = [*map(floatToGoString, RECONCILE_BUCKETS), "+Inf"]
    selected = [bound for bound in exported if re.fullmatch(pattern, bound)]
    assert [*map(float, selected)] == [*BUCKETS, float("inf")]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_page_of_the_migration_lists_each_metric(family: str) -> None:
    (row,) = re.findall(rf"^\| `{family}` \|.*$", PAGE, re.MULTILINE)
    is_recorded = any(name in RULES for name in series_names(family))
    assert ("recording rule" in row) == is_recorded
    for label in MISSING_LABELS.get(family, ()):
        assert f"`{label}`" in row
