"""spec.observability: how metrics of the servers are offered and scraped.

Uses contracts.api.meta. Part of ClusterSpec. What the servers themselves measure is in
contracts.api.cluster.telemetry.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import Annotations, ApiModel, ConfigMapKey, Duration, Labels, SecretKey

_Name = Annotated[str, Field(min_length=1, max_length=253)]


class MetricsListener(ApiModel):
    """A port that answers metrics and nothing else."""

    enabled: bool | None = Field(
        default=None, description="Open the port; left out, only with scrapeProfile AllNodes."
    )
    port: int = Field(default=8202, description="Number of the port.", ge=1, le=65535)
    unauthenticated_metrics_access: bool | None = Field(
        default=None,
        description="Answer /v1/sys/metrics there without a token; left out, false.",
    )


class ScrapeAuthorization(ApiModel):
    """How Prometheus logs in."""

    type: Annotated[str, Field(pattern=r"^[A-Za-z]+$", max_length=32)] = Field(
        default="Bearer", description="Kind of authorization header."
    )
    credentials_secret: SecretKey | None = Field(
        default=None, description="Secret with the token; its key, left out, is token."
    )


class ScrapeTls(ApiModel):
    """How Prometheus checks the servers."""

    server_name: _Name | None = Field(
        default=None,
        description="Name to check; left out, openbao-cluster-<name>.local.",
        examples=["bao.example.com"],
    )
    insecure_skip_verify: bool = Field(
        default=False,
        description="Do not check the certificate of the servers. Must be false if Hardened.",
    )
    ca_config_map: ConfigMapKey | None = Field(
        default=None,
        description="ConfigMap with the authority; its key, left out, is ca.crt. This or caSecret.",
    )
    ca_secret: SecretKey | None = Field(
        default=None,
        description="Secret with the authority; its key, left out, is ca.crt. This or caConfigMap.",
    )


class ServiceMonitor(ApiModel):
    """The ServiceMonitor of the Prometheus operator."""

    enabled: bool = Field(default=True, description="Make the ServiceMonitor.")
    interval: Duration = Field(
        default="30s", description="Time between two scrapes, a Go duration.", examples=["30s"]
    )
    scrape_timeout: Duration = Field(
        default="10s",
        description="Time that a scrape may take, a Go duration not above interval.",
        examples=["10s"],
    )
    labels: Labels | None = Field(
        default=None,
        description="Labels that the Prometheus selects by.",
        examples=[{"release": "prometheus"}],
    )
    annotations: Annotations | None = Field(default=None, description="Annotations of the object.")
    job_label: _Name = Field(
        default="app.kubernetes.io/name", description="Label of the Service that names the job."
    )
    authorization: ScrapeAuthorization | None = Field(
        default=None, description="How Prometheus logs in; left out, it does not."
    )
    tls_config: ScrapeTls | None = Field(
        default=None, description="How Prometheus checks the servers."
    )


class MetricsSpec(ApiModel):
    """Metrics of the servers."""

    enabled: bool = Field(default=False, description="Serve metrics.")
    scrape_profile: Literal["Active", "AllNodes"] = Field(
        default="Active", description="Scrape the leader, or every server."
    )
    metrics_only_listener: MetricsListener | None = Field(
        default=None, description="A port that answers metrics and nothing else."
    )
    service_monitor: ServiceMonitor | None = Field(
        default=None,
        description="The ServiceMonitor of the Prometheus operator; left out, none is made.",
    )


class Observability(ApiModel):
    """Metrics of the servers and their scrape objects."""

    metrics: MetricsSpec | None = Field(default=None, description="Metrics of the servers.")
