"""Resolves the exposure settings of a spec: Ingress, Gateway and ServiceMonitor. Pure.

Called by `managers.cluster.resolve.resolve`; the observer and the status of a cluster use
`exposure_spec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from contracts import tls_names
from contracts.api.cluster.observability import ScrapeTls
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.hcl.stanzas import metrics_port
from contracts.naming import names
from contracts.records.exposure import (
    ExposureSpec,
    GatewaySettings,
    IngressSettings,
    MonitorSettings,
)

AUTHORITY_KEY = "ca.crt"
# Port of the object stores of clouds, and of their token services.
CLOUD_PORT = 443
_PORTS = {"http": 80}


def store_ports(spec: ClusterSpec) -> tuple[int, ...]:
    """Return the ports of the snapshot store that the operator opens for jobs.

    A NetworkPolicy cannot contain a host name, so the operator opens these ports to all addresses.
    It opens none if the user sets egress rules, or in profile Hardened.
    """
    backup = spec.backup
    if backup is None or spec.profile == "Hardened" or spec.network.egress_rules:
        return ()
    if backup.target.provider == "pvc":
        return ()
    try:
        url = urlsplit(backup.target.endpoint or "")
        port = url.port or _PORTS.get(url.scheme, CLOUD_PORT)
    except ValueError:
        port = CLOUD_PORT
    return tuple(sorted({CLOUD_PORT, port}))


def exposure_spec(cluster: OpenBaoCluster) -> ExposureSpec:
    """Read spec.ingress, spec.gateway and the ServiceMonitor of spec.observability."""
    gateway, monitor = _gateway(cluster), _monitor(cluster)
    operator_authority = {"configMap": {"name": _authority(cluster), "key": AUTHORITY_KEY}}
    ends_tls = gateway is not None and not gateway.passthrough
    scrapes = monitor is not None and monitor.authority == operator_authority
    return ExposureSpec(
        ingress=_ingress(cluster),
        gateway=gateway,
        monitor=monitor,
        # In mode ACME the operator does not know the CA.
        needs_authority=cluster.spec.tls.mode != "ACME" and (ends_tls or scrapes),
    )


def _authority(cluster: OpenBaoCluster) -> str:
    return names.gateway_ca_config_map(cluster.metadata.name)


def _ingress(cluster: OpenBaoCluster) -> IngressSettings | None:
    ingress = cluster.spec.ingress
    if ingress is None or not ingress.enabled or ingress.host is None:
        return None
    return IngressSettings(
        host=ingress.host,
        path=ingress.path,
        path_type=ingress.path_type,
        class_name=ingress.class_name,
        annotations=ingress.annotations or {},
        tls_secret=ingress.tls_secret_name or tls_names.server_secret(cluster),
    )


def _gateway(cluster: OpenBaoCluster) -> GatewaySettings | None:
    gateway, namespace = cluster.spec.gateway, cluster.metadata.namespace
    if gateway is None or not gateway.enabled or gateway.hostname is None:
        return None
    if gateway.gateway_ref is None or gateway.gateway_ref.name is None:
        return None
    backend = gateway.backend_tls
    verifies_backend = not gateway.tls_passthrough and (backend is None or backend.enabled)
    hostname = backend.hostname if backend else None
    # The Service of the route: a policy for another Service would have no effect.
    service = names.public_service(cluster.metadata.name)
    return GatewaySettings(
        namespace=namespace,
        gateway=gateway.gateway_ref.name,
        gateway_namespace=gateway.gateway_ref.namespace or namespace,
        listener=gateway.listener_name,
        hostname=gateway.hostname,
        path=gateway.path,
        annotations=gateway.annotations or {},
        passthrough=gateway.tls_passthrough,
        backend_hostname=(hostname or names.service_dns(service, namespace))
        if verifies_backend
        else None,
    )


def _monitor(cluster: OpenBaoCluster) -> MonitorSettings | None:
    observability = cluster.spec.observability
    metrics = observability.metrics if observability else None
    if metrics is None or not metrics.enabled:
        return None
    monitor = metrics.service_monitor
    if monitor is None or not monitor.enabled:
        return None
    tls, login = monitor.tls_config or ScrapeTls(), monitor.authorization
    authorization: dict[str, object] | None = None
    if login is not None:
        authorization = {"type": login.type}
        secret = login.credentials_secret
        if secret is not None:
            authorization["credentials"] = {"name": secret.name, "key": secret.key or "token"}
    return MonitorSettings(
        every_node=metrics.scrape_profile == "AllNodes",
        port=metrics_port(observability),
        interval=monitor.interval,
        scrape_timeout=monitor.scrape_timeout,
        labels=monitor.labels or {},
        annotations=monitor.annotations or {},
        job_label=monitor.job_label,
        authorization=authorization,
        server_name=tls.server_name or tls_names.server_name(cluster),
        skip_verify=tls.insecure_skip_verify,
        authority=_scrape_authority(cluster, tls),
    )


def _scrape_authority(cluster: OpenBaoCluster, tls: ScrapeTls) -> Mapping[str, object] | None:
    references = (("configMap", tls.ca_config_map), ("secret", tls.ca_secret))
    for kind, reference in references:
        if reference is not None:
            return {kind: {"name": reference.name, "key": reference.key or AUTHORITY_KEY}}
    if cluster.spec.tls.mode == "ACME":
        return None
    return {"configMap": {"name": _authority(cluster), "key": AUTHORITY_KEY}}
