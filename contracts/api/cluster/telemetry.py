"""spec.telemetry: destinations and names of the servers' metrics.

Uses contracts.api.meta. Part of ClusterSpec; rendered by contracts.hcl.stanzas.
"""

from typing import Annotated

from pydantic import Field

from contracts.api.meta import ApiModel, as_set

_DURATION = r"^(none|[0-9]+|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+)$"
_Tag = Annotated[str, Field(min_length=1, max_length=256)]


def _text(description: str, example: str, alias: str | None = None) -> str | None:
    field: str | None = Field(
        default=None, description=description, examples=[example], max_length=512, alias=alias
    )
    return field


def _duration(description: str, example: str) -> str | None:
    field: str | None = Field(
        default=None,
        description=f"{description} A Go duration, or seconds.",
        examples=[example],
        pattern=_DURATION,
        max_length=32,
    )
    return field


class Telemetry(ApiModel):
    """Destinations and names of the servers' metrics."""

    usage_gauge_period: str | None = _duration(
        "Time between two counts of tokens, entities and secrets, or none; the server uses 10m.",
        "10m",
    )
    maximum_gauge_cardinality: int | None = Field(
        default=None,
        description="Maximum number of values of a label in such a count; the server uses 500.",
        examples=[500],
        ge=0,
        le=1_000_000,
    )
    disable_hostname: bool | None = Field(
        default=None,
        description=(
            "Do not prefix gauges with the host name. Always true while "
            "observability.metrics is enabled."
        ),
        examples=[True],
    )
    enable_hostname_label: bool | None = Field(
        default=None, description="Add a label with the host name.", examples=[False]
    )
    metrics_prefix: str | None = _text("Prefix of all metric names; the server uses vault.", "bao")
    lease_metrics_epsilon: str | None = _duration(
        "Period in which expiring leases are counted together, or none; the server uses 1h.",
        "1h",
    )
    prometheus_retention_time: str | None = _duration(
        "Retention of Prometheus metrics; 0 disables them. If not set, the operator uses 30s while "
        "observability.metrics is enabled, and the server 24h.",
        "30s",
    )
    statsite_address: str | None = _text("Address of a statsite server.", "statsite.example:8125")
    statsd_address: str | None = _text("Address of a StatsD server.", "statsd.example:8125")
    dog_statsd_address: str | None = _text("Address of a DogStatsD server.", "127.0.0.1:8125")
    dog_statsd_tags: tuple[_Tag, ...] = Field(
        default=(),
        description="Tags of all DogStatsD metrics, name:value.",
        examples=[["team:a"]],
        max_length=32,
        json_schema_extra=as_set(),
    )
    circonus_api_key: str | None = _text(
        "Token of the Circonus API. It is readable in the ConfigMap of the configuration; the "
        "operator never logs it.",
        "not-a-real-token",
        "circonusAPIKey",
    )
    circonus_api_app: str | None = _text(
        "Name of the application in the Circonus API.", "openbao", "circonusAPIApp"
    )
    circonus_api_url: str | None = _text(
        "URL of the Circonus API.", "https://circonus.example.com/v2", "circonusAPIURL"
    )
    circonus_submission_interval: str | None = _duration(
        "Time between two submissions to Circonus; the server uses 10s.", "10s"
    )
    circonus_check_id: str | None = _text(
        "Id of an existing Circonus check.", "1234", "circonusCheckID"
    )
    circonus_check_force_metric_activation: str | None = _text(
        "Activate inactive metrics of the check, true or false.", "false"
    )
    circonus_check_instance_id: str | None = _text(
        "Name of this instance in Circonus.", "bao:openbao", "circonusCheckInstanceID"
    )
    circonus_check_search_tag: str | None = _text(
        "Tag for the search of the check.", "service:openbao"
    )
    circonus_check_display_name: str | None = _text("Display name of the check.", "OpenBao")
    circonus_check_tags: str | None = _text("Tags of the check, joined by commas.", "team:a")
    circonus_broker_id: str | None = _text("Id of a Circonus broker.", "42", "circonusBrokerID")
    circonus_broker_select_tag: str | None = _text("Tag for the selection of a broker.", "dc:a")
    stackdriver_project_id: str | None = _text(
        "Project for Stackdriver metrics.", "my-project", "stackdriverProjectID"
    )
    stackdriver_location: str | None = _text("Region for Stackdriver metrics.", "europe-west1")
    stackdriver_namespace: str | None = _text("Namespace for Stackdriver metrics.", "bao")
    stackdriver_debug_logs: bool | None = Field(
        default=None, description="Write debug logs about Stackdriver.", examples=[False]
    )
