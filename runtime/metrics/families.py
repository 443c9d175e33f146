"""Metric families that prometheus_client lacks: fast, limited in series, or about objects.

Uses prometheus_client only for the exposition. Created by runtime.metrics.metrics; used by
runtime.controller.workqueue, runtime.controller.controller and the application, in one event loop.

FastCounter and FastHistogram are for hot paths. The counters and histograms of the library take a
lock per increment and iterate over their buckets: eight of them took a third of the time of a
reconcile without work. The exposition is the same.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from runtime.types import ObjectKey

PRIORITY_LIMIT: Final = 25
OVER_LIMIT: Final = "exceeded_cardinality_limit"


class FastCounter:
    """A counter without a lock."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self) -> None:
        self.value += 1.0


class FastCounterFamily(Collector):
    """A family of counters; `name` ends in `_total`."""

    def __init__(
        self, name: str, help_text: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._about: Final = (name, help_text, labels)
        self._children: dict[tuple[str, ...], FastCounter] = {}
        registry.register(self)

    def labels(self, *values: str) -> FastCounter:
        """The counter with those label values; a new one starts at zero."""
        return self._children.setdefault(values, FastCounter())

    def describe(self) -> Iterable[Metric]:
        yield self._family()

    def collect(self) -> Iterable[Metric]:
        family = self._family()
        for values, child in self._children.items():
            family.add_metric(values, child.value)
        yield family

    def _family(self) -> CounterMetricFamily:
        name, help_text, labels = self._about
        return CounterMetricFamily(name, help_text, labels=labels)


class FastHistogram:
    """A histogram; `counts` are per bucket, not cumulative, the last one is for +Inf."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, amount: float) -> None:
        self.total += amount
        self.counts[bisect_left(self.bounds, amount)] += 1


class FastHistogramFamily(Collector):
    """A family of histograms with the same upper bounds, ascending and without +Inf."""

    def __init__(
        self,
        name: str,
        help_text: str,
        labels: Sequence[str],
        bounds: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self._about: Final = (name, help_text, labels)
        self._bounds = tuple(float(bound) for bound in bounds)
        self._children: dict[tuple[str, ...], FastHistogram] = {}
        registry.register(self)

    def labels(self, *values: str) -> FastHistogram:
        """The histogram with those label values; a new one is empty."""
        return self._children.setdefault(values, FastHistogram(self._bounds))

    def describe(self) -> Iterable[Metric]:
        yield self._family()

    def collect(self) -> Iterable[Metric]:
        family = self._family()
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for values, child in self._children.items():
            buckets = [*zip(names, map(float, accumulate(child.counts)), strict=True)]
            family.add_metric(values, buckets, child.total)
        yield family

    def _family(self) -> HistogramMetricFamily:
        name, help_text, labels = self._about
        return HistogramMetricFamily(name, help_text, labels=labels)


Reading = tuple[tuple[str, ...], float]
"""The values of the labels of one series, and its value."""


class ReadGauge(Collector):
    """A family of gauges that is computed at each scrape.

    It stores no series, so no series outlives its object.
    """

    def __init__(
        self,
        about: tuple[str, str, Sequence[str]],
        read: Callable[[], Iterable[Reading]],
        registry: CollectorRegistry,
    ) -> None:
        self._about: Final = about
        self._read = read
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        yield self._family()

    def collect(self) -> Iterable[Metric]:
        family = self._family()
        for labels, value in self._read():
            family.add_metric(labels, value)
        yield family

    def _family(self) -> GaugeMetricFamily:
        name, help_text, labels = self._about
        return GaugeMetricFamily(name, help_text, labels=labels)


class ObjectGauge(ReadGauge):
    """A family of gauges about objects; the series of an object are removed with it.

    `labels` start with namespace and name. A series that outlives its object causes alerts forever,
    and the series of a changing fleet fill the memory of Prometheus.
    """

    def __init__(
        self, name: str, help_text: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._values: dict[ObjectKey, dict[tuple[str, ...], float]] = {}
        super().__init__((name, help_text, labels), self._readings, registry)

    def set(self, key: ObjectKey, value: float, *more: str) -> None:
        """Set the series of that object; `more` are the values of the labels after its name."""
        if len(more) + len(key) != len(self._about[2]):
            raise ValueError(f"{self._about[0]}: {more} are not the values of {self._about[2]}")
        self._values.setdefault(key, {})[more] = value

    def forget(self, key: ObjectKey) -> None:
        """Remove all series of that object; nothing happens if there are none."""
        self._values.pop(key, None)

    def _readings(self) -> Iterator[Reading]:
        for key, series in self._values.items():
            for more, value in series.items():
                yield (*key, *more), value


class ObjectCounter(Collector):
    """A family of counters about objects; the series of an object are removed with it.

    Labels are namespace and name; the name of the family ends in `_total`.
    """

    def __init__(self, name: str, help_text: str, registry: CollectorRegistry) -> None:
        self._about: Final = (name, help_text)
        self._values: dict[ObjectKey, float] = {}
        registry.register(self)

    def start(self, key: ObjectKey) -> None:
        """Create the series of an object at zero."""
        self._values.setdefault(key, 0.0)

    def inc(self, key: ObjectKey, amount: float = 1.0) -> None:
        self._values[key] = self._values.get(key, 0.0) + amount

    def forget(self, key: ObjectKey) -> None:
        """Remove the series of that object; nothing happens if there is none."""
        self._values.pop(key, None)

    def describe(self) -> Iterable[Metric]:
        yield self._family()

    def collect(self) -> Iterable[Metric]:
        family = self._family()
        for key, value in self._values.items():
            family.add_metric(tuple(key), value)
        yield family

    def _family(self) -> CounterMetricFamily:
        name, help_text = self._about
        return CounterMetricFamily(name, help_text, labels=("namespace", "name"))


class ObjectHistogram(Collector):
    """A family of histograms about objects; the series of an object are removed with it.

    `labels` come after namespace and name; the bounds are ascending and without +Inf.
    """

    def __init__(
        self,
        name: str,
        help_text: str,
        bounds: Sequence[float],
        labels: Sequence[str],
        registry: CollectorRegistry,
    ) -> None:
        self._about: Final = (name, help_text, ("namespace", "name", *labels))
        self._bounds = tuple(float(bound) for bound in bounds)
        self._values: dict[ObjectKey, dict[tuple[str, ...], FastHistogram]] = {}
        registry.register(self)

    def observe(self, key: ObjectKey, amount: float, *more: str) -> None:
        """Count one amount; `more` are the values of the labels after the object's name."""
        if len(more) + len(key) != len(self._about[2]):
            raise ValueError(f"{self._about[0]}: {more} are not the values of {self._about[2]}")
        series = self._values.setdefault(key, {})
        series.setdefault(more, FastHistogram(self._bounds)).observe(amount)

    def forget(self, key: ObjectKey) -> None:
        """Remove all series of that object; nothing happens if there are none."""
        self._values.pop(key, None)

    def describe(self) -> Iterable[Metric]:
        yield self._family()

    def collect(self) -> Iterable[Metric]:
        family = self._family()
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for key, series in self._values.items():
            for more, value in series.items():
                buckets = [*zip(names, map(float, accumulate(value.counts)), strict=True)]
                family.add_metric((*key, *more), buckets, value.total)
        yield family

    def _family(self) -> HistogramMetricFamily:
        name, help_text, labels = self._about
        return HistogramMetricFamily(name, help_text, labels=labels)


class DepthSeries:
    """workqueue_depth of one queue: a series per priority, and one for those beyond the limit.

    PRIORITY_LIMIT is that of controller-runtime, so that a reconciler that computes priorities does
    not create too many series.
    """

    def __init__(self, gauge: Gauge, name: str, depth: Mapping[int, int]) -> None:
        self._gauge = gauge
        self._name = name
        self._depth = depth
        self._shown: set[int] = set()
        self._overflows = False

    def show(self, priority: int) -> None:
        """Ensure that keys of that priority are counted; cheap to repeat."""
        if priority in self._shown or self._overflows:
            return
        if len(self._shown) < PRIORITY_LIMIT:
            self._shown.add(priority)
            self._series(str(priority)).set_function(lambda: self._depth.get(priority, 0))
        else:
            self._overflows = True
            self._series(OVER_LIMIT).set_function(self._beyond)

    def _series(self, priority: str) -> Gauge:
        return self._gauge.labels(name=self._name, controller=self._name, priority=priority)

    def _beyond(self) -> int:
        return sum(n for priority, n in self._depth.items() if priority not in self._shown)
