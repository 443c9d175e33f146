"""What the rules about spec.observability refuse."""

from typing import Any

from tests.contracts.api.case import Case

_MONITOR = "spec.observability.metrics.serviceMonitor"


def monitor(**fields: Any) -> dict[str, Any]:
    """A spec with a ServiceMonitor of these fields."""
    return {"observability": {"metrics": {"enabled": True, "serviceMonitor": fields}}}


CASES: dict[str, Case] = {
    "a scrape timeout above the interval": Case(
        "scrape-timeout", f"{_MONITOR}.scrapeTimeout", monitor(interval="10s", scrapeTimeout="11s")
    ),
    "two CAs": Case(
        "scrape-authority",
        f"{_MONITOR}.tlsConfig.caSecret",
        monitor(tlsConfig={"caSecret": {"name": "a"}, "caConfigMap": {"name": "b"}}),
    ),
}
