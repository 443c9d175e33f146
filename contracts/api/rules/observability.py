"""Rules about spec.observability.

Uses the API models. Collected by contracts.api.rules.cluster.
"""

from contracts.api.rules.checks import either, has
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import FORBIDDEN, Rule

_MONITOR = "spec.observability.metrics.serviceMonitor"
_TIMEOUT = either("scrapeTimeout", "10s")

OBSERVABILITY_RULES: tuple[Rule, ...] = (
    rule(
        "scrape-timeout",
        _MONITOR,
        "scrapeTimeout",
        "must not be above interval; lower it or raise interval",
        _TIMEOUT.duration().at_most(either("interval", "30s").duration()),
        got=_TIMEOUT,
    ),
    rule(
        "scrape-authority",
        f"{_MONITOR}.tlsConfig",
        "caSecret",
        "must not be set together with caConfigMap; remove one of them",
        ~has("caConfigMap") | ~has("caSecret"),
        shows="caSecret.name",
        reason=FORBIDDEN,
    ),
)
