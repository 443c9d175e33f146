"""Exposure objects of a cluster, for the optional kinds that the API server serves. Pure.

No pod needs these objects. They are applied last, and a problem with them sets a condition but does
not block the reconcile.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.optional_kinds import BACKEND_TLS_POLICY, HTTP_ROUTE, SERVICE_MONITOR, TLS_ROUTE
from contracts.records.exposure import GatewaySettings
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.networking.gateway import (
    authority_config_map,
    backend_tls_policy,
    http_route,
    tls_route,
)
from managers.networking.gateway_condition import gateway_ready
from managers.networking.ingress import ingress
from managers.networking.service_monitor import metrics_service, service_monitor
from runtime.apply.intent import Intent
from runtime.outcome import Done, Outcome

# Reasons that end when a CRD changes: its watch triggers the next reconcile.
NOT_POLLED = frozenset({"GatewayAPIMissing", "Reconciling"})
GATEWAY_RECHECK = 60.0
"""Seconds between two reads of a ready Gateway, which is not watched."""
GATEWAY_PENDING = 10.0
"""Seconds between two reads of a Gateway that is not ready."""


def exposure_intents(resolved: Resolved, observed: Observed) -> tuple[Intent, ...]:
    """Build all exposure objects that can be created now."""
    spec = resolved.exposure
    intents: list[Intent] = []
    if spec.ingress is not None:
        intents.append(ingress(resolved, spec.ingress))
    authority = authority_of(resolved, observed) if spec.needs_authority else ""
    if authority:
        intents.append(authority_config_map(resolved, authority))
    if spec.gateway is not None:
        intents += _gateway(resolved, observed, spec.gateway)
    if spec.monitor is not None:
        intents.append(metrics_service(resolved, spec.monitor))
        resource = observed.exposure.offer(SERVICE_MONITOR).resource
        if resource is not None:
            intents.append(service_monitor(resolved, spec.monitor, resource))
    return tuple(intents)


def _gateway(resolved: Resolved, observed: Observed, spec: GatewaySettings) -> Iterator[Intent]:
    kind, build = (TLS_ROUTE, tls_route) if spec.passthrough else (HTTP_ROUTE, http_route)
    route = observed.exposure.offer(kind).resource
    if route is None:
        # A policy without a route would have no effect.
        return
    yield build(resolved, spec, route)
    policy = observed.exposure.offer(BACKEND_TLS_POLICY).resource
    if policy is not None and spec.backend_hostname is not None:
        yield backend_tls_policy(resolved, spec.backend_hostname, policy)


def authority_of(resolved: Resolved, observed: Observed) -> str:
    """Return the CA of the servers as PEM; "" while it is not known."""
    for name in (resolved.tls.server_secret, resolved.tls.authority_secret):
        secret = observed.secrets.get(name or "")
        if secret is not None and secret.authority:
            return secret.authority
    return ""


def gateway_outcome(resolved: Resolved, observed: Observed) -> Outcome:
    """Return the outcome with the time of the next read of the Gateway, which is not watched.

    The outcome is always Done: a condition reports a problem with the exposure, and the cluster
    remains ready.
    """
    condition = gateway_ready(resolved.exposure.gateway, observed.exposure)
    if condition is None or condition.reason in NOT_POLLED:
        return Done()
    return Done(GATEWAY_RECHECK if condition.status == "True" else GATEWAY_PENDING)
