"""Rules about spec.observability.

Uses the API models. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Callable, Iterator

from contracts.api.cluster.observability import ServiceMonitor
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.meta import counted_duration
from contracts.api.rules.rule import Broken, Offence, Rule, either

Old = OpenBaoCluster | None

_MONITOR = "spec.observability.metrics.serviceMonitor"


def _in_monitor(find: Callable[[ServiceMonitor], Iterator[Offence]]) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        metrics = new.spec.observability.metrics if new.spec.observability else None
        if metrics and metrics.service_monitor:
            yield from find(metrics.service_monitor)

    return broken


def _timeout(monitor: ServiceMonitor) -> Iterator[Offence]:
    interval, timeout = map(counted_duration, (monitor.interval, monitor.scrape_timeout))
    if interval is None or timeout is None or timeout > interval:
        yield f"{_MONITOR}.scrapeTimeout", monitor.scrape_timeout


def _authority(monitor: ServiceMonitor) -> Iterator[Offence]:
    tls = monitor.tls_config
    if tls and tls.ca_config_map and tls.ca_secret:
        yield f"{_MONITOR}.tlsConfig.caSecret", tls.ca_secret.name


_INTERVAL = either("interval", "'30s'")
_TIMEOUT = either("scrapeTimeout", "'10s'")

OBSERVABILITY_RULES: tuple[Rule, ...] = (
    Rule(
        id="scrape-timeout",
        at=_MONITOR,
        field=f"{_MONITOR}.scrapeTimeout",
        message="must not be above interval; lower it or raise the other",
        broken=_in_monitor(_timeout),
        cel=f"duration({_TIMEOUT}) <= duration({_INTERVAL})",
        got=_TIMEOUT,
    ),
    Rule(
        id="scrape-authority",
        at=f"{_MONITOR}.tlsConfig",
        field=f"{_MONITOR}.tlsConfig.caSecret",
        message="must not be set beside caConfigMap; remove one of them",
        broken=_in_monitor(_authority),
        cel="!has(self.caConfigMap) || !has(self.caSecret)",
        reason="FieldValueForbidden",
    ),
)
