"""Conditions of the Ingress and the ServiceMonitor. Pure."""

from __future__ import annotations

from contracts.api.cluster.spec import ClusterSpec
from contracts.conditions.condition import ConditionUpdate
from contracts.optional_kinds import SERVICE_MONITOR
from contracts.records.exposure import ExposureFacts, IngressSettings, MonitorSettings


def ingress_ready(
    spec: ClusterSpec, ingress_spec: IngressSettings | None, facts: ExposureFacts
) -> ConditionUpdate | None:
    """Return the condition of the Ingress by spec.ingress.readinessMode; None without one."""
    if ingress_spec is None or spec.ingress is None:
        return None
    kind, live = "IngressIntegrationReady", facts.ingress
    if live is None:
        return ConditionUpdate(kind, "Unknown", "Reconciling", "The Ingress does not exist yet")
    if not live.owned:
        message = "An Ingress of this name has another owner; see the condition Conflict"
        return ConditionUpdate(kind, "False", "ForeignObject", message)
    if spec.ingress.readiness_mode == "Created":
        return ConditionUpdate(kind, "True", kind, f"The Ingress for {ingress_spec.host} exists")
    if not live.addresses:
        return ConditionUpdate(
            kind,
            "False",
            "IngressAddressMissing",
            "No ingress controller has published an address: is one running for class "
            f"{ingress_spec.class_name or '(the default)'}? spec.ingress.readinessMode Created "
            "does not wait for it",
        )
    addresses = ", ".join(live.addresses)
    return ConditionUpdate(kind, "True", kind, f"{ingress_spec.host} is reachable at {addresses}")


def monitor_ready(
    monitor_spec: MonitorSettings | None, facts: ExposureFacts
) -> ConditionUpdate | None:
    """Return the condition of the ServiceMonitor; None without one in the spec."""
    if monitor_spec is None:
        return None
    kind, offer = "ServiceMonitorReady", facts.offer(SERVICE_MONITOR)
    if not offer.known:
        message = f"The operator has not read the definition {SERVICE_MONITOR.definition} yet"
        return ConditionUpdate(kind, "Unknown", "Reconciling", message)
    if offer.resource is None:
        return ConditionUpdate(
            kind,
            "False",
            "MonitoringAPIMissing",
            f"The API server does not serve {SERVICE_MONITOR.definition} in version "
            f"{', '.join(SERVICE_MONITOR.versions)}: install the Prometheus operator, or set "
            "spec.observability.metrics.serviceMonitor.enabled to false",
        )
    if not facts.monitor:
        return ConditionUpdate(
            kind, "Unknown", "Reconciling", "The ServiceMonitor does not exist yet"
        )
    return ConditionUpdate(kind, "True", kind, "The ServiceMonitor exists")
