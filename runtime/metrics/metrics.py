"""The Prometheus metrics of one process, in a separate registry.

May use prometheus_client only. The client, the informers, the workqueues, the controllers, the
leader elector and the manager update them; runtime.process.health serves the registry at /metrics;
the application adds its own families by `counter`, `gauge` and `histogram`.

Names, labels and buckets are those of controller-runtime v0.25 and client-go, so that dashboards
and alerts written for them work unchanged. Every attribute has the name of its family. Series whose
labels are known at the start are created at zero, because `rate()` and `absent()` do not work for a
series that is created by its first increment. Series about one object are created by `object_gauge`
and removed with the object.

These families of controller-runtime are missing, because there is nothing to measure:
controller_runtime_webhook_* and controller_runtime_conversion_webhook_panics_total (no webhooks),
certwatcher_* (no TLS server), rest_client_rate_limiter_duration_seconds (no client-side rate limit)
and rest_client_dns_resolution_duration_seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from runtime.metrics.families import (
    DepthSeries,
    FastCounter,
    FastCounterFamily,
    FastHistogram,
    FastHistogramFamily,
    ObjectCounter,
    ObjectGauge,
    ObjectHistogram,
    ReadGauge,
    Reading,
)
from runtime.metrics.flow_metrics import FlowFamilies, FlowReadings
from runtime.verdict import Verdict

# fmt: off
RECONCILE_BUCKETS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50,
    60,
)
QUEUE_BUCKETS: Final = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)
REQUEST_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
SIZE_BUCKETS: Final = (
    64, 256, 512, 2**10, 2**12, 2**14, 2**16, 2**18, 2**20, 2**22, 2**24,
)
LAG_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# fmt: on

RESULTS: Final = ("success", "error", "requeue", "requeue_after")
APPLY_OUTCOMES: Final = tuple(verdict.value for verdict in Verdict)
WATCH_EVENT_TYPES: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")


@dataclass(frozen=True, slots=True)
class ControllerSeries:
    """The series of one controller, looked up once: a label lookup costs more than an increment.

    `results` maps each of RESULTS to its counter of controller_runtime_reconcile_total.
    """

    results: dict[str, FastCounter]
    errors: Counter
    terminal_errors: Counter
    panics: Counter
    timeouts: Counter
    seconds: FastHistogram
    active_workers: Gauge
    max_concurrent: Gauge


@dataclass(frozen=True, slots=True)
class RequestFamilies:
    """Optional metrics of requests, by verb and host, as in controller-runtime.

    Three histograms per verb and host are many series; retries are also counted by status code.
    """

    rest_client_request_duration_seconds: Histogram
    rest_client_request_size_bytes: Histogram
    rest_client_response_size_bytes: Histogram
    rest_client_request_retries_total: Counter


@dataclass(frozen=True, slots=True)
class QueueReadings:
    """The state of a workqueue that is read at each scrape.

    `depth` counts its ready keys by priority; `unfinished`, `longest` and `longest_wait` return
    seconds, `flows` how namespaces share the workers. client-go updates these gauges at every
    change or every 500 ms, which costs more and is less accurate.
    """

    depth: Mapping[int, int]
    unfinished: Callable[[], float]
    longest: Callable[[], float]
    longest_wait: Callable[[], float]
    flows: Callable[[], FlowReadings]


@dataclass(frozen=True, slots=True)
class QueueSeries:
    """The series of one workqueue."""

    depth: DepthSeries
    adds: FastCounter
    retries: FastCounter
    queue_seconds: FastHistogram
    work_seconds: FastHistogram


class Metrics:
    """All families of the runtime, and those that the application adds.

    One instance per process or test: the global registry of the library is not used. `requests` is
    None without `request_details`.
    """

    def __init__(self, *, request_details: bool = False) -> None:
        # Go clients have no `_created` series, and they would double the cost of a counter.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no hint here
        self.registry: Final = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._controllers: set[str] = set()
        self._add_controller_families()
        self._add_queue_families()
        self._add_informer_families()
        self.rest_client_requests_total = self.counter(
            "rest_client_requests_total",
            "HTTP requests to the API server by status code ('<error>': none), method, host.",
            ("code", "method", "host"),
        )
        self.requests = self._request_families() if request_details else None
        self.leader_election_master_status = self.gauge(
            "leader_election_master_status", "1 while this process holds the Lease.", ("name",)
        )
        self.leader_election_slowpath_total = self.counter(
            "leader_election_slowpath_total",
            "Renewals that read the Lease first, because the last write failed.",
            ("name",),
        )
        self.apply_total = self.counter(
            "apply_total", "Owned applies by their outcome.", ("resource", "outcome")
        )
        self.event_loop_lag_seconds = self.histogram(
            "event_loop_lag_seconds",
            "Delay of a timer of the event loop: the time for which a callback blocked the loop.",
            (),
            LAG_BUCKETS,
        )

    def counter(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Counter:
        """Add a counter family; `name` ends in `_total`. ValueError if the name exists."""
        return Counter(name, help_text, labels, registry=self.registry)

    def gauge(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Gauge:
        """Add a gauge family. ValueError if the name exists."""
        return Gauge(name, help_text, labels, registry=self.registry)

    def object_gauge(self, name: str, help_text: str, labels: Sequence[str] = ()) -> ObjectGauge:
        """Add a gauge family about objects: namespace and name come before `labels`.

        ValueError if the name exists.
        """
        return ObjectGauge(name, help_text, ("namespace", "name", *labels), self.registry)

    def read_gauge(
        self,
        name: str,
        help_text: str,
        labels: Sequence[str],
        read: Callable[[], Iterable[Reading]],
    ) -> ReadGauge:
        """Add a gauge family that `read` computes at each scrape.

        ValueError if the name exists.
        """
        return ReadGauge((name, help_text, labels), read, self.registry)

    def object_counter(self, name: str, help_text: str) -> ObjectCounter:
        """Add a counter family about objects; `name` ends in `_total`.

        ValueError if the name exists.
        """
        return ObjectCounter(name, help_text, self.registry)

    def object_histogram(
        self, name: str, help_text: str, buckets: Sequence[float], labels: Sequence[str] = ()
    ) -> ObjectHistogram:
        """Add a histogram family about objects; `buckets` are upper bounds without `+Inf`.

        `labels` come after namespace and name. ValueError if the name exists.
        """
        return ObjectHistogram(name, help_text, buckets, labels, self.registry)

    def histogram(
        self, name: str, help_text: str, labels: Sequence[str], buckets: Sequence[float]
    ) -> Histogram:
        """Add a histogram family; `buckets` are upper bounds, the library adds `+Inf`."""
        return Histogram(name, help_text, labels, registry=self.registry, buckets=buckets)

    def _fast_counter(self, name: str, help_text: str, labels: Sequence[str]) -> FastCounterFamily:
        return FastCounterFamily(name, help_text, labels, self.registry)

    def _fast_histogram(
        self, name: str, help_text: str, labels: Sequence[str], buckets: Sequence[float]
    ) -> FastHistogramFamily:
        return FastHistogramFamily(name, help_text, labels, buckets, self.registry)

    def register_controller(self, name: str) -> ControllerSeries:
        """Create the series of controller `name` at zero and return them.

        ValueError if another controller has that name: they would share series.
        """
        if name in self._controllers:
            raise ValueError(f"controller {name!r} already exists")
        self._controllers.add(name)
        results = {
            result: self.controller_runtime_reconcile_total.labels(name, result)
            for result in RESULTS
        }
        return ControllerSeries(
            results=results,
            errors=self.controller_runtime_reconcile_errors_total.labels(name),
            terminal_errors=self.controller_runtime_terminal_reconcile_errors_total.labels(name),
            panics=self.controller_runtime_reconcile_panics_total.labels(name),
            timeouts=self.controller_runtime_reconcile_timeouts_total.labels(name),
            seconds=self.controller_runtime_reconcile_time_seconds.labels(name),
            active_workers=self.controller_runtime_active_workers.labels(name),
            max_concurrent=self.controller_runtime_max_concurrent_reconciles.labels(name),
        )

    def register_queue(self, name: str, readings: QueueReadings) -> QueueSeries:
        """Create the series of workqueue `name` at zero and return them."""
        both = {"name": name, "controller": name}
        unfinished = self.workqueue_unfinished_work_seconds.labels(**both)
        unfinished.set_function(readings.unfinished)
        longest = self.workqueue_longest_running_processor_seconds.labels(**both)
        longest.set_function(readings.longest)
        self.workqueue_longest_wait_seconds.labels(**both).set_function(readings.longest_wait)
        self.flows.register(name, readings.flows)
        return QueueSeries(
            depth=DepthSeries(self.workqueue_depth, name, readings.depth),
            adds=self.workqueue_adds_total.labels(name, name),
            retries=self.workqueue_retries_total.labels(name, name),
            queue_seconds=self.workqueue_queue_duration_seconds.labels(name, name),
            work_seconds=self.workqueue_work_duration_seconds.labels(name, name),
        )

    def register_informer(self, resource: str) -> None:
        """Create the series of one informer at zero; `resource` is the plural name.

        The series of relists are created later: their reasons are not known in advance.
        """
        self.informer_objects.labels(resource)
        self.informer_last_event_age_seconds.labels(resource)
        self.informer_store_resource_version.labels(resource)
        for kind in WATCH_EVENT_TYPES:
            self.watch_events_total.labels(resource=resource, type=kind)

    def register_apply(self, resource: str) -> Mapping[str, Counter]:
        """Create the apply series of one resource (plural name) at zero; return them by outcome."""
        return {
            outcome: self.apply_total.labels(resource=resource, outcome=outcome)
            for outcome in APPLY_OUTCOMES
        }

    def _add_controller_families(self) -> None:
        by_name = ("controller",)
        self.controller_runtime_reconcile_total = self._fast_counter(
            "controller_runtime_reconcile_total",
            "Reconciliations per controller and result.",
            ("controller", "result"),
        )
        self.controller_runtime_reconcile_errors_total = self.counter(
            "controller_runtime_reconcile_errors_total",
            "Reconciliations that ended in an error, terminal ones included.",
            by_name,
        )
        self.controller_runtime_terminal_reconcile_errors_total = self.counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Reconciliations that ended in an error which is not retried.",
            by_name,
        )
        self.controller_runtime_reconcile_panics_total = self.counter(
            "controller_runtime_reconcile_panics_total",
            "Reconciliations that ended in a panic.",
            by_name,
        )
        self.controller_runtime_reconcile_timeouts_total = self.counter(
            "controller_runtime_reconcile_timeouts_total",
            "Reconciliations that exceeded the deadline of the controller.",
            by_name,
        )
        self.reconcile_error_classes_total = self.counter(
            "reconcile_error_classes_total",
            "Failed reconciliations by the class of the error.",
            ("controller", "error"),
        )
        self.controller_runtime_reconcile_time_seconds = self._fast_histogram(
            "controller_runtime_reconcile_time_seconds",
            "Duration of a reconciliation.",
            by_name,
            RECONCILE_BUCKETS,
        )
        self.controller_runtime_max_concurrent_reconciles = self.gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers per controller.", by_name
        )
        self.controller_runtime_active_workers = self.gauge(
            "controller_runtime_active_workers", "Workers that process a key.", by_name
        )

    def _add_queue_families(self) -> None:
        both = ("name", "controller")
        self.workqueue_depth = self.gauge(
            "workqueue_depth", "Keys that wait for a worker.", (*both, "priority")
        )
        self.workqueue_adds_total = self._fast_counter(
            "workqueue_adds_total", "Keys added to the queue.", both
        )
        self.workqueue_queue_duration_seconds = self._fast_histogram(
            "workqueue_queue_duration_seconds", "Time before processing.", both, QUEUE_BUCKETS
        )
        self.workqueue_work_duration_seconds = self._fast_histogram(
            "workqueue_work_duration_seconds", "Time of processing.", both, QUEUE_BUCKETS
        )
        self.workqueue_unfinished_work_seconds = self.gauge(
            "workqueue_unfinished_work_seconds", "Sum of the ages of all running work.", both
        )
        self.workqueue_longest_running_processor_seconds = self.gauge(
            "workqueue_longest_running_processor_seconds", "Age of the longest running work.", both
        )
        self.workqueue_longest_wait_seconds = self.gauge(
            "workqueue_longest_wait_seconds", "Age of the oldest waiting key.", both
        )
        self.flows = FlowFamilies(self.gauge)
        self.workqueue_retries_total = self._fast_counter(
            "workqueue_retries_total", "Keys added with a delay.", both
        )

    def _request_families(self) -> RequestFamilies:
        by_verb = ("verb", "host")
        return RequestFamilies(
            self.histogram(
                "rest_client_request_duration_seconds",
                "Duration of a request to the API server.",
                by_verb,
                REQUEST_BUCKETS,
            ),
            self.histogram(
                "rest_client_request_size_bytes", "Size of request bodies.", by_verb, SIZE_BUCKETS
            ),
            self.histogram(
                "rest_client_response_size_bytes", "Size of response bodies.", by_verb, SIZE_BUCKETS
            ),
            self.counter(
                "rest_client_request_retries_total",
                "Retried requests, by the status code of the attempt before.",
                ("code", *by_verb),
            ),
        )

    def _add_informer_families(self) -> None:
        by_resource = ("resource",)
        self.informer_objects = self.gauge(
            "informer_objects", "Objects in the store of an informer.", by_resource
        )
        self.informer_relists_total = self.counter(
            "informer_relists_total", "Full lists of an informer.", (*by_resource, "reason")
        )
        self.informer_last_event_age_seconds = self.gauge(
            "informer_last_event_age_seconds",
            "Time since the last event of the watch, including bookmarks.",
            by_resource,
        )
        self.informer_store_resource_version = self.gauge(
            "informer_store_resource_version",
            "resourceVersion of the store of an informer; comparable within a resource.",
            by_resource,
        )
        self.watch_events_total = self.counter(
            "watch_events_total", "Events received on watches.", (*by_resource, "type")
        )
