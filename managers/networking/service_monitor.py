"""Discovery of the servers by Prometheus: a metrics Service, and a ServiceMonitor that selects it.

The metrics Service is separate, because the public Service has no port for metrics and cannot
select only the leader. It exists only with a ServiceMonitor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.builders.metadata import cluster_object
from contracts.naming import labels, names
from contracts.naming.ports import API, Port
from contracts.records.exposure import MonitorSettings
from contracts.records.resolved import Resolved
from runtime.apply.intent import Intent
from runtime.builtin_kinds import SERVICE
from runtime.memo import memoize
from runtime.types import Resource

PATH = "/v1/sys/metrics"
PORT_NAME = "metrics"


def _with_labels(intent: Intent, additional: Mapping[str, str]) -> Intent:
    metadata = intent.body["metadata"]
    # Our labels take precedence, because they show the ownership of the object.
    return Intent(
        intent.resource,
        {**intent.body, "metadata": {**metadata, "labels": {**additional, **metadata["labels"]}}},
    )


def service_labels(cluster: str) -> dict[str, str]:
    """Return labels that only the metrics Service of the cluster has."""
    return labels.component(cluster, PORT_NAME)


@memoize
def metrics_service(resolved: Resolved, monitor: MonitorSettings) -> Intent:
    """Build the Service: it selects only the leader, or every server, ready or not."""
    name = resolved.name
    number = monitor.port or API.number
    spec: dict[str, Any] = {
        "selector": labels.servers(name) if monitor.every_node else labels.leader(name),
        "ports": [Port(PORT_NAME, number).service_port()],
    }
    if monitor.every_node:
        # Not headless: the API server cannot change clusterIP when the scrape profile changes.
        spec["publishNotReadyAddresses"] = True
    body = cluster_object(resolved, SERVICE, names.metrics_service(name), {"spec": spec})
    return _with_labels(body, service_labels(name))


@memoize
def service_monitor(resolved: Resolved, monitor: MonitorSettings, resource: Resource) -> Intent:
    """Build the ServiceMonitor (monitoring.coreos.com/v1)."""
    tls = {
        "serverName": monitor.server_name,
        "insecureSkipVerify": monitor.skip_verify or None,
        "ca": monitor.authority,
    }
    endpoint = {
        "port": PORT_NAME,
        "path": PATH,
        "params": {"format": ["prometheus"]},
        "scheme": "https",
        "interval": monitor.interval,
        "scrapeTimeout": monitor.scrape_timeout,
        "authorization": monitor.authorization,
        "tlsConfig": tls,
    }
    body = cluster_object(
        resolved,
        resource,
        names.service_monitor(resolved.name),
        {
            "spec": {
                "jobLabel": monitor.job_label,
                "selector": {"matchLabels": service_labels(resolved.name)},
                "endpoints": [endpoint],
            }
        },
        annotations=monitor.annotations,
    )
    return _with_labels(body, monitor.labels)
