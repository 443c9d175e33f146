"""The series and the controllers of an operator with all functions, and those of an expression."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from prometheus_client import CollectorRegistry

from baoctl.process.wiring import build_controllers
from baoctl.settings import from_environment
from tests.baoctl.process.process_settings import make_parts, settings

SCRAPED = frozenset({"instance", "job"})
"""Labels that Prometheus adds to each series."""
_SERIES = re.compile(r"\b([a-z_]+)(?:\{([^}]*)\})?(?=[\[\s){,]|$)")
_MATCHER = re.compile(r'(\w+)[=!]~?"')
_KEYWORDS = frozenset({"and", "or", "on", "by", "sum", "max", "min", "count", "rate", "increase"})


@dataclass(frozen=True)
class Operator:
    """An operator with all functions: the labels of its series by name, and its controllers."""

    series: Mapping[str, frozenset[str]]
    controllers: tuple[str, ...]

    @classmethod
    async def build(cls, folder: Path) -> "Operator":
        """Build the process; `folder` receives its kubeconfig."""
        kubeconfig = settings(folder).api_server.kubeconfig
        environment = {"KUBECONFIG": str(kubeconfig), "DATACENTERS": "true"}
        parts = await make_parts(from_environment(environment))
        names = tuple(controller.name for controller in build_controllers(parts))
        return cls(_families(parts.metrics.registry), names)


def _families(registry: CollectorRegistry) -> dict[str, frozenset[str]]:
    """The names of the series of each family, and their labels."""
    series: dict[str, frozenset[str]] = {}
    for collector in registry._collector_to_names:
        # The collector of the process has no description.
        for family in getattr(collector, "describe", collector.collect)():
            labels = (getattr(source, "_labelnames", ()) or () for source in (family, collector))
            own = frozenset(chain.from_iterable(labels))
            suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}
            for suffix in suffixes.get(family.type, ("",)):
                bound = {"le"} if suffix == "_bucket" else set[str]()
                series[family.name + suffix] = own | SCRAPED | bound
    return series


def series_of(expression: str) -> list[tuple[str, set[str]]]:
    """The names of the series of an expression, and the labels of their matchers."""
    plain = re.sub(r"\b(by|on|without) \([^)]*\)", "", expression)
    return [
        (name, set(_MATCHER.findall(matchers or "")))
        for name, matchers in _SERIES.findall(re.sub(r'"[^"]*"', '""', plain))
        if name not in _KEYWORDS and "_" in name
    ]
