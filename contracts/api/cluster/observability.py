"""spec.observability: serving and scraping the servers' metrics.

Uses contracts.api.meta. Part of ClusterSpec. contracts.api.cluster.telemetry has the settings of
the servers' telemetry.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import Annotations, ApiModel, ConfigMapKey, Duration, Labels, SecretKey

_Name = Annotated[str, Field(min_length=1, max_length=253)]


class MetricsListener(ApiModel):
    """Port that serves only metrics."""

    enabled: bool | None = Field(
        default=None, description="Open the port; if not set, only with scrapeProfile AllNodes."
    )
    port: int = Field(default=8202, description="Number of the port.", ge=1, le=65535)
    unauthenticated_metrics_access: bool | None = Field(
        default=None,
        description="Serve /v1/sys/metrics on it without a token; if not set, false.",
    )


class ScrapeAuthorization(ApiModel):
    """Authorization of Prometheus."""

    type: Annotated[str, Field(pattern=r"^[A-Za-z]+$", max_length=32)] = Field(
        default="Bearer", description="Type of the authorization header."
    )
    credentials_secret: SecretKey | None = Field(
        default=None, description="Secret with the token; if its key is not set, token."
    )


class ScrapeTls(ApiModel):
    """Verification of the servers by Prometheus."""

    server_name: _Name | None = Field(
        default=None,
        description="Name to verify; if not set, openbao-cluster-<name>.local.",
        examples=["bao.example.com"],
    )
    insecure_skip_verify: bool = Field(
        default=False,
        description="Do not verify the certificate of the servers. Must be false if Hardened.",
    )
    ca_config_map: ConfigMapKey | None = Field(
        default=None,
        description="ConfigMap with the CA; if its key is not set, ca.crt. This or caSecret.",
    )
    ca_secret: SecretKey | None = Field(
        default=None,
        description="Secret with the CA; if its key is not set, ca.crt. This or caConfigMap.",
    )


class ServiceMonitor(ApiModel):
    """ServiceMonitor of the Prometheus operator."""

    enabled: bool = Field(default=True, description="Create the ServiceMonitor.")
    interval: Duration = Field(
        default="30s", description="Time between two scrapes, a Go duration.", examples=["30s"]
    )
    scrape_timeout: Duration = Field(
        default="10s",
        description="Timeout of a scrape, a Go duration not above interval.",
        examples=["10s"],
    )
    labels: Labels | None = Field(
        default=None,
        description="Labels of the object, for the selector of the Prometheus.",
        examples=[{"release": "prometheus"}],
    )
    annotations: Annotations | None = Field(default=None, description="Annotations of the object.")
    job_label: _Name = Field(
        default="app.kubernetes.io/name", description="Label of the Service that names the job."
    )
    authorization: ScrapeAuthorization | None = Field(
        default=None, description="Authorization of Prometheus; if not set, none."
    )
    tls_config: ScrapeTls | None = Field(
        default=None, description="Verification of the servers by Prometheus."
    )


class MetricsSpec(ApiModel):
    """Metrics of the servers."""

    enabled: bool = Field(default=False, description="Serve metrics.")
    scrape_profile: Literal["Active", "AllNodes"] = Field(
        default="Active", description="Scrape the leader, or every server."
    )
    metrics_only_listener: MetricsListener | None = Field(
        default=None, description="Port that serves only metrics."
    )
    service_monitor: ServiceMonitor | None = Field(
        default=None,
        description="ServiceMonitor of the Prometheus operator; if not set, none is created.",
    )


class Observability(ApiModel):
    """Metrics of the servers and their scrape objects."""

    metrics: MetricsSpec | None = Field(default=None, description="Metrics of the servers.")
