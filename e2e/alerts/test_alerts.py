"""The alerts of deploy/alerts, and the queries of the dashboard, with a real promtool."""

from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
import yaml

from baoctl.generate.main import DASHBOARD_FILE, ROOT
from e2e.harness.prometheus import promtool, write_rules

CLUSTER = 'namespace="ns",name="c"'
DAY = 86400
OPERATOR = {"openbao_operator_breakers_open": "0+0x3000"}


@dataclass(frozen=True)
class Case:
    """Series, one value per minute, and the alerts that fire after some minutes."""

    own: dict[str, str]
    """Values by series in the notation of promtool: start+step x repetitions."""
    minutes: int
    firing: frozenset[str] = frozenset()
    scraped: bool = True
    """Whether a process of the operator is scraped."""

    @property
    def series(self) -> dict[str, str]:
        return OPERATOR | self.own if self.scraped else self.own


def constant(value: float, metric: str, *labels: str) -> dict[str, str]:
    return {f"{metric}{{{','.join((CLUSTER, *labels))}}}": f"{value}+0x3000"}


def condition(kind: str, status: str) -> dict[str, str]:
    return constant(1, "openbao_cluster_condition", f'type="{kind}"', f'status="{status}"')


def servers(ready: int, desired: int, phase: str = "Running") -> dict[str, str]:
    return {
        **constant(ready, "openbao_cluster_ready_replicas"),
        **constant(desired, "openbao_cluster_desired_replicas"),
        **constant(1, "openbao_cluster_phase", f'phase="{phase}"'),
    }


def reconciles(errors: int, total: int) -> dict[str, str]:
    """Numbers of reconciles per minute."""
    label = '{controller="openbaocluster-workload"}'
    return {
        f"controller_runtime_reconcile_errors_total{label}": f"0+{errors}x60",
        f"controller_runtime_reconcile_total{label}": f"0+{total}x60",
    }


NO_LEADER = condition("OpenBaoLeader", "unknown")
NOT_READY = condition("Ready", "false")
UPGRADE = constant(1, "openbao_upgrade_in_progress") | constant(3, "openbao_upgrade_pods_total")


CASES: dict[str, Case] = {
    "an election": Case(NO_LEADER, 1),
    "no leader": Case(NO_LEADER, 3, frozenset({"OpenBaoClusterNoLeader"})),
    "no leader of a hibernated cluster": Case(NO_LEADER | condition("Hibernated", "true"), 60),
    "two of three servers": Case(servers(2, 3), 60),
    "one of three servers": Case(servers(1, 3), 3, frozenset({"OpenBaoClusterQuorumLost"})),
    "two of four servers": Case(servers(2, 4), 3, frozenset({"OpenBaoClusterQuorumLost"})),
    "none of one": Case(servers(0, 1), 3, frozenset({"OpenBaoClusterQuorumLost"})),
    "a first boot": Case(servers(0, 3, "Initializing"), 60),
    "no server of a hibernated cluster": Case(servers(0, 3) | condition("Hibernated", "true"), 60),
    "fenced servers": Case(servers(1, 3) | condition("PodsFenced", "true") | NOT_READY, 60),
    "sealed": Case(condition("OpenBaoSealed", "true"), 6, frozenset({"OpenBaoClusterSealed"})),
    "not ready for a while": Case(NOT_READY, 14),
    "not ready": Case(NOT_READY, 16, frozenset({"OpenBaoClusterNotReady"})),
    "hibernated": Case(NOT_READY | condition("Hibernated", "true"), 60),
    "stalled": Case(condition("Stalled", "true"), 11, frozenset({"OpenBaoClusterStalled"})),
    "two voters of three": Case(
        condition("RaftMembershipReady", "false"), 31, frozenset({"OpenBaoClusterMembersMissing"})
    ),
    "one read replica of two": Case(
        constant(1, "openbao_cluster_read_replicas_ready")
        | constant(2, "openbao_cluster_read_replicas_desired"),
        31,
        frozenset({"OpenBaoReadReplicasNotReady"}),
    ),
    "a change of the leader every two minutes": Case(
        {f"openbao_cluster_leader_changes_total{{{CLUSTER}}}": "0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7"},
        15,
        frozenset({"OpenBaoClusterLeaderChanges"}),
    ),
    "an own certificate with six days": Case(
        constant(6 * DAY, "openbao_tls_cert_expiry_timestamp", 'type="External"'),
        1,
        frozenset({"OpenBaoCertificateExpires"}),
    ),
    "a certificate of the operator with six days": Case(
        constant(6 * DAY, "openbao_tls_cert_expiry_timestamp", 'type="OperatorManaged"'), 60
    ),
    "a certificate that the operator did not renew": Case(
        constant(DAY / 2, "openbao_tls_cert_expiry_timestamp", 'type="OperatorManaged"'),
        1,
        frozenset({"OpenBaoCertificateExpires"}),
    ),
    "paused for an hour": Case(condition("Paused", "true"), 60),
    "paused for a day": Case(
        condition("Paused", "true"), 24 * 60 + 1, frozenset({"OpenBaoClusterPaused"})
    ),
    "an overdue backup": Case(
        condition("BackupHealthy", "false"), 16, frozenset({"OpenBaoBackupUnhealthy"})
    ),
    "two failed backups": Case(constant(2, "openbao_backup_consecutive_failures"), 60),
    "three failed backups": Case(
        constant(3, "openbao_backup_consecutive_failures"), 1, frozenset({"OpenBaoBackupFailing"})
    ),
    "a failed restore test": Case(
        condition("BackupProven", "false"), 16, frozenset({"OpenBaoBackupUnproven"})
    ),
    "a failed restore": Case(
        {f"openbao_restore_failure_total{{{CLUSTER}}}": "0 0 1 1 1 1"},
        5,
        frozenset({"OpenBaoRestoreFailed"}),
    ),
    "break glass": Case(
        constant(1, "openbao_upgrade_break_glass_active"), 0, frozenset({"OpenBaoBreakGlass"})
    ),
    "a failed upgrade": Case(
        constant(3, "openbao_upgrade_status"), 0, frozenset({"OpenBaoUpgradeFailed"})
    ),
    "an upgrade that proceeds": Case(
        UPGRADE | {f"openbao_upgrade_pods_completed{{{CLUSTER}}}": "0+0x20 1+0x20"}, 31
    ),
    "an upgrade without progress": Case(
        UPGRADE | constant(1, "openbao_upgrade_pods_completed"),
        36,
        frozenset({"OpenBaoUpgradeStuck"}),
    ),
    "blue and green between upgrades": Case(
        constant(1, "openbao_upgrade_bluegreen_phase", 'phase="Idle"'), 300
    ),
    "one phase for three hours": Case(
        constant(1, "openbao_upgrade_bluegreen_phase", 'phase="Syncing"'),
        180,
        frozenset({"OpenBaoUpgradeHeld"}),
    ),
    "a rollback": Case(
        {f"openbao_upgrade_bluegreen_rollbacks_total{{{CLUSTER}}}": "0 0 1 1 1 1"},
        5,
        frozenset({"OpenBaoUpgradeRolledBack"}),
    ),
    "a leader that stays": Case(
        {f"openbao_upgrade_stepdown_failures_total{{{CLUSTER}}}": "0 0 1 1 1 1"},
        5,
        frozenset({"OpenBaoStepDownFailed"}),
    ),
    "no process of the operator": Case(
        {"up": "1+0x60"}, 11, frozenset({"OpenBaoOperatorAbsent"}), scraped=False
    ),
    "a leader and a standby": Case(
        {
            'leader_election_master_status{name="openbao-operator",pod="a"}': "1+0x60",
            'leader_election_master_status{name="openbao-operator",pod="b"}': "0+0x60",
            'leader_election_master_status{name="somebody-else"}': "0+0x60",
        },
        60,
    ),
    "two standbys": Case(
        {
            'leader_election_master_status{name="openbao-operator",pod="a"}': "0+0x60",
            'leader_election_master_status{name="openbao-operator",pod="b"}': "0+0x60",
        },
        6,
        frozenset({"OpenBaoOperatorWithoutLeader"}),
    ),
    "a failed reconcile in twenty": Case(reconciles(errors=1, total=20), 60),
    "a failed reconcile in five": Case(
        reconciles(errors=1, total=5), 30, frozenset({"OpenBaoOperatorReconcileErrors"})
    ),
    "silent servers": Case(
        {'openbao_operator_breakers_open{pod="a"}': "1+0x60"},
        16,
        frozenset({"OpenBaoServersUnreachable"}),
    ),
    "a deleted policy": Case(
        {"openbao_operator_admission_objects_lacking": "2+0x60"},
        16,
        frozenset({"OpenBaoAdmissionPoliciesMissing"}),
    ),
    "an old CustomResourceDefinition": Case(
        {"openbao_operator_schema_fields_lacking": "2+0x60"},
        16,
        frozenset({"OpenBaoSchemaOutdated"}),
    ),
    "a busy namespace": Case(
        {"workqueue_flows_at_limit": "0+0x3 1+0x60"}, 25, frozenset({"OpenBaoOperatorOverloaded"})
    ),
    "a failed service": Case(
        {'openbao_datacenter_failed_services{name="fra1"}': "1+0x60"},
        31,
        frozenset({"OpenBaoDatacenterServicesFailed"}),
    ),
}


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The groups of the PrometheusRule as a file for Prometheus."""
    return write_rules(tmp_path_factory.mktemp("alerts"))


def test_prometheus_accepts_every_rule(rules: Path) -> None:
    assert "SUCCESS" in promtool("check", "rules", rules)


def test_prometheus_parses_every_query_of_the_dashboard(tmp_path: Path) -> None:
    panels = orjson.loads((ROOT / DASHBOARD_FILE).read_bytes())["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    # Grafana replaces its variables before it sends a query; in a text they need no value.
    rules = [
        {"record": f"panel:{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(queries)
    ]
    path = tmp_path / "queries.yaml"
    path.write_bytes(orjson.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(queries)} rules found" in promtool("check", "rules", path)


def test_every_alert_has_a_case_in_which_it_fires(rules: Path) -> None:
    groups = yaml.safe_load(rules.read_bytes())["groups"]
    alerts = {rule["alert"] for group in groups for rule in group["rules"]}
    assert alerts == frozenset().union(*(case.firing for case in CASES.values()))


def test_the_alerts_fire_when_they_should(rules: Path) -> None:
    tests = [
        {
            "name": name,
            "interval": "1m",
            "input_series": [
                {"series": series, "values": values} for series, values in case.series.items()
            ],
            "promql_expr_test": [
                {
                    "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                    "eval_time": f"{case.minutes}m",
                    "exp_samples": [
                        {"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in case.firing
                    ],
                }
            ],
        }
        for name, case in CASES.items()
    ]
    path = rules.with_name("tests.yaml")
    body = {"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": tests}
    path.write_bytes(orjson.dumps(body))
    promtool("test", "rules", path)
