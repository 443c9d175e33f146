"""The panels of the Grafana dashboard: a table of titles, queries and units. Pure.

Rendered by baoctl.generate.dashboard. Queries about clusters aggregate to the labels of their
legend. The labels of a scrape, such as pod, differ between installations, and a new leader must not
add a second series.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from baoctl.generate.dashboard import Panel, Query, Row

GOOD_CONDITIONS: Final = (
    "Ready", "Available", "TLSReady", "RaftMembershipReady", "OpenBaoLeader", "BackupHealthy",
    "BackupProven", "ProductionReady",
)  # fmt: skip
BAD_CONDITIONS: Final = (
    "Stalled", "Degraded", "Reconciling", "OpenBaoSealed", "Paused", "Hibernated", "PodsFenced",
)  # fmt: skip
CLUSTER: Final = 'namespace=~"$namespace",name=~"$cluster"'
"""Label matchers for the clusters that the variables of the dashboard select."""
OWN: Final = "openbao.*|datacenter|bootstrapworkload"
"""Regular expression of the controllers of this operator; other operators have the same metrics."""
_BY_CLUSTER: Final = "max by (namespace, name)"
_LEGEND: Final = "{{namespace}}/{{name}}"
_PROCESS: Final = "and on (instance, job) openbao_operator_breakers_open"
"""Limits a query to the processes of this operator."""
_RATE: Final = "[$__rate_interval]"


def _of_cluster(metric: str, matcher: str = "") -> str:
    return f"{metric}{{{CLUSTER}{',' if matcher else ''}{matcher}}}"


def _conditions(types: str, status: str) -> str:
    return _of_cluster("openbao_cluster_condition", f'type=~"{types}",status{status}')


def _stat(title: str, description: str, expr: str, unit: str = "short") -> Panel:
    return Panel(title, description, (Query(expr, ""),), unit, "stat")


def _problems(title: str, description: str, clusters: str) -> Panel:
    """Return a panel with the number of clusters with a problem; it is red from 1."""
    count = f"count({_BY_CLUSTER} ({clusters})) or vector(0)"
    return replace(_stat(title, description, count), steps=((1.0, "red"),))


def _by(label: str, title: str, description: str, expr: str, unit: str = "short") -> Panel:
    """Return a panel with one series for each value of a label."""
    return Panel(title, description, (Query(expr, f"{{{{{label}}}}}"),), unit)


def _count_by(label: str, clusters: str, condition: str = "") -> str:
    return f"count by ({label}) (max by (namespace, name, {label}) ({clusters}){condition})"


def _each(title: str, description: str, expr: str, unit: str = "short") -> Panel:
    """Return a panel with one series for each cluster."""
    return Panel(title, description, (Query(expr, _LEGEND),), unit)


def _increases(title: str, description: str, **metrics: str) -> Panel:
    """Return a panel with the increases of counters of all clusters, by legend."""
    queries = (
        Query(f"sum(increase({_of_cluster(metric)}{_RATE}))", legend.replace("_", " "))
        for legend, metric in metrics.items()
    )
    return Panel(title, description, tuple(queries))


def _quantiles(title: str, description: str, metric: str, label: str) -> Panel:
    """Return a panel with the median and the 99th percentile of a histogram by a label."""
    rates = f'sum by (le, {label}) (rate({metric}_bucket{{{label}=~"{OWN}"}}{_RATE}))'
    queries = (
        Query(f"histogram_quantile({quantile}, {rates})", f"{{{{{label}}}}} {legend}")
        for quantile, legend in ((0.5, "p50"), (0.99, "p99"))
    )
    return Panel(title, description, tuple(queries), "s")


_OVERVIEW: Final = Row(
    "Overview",
    (
        _stat(
            "Number of clusters",
            "Clusters of the selection.",
            f"count({_BY_CLUSTER} ({_of_cluster('openbao_cluster_desired_replicas')}))",
        ),
        _problems(
            "Not available",
            "Clusters whose condition Available is not True.",
            _conditions("Available", '!="true"'),
        ),
        _problems(
            "Waiting for a user",
            "Clusters whose condition Stalled is True. The condition names the required action.",
            _conditions("Stalled", '="true"'),
        ),
        replace(
            _stat(
                "First certificate expires in",
                "Time until the first server certificate expires.",
                f"min({_of_cluster('openbao_tls_cert_expiry_timestamp')} - time())",
                "s",
            ),
            base_color="red",
            steps=((86_400.0, "yellow"), (604_800.0, "green")),
        ),
        _stat(
            "Age of the oldest backup",
            "Age of the last stored snapshot of the cluster with the oldest one.",
            f"max(time() - {_of_cluster('openbao_backup_last_success_timestamp')})",
            "s",
        ),
        _stat(
            "Upgrades in progress",
            "Clusters with an upgrade in progress.",
            f"sum({_BY_CLUSTER} ({_of_cluster('openbao_upgrade_in_progress')})) or vector(0)",
        ),
    ),
)

_CLUSTERS: Final = Row(
    "Clusters",
    (
        _by(
            "type",
            "Clusters whose condition is not True",
            "Conditions that are True for a healthy cluster.",
            _count_by("type", _conditions("|".join(GOOD_CONDITIONS), '!="true"')),
        ),
        _by(
            "type",
            "Clusters whose condition is True",
            "Conditions that are not True for a healthy cluster without an operation.",
            _count_by("type", _conditions("|".join(BAD_CONDITIONS), '="true"')),
        ),
        _by(
            "phase",
            "Clusters by phase",
            "The field status.phase.",
            _count_by("phase", _of_cluster("openbao_cluster_phase")),
        ),
        _each(
            "Servers that are not ready",
            "Servers of the spec that are not ready, without read replicas.",
            f"{_BY_CLUSTER} ({_of_cluster('openbao_cluster_desired_replicas')})"
            f" - {_BY_CLUSTER} ({_of_cluster('openbao_cluster_ready_replicas')})",
        ),
        _each(
            "Leader changes",
            "Changes of the active server that the operator observed.",
            "sum by (namespace, name) (increase("
            f"{_of_cluster('openbao_cluster_leader_changes_total')}{_RATE}))",
        ),
        _by(
            "kind",
            "Operations in progress",
            "Clusters with an operation in progress, such as a backup or an upgrade.",
            _count_by("kind", _of_cluster("openbao_cluster_operation")),
        ),
    ),
)

_BACKUPS: Final = Row(
    "Certificates and backups",
    (
        _each(
            "Days until the certificate expires",
            "Server certificates, without those of mode ACME.",
            "min by (namespace, name) (("
            f"{_of_cluster('openbao_tls_cert_expiry_timestamp')} - time()) / 86400)",
            "d",
        ),
        _each(
            "Age of the last backup",
            "Time since the start of the last stored snapshot.",
            f"time() - {_BY_CLUSTER} ({_of_cluster('openbao_backup_last_success_timestamp')})",
            "s",
        ),
        _increases(
            "Backups",
            "Snapshots that were stored, and attempts that failed.",
            stored="openbao_backup_success_total",
            failed="openbao_backup_failure_total",
        ),
        _each(
            "Consecutive failed backups",
            "Attempts since the last stored snapshot.",
            f"{_BY_CLUSTER} ({_of_cluster('openbao_backup_consecutive_failures')})",
        ),
        _each(
            "Size of the last backup",
            "Size of the last stored snapshot.",
            f"{_BY_CLUSTER} ({_of_cluster('openbao_backup_last_size_bytes')})",
            "bytes",
        ),
        _each(
            "Age of the last passed restore test",
            "Time since a restore test last passed.",
            f"time() - {_BY_CLUSTER} "
            f"({_of_cluster('openbao_restore_test_last_success_timestamp')})",
            "s",
        ),
    ),
)

_UPGRADES: Final = Row(
    "Upgrades and restores",
    (
        _each(
            "Upgraded servers",
            "Share of the servers with the new release, while a rolling upgrade runs.",
            f"{_BY_CLUSTER} ({_of_cluster('openbao_upgrade_pods_completed')})"
            f" / ({_BY_CLUSTER} ({_of_cluster('openbao_upgrade_pods_total')}) > 0)",
            "percentunit",
        ),
        _by(
            "phase",
            "Blue/green upgrades by phase",
            "Clusters whose blue/green upgrade is in progress.",
            _count_by(
                "phase",
                _of_cluster("openbao_upgrade_bluegreen_phase", 'phase!="Idle"'),
                " == 1",
            ),
        ),
        Panel(
            "Failed upgrades",
            "Clusters whose last upgrade failed, and clusters in break glass.",
            (
                Query(
                    f"count({_BY_CLUSTER} ({_of_cluster('openbao_upgrade_status')}) == 3)"
                    " or vector(0)",
                    "failed",
                ),
                Query(
                    f"sum({_BY_CLUSTER} ({_of_cluster('openbao_upgrade_break_glass_active')}))"
                    " or vector(0)",
                    "break glass",
                ),
            ),
        ),
        _increases(
            "Step-downs",
            "Step-downs that an upgrade requested, and those that failed.",
            requested="openbao_upgrade_stepdown_total",
            failed="openbao_upgrade_stepdown_failures_total",
        ),
        _increases(
            "Rollbacks",
            "Blue/green upgrades that were rolled back, and their Jobs that failed.",
            rollbacks="openbao_upgrade_bluegreen_rollbacks_total",
            failed_jobs="openbao_upgrade_bluegreen_job_failures_total",
        ),
        _increases(
            "Restores",
            "Restores that completed or failed.",
            completed="openbao_restore_success_total",
            failed="openbao_restore_failure_total",
        ),
    ),
)

_OPERATOR: Final = Row(
    "Operator",
    (
        _by(
            "name",
            "Leaders",
            "Processes that hold the Lease: 1 for each shard.",
            'sum by (name) (leader_election_master_status{name=~"openbao-operator.*"})',
        ),
        _by(
            "controller",
            "Reconciles per second",
            "Reconciles by controller.",
            "sum by (controller) (rate(controller_runtime_reconcile_total"
            f'{{controller=~"{OWN}"}}{_RATE}))',
            "ops",
        ),
        _by(
            "controller",
            "Reconcile errors per second",
            "Reconciles that ended in an error, by controller.",
            "sum by (controller) (rate(controller_runtime_reconcile_errors_total"
            f'{{controller=~"{OWN}"}}{_RATE}))',
            "ops",
        ),
        _quantiles(
            "Reconcile duration",
            "Median and 99th percentile by controller.",
            "controller_runtime_reconcile_time_seconds",
            "controller",
        ),
        _by(
            "name",
            "Queue depth",
            "Objects that wait for a worker.",
            f'sum by (name) (workqueue_depth{{name=~"{OWN}"}})',
        ),
        _by(
            "name",
            "Oldest waiting object",
            "Time that the oldest object has waited for a worker.",
            f'max by (name) (workqueue_longest_wait_seconds{{name=~"{OWN}"}})',
            "s",
        ),
        _by(
            "code",
            "API server requests per second",
            "Requests of the operator by status code.",
            f"sum by (code) (rate(rest_client_requests_total{_RATE}) {_PROCESS})",
            "reqps",
        ),
        _by(
            "resource",
            "Age of the last watch event",
            "Time since the last event or bookmark of the watch of a kind.",
            f"max by (resource) (informer_last_event_age_seconds {_PROCESS})",
            "s",
        ),
        Panel(
            "Servers that do not respond",
            "Servers that the operator temporarily does not query.",
            (Query("sum(openbao_operator_breakers_open)", "servers"),),
        ),
        _by(
            "instance",
            "Memory",
            "Resident memory of each process of the operator.",
            f"process_resident_memory_bytes {_PROCESS}",
            "bytes",
        ),
        _by(
            "instance",
            "CPU",
            "CPU cores that each process of the operator uses.",
            f"rate(process_cpu_seconds_total{_RATE}) {_PROCESS}",
        ),
        Panel(
            "Event loop lag",
            "99th percentile of the time that a callback blocks the event loop.",
            (
                Query(
                    "histogram_quantile(0.99, sum by (le) "
                    f"(rate(event_loop_lag_seconds_bucket{_RATE}) {_PROCESS}))",
                    "p99",
                ),
            ),
            "s",
        ),
    ),
)

_DATACENTERS: Final = Row(
    "Datacenters",
    (
        _by(
            "state",
            "Services by state",
            "Services of all datacenters.",
            "max by (state) (openbao_datacenter_services)",
        ),
        _by(
            "name",
            "Failed services by datacenter",
            "Services that failed.",
            "max by (name) (openbao_datacenter_failed_services)",
        ),
    ),
)

ROWS: Final = (_OVERVIEW, _CLUSTERS, _BACKUPS, _UPGRADES, _OPERATOR, _DATACENTERS)
"""The dashboard, from top to bottom."""
