"""The Prometheus families of one process, in a registry of their own.

May use prometheus_client only. The client, the informers, the workqueues, the controllers, the
leader elector and the manager count here; runtime.health serves the registry under /metrics;
the application adds families of its own through `counter`, `gauge` and `histogram`.

Names, labels and buckets are those of controller-runtime v0.25 and client-go, so that dashboards
and alerts written for them work unchanged. Every attribute bears the name of its family.
Series whose labels are known at start are created at zero, because `rate()` and `absent()` both
go wrong on a series that is born with its first increment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

from runtime.applied import Verdict

# fmt: off
RECONCILE_BUCKETS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50,
    60,
)
QUEUE_BUCKETS: Final = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)
LAG_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# fmt: on

RESULTS: Final = ("success", "error", "requeue", "requeue_after")
APPLY_OUTCOMES: Final = tuple(verdict.value for verdict in Verdict)
WATCH_EVENT_TYPES: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")


@dataclass(frozen=True, slots=True)
class ControllerSeries:
    """The series of one controller, looked up once: a label look-up costs more than an increment.

    `results` maps each of RESULTS to its counter of controller_runtime_reconcile_total.
    """

    results: dict[str, Counter]
    errors: Counter
    terminal_errors: Counter
    panics: Counter
    timeouts: Counter
    seconds: Histogram
    active_workers: Gauge
    max_concurrent: Gauge


@dataclass(frozen=True, slots=True)
class QueueSeries:
    """The series of one workqueue; `depth` counts ready items only, never delayed ones."""

    depth: Gauge
    adds: Counter
    retries: Counter
    queue_seconds: Histogram
    work_seconds: Histogram
    unfinished_seconds: Gauge
    longest_seconds: Gauge


class Metrics:
    """All families of the runtime, plus whatever the application adds.

    One instance per process (per test): nothing is registered with the library's global registry.
    """

    def __init__(self) -> None:
        # Go clients send no `_created` series, and each would double the cost of a counter.
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
            "HTTP requests to the API server by status code ('<error>': no answer), method, host.",
            ("code", "method", "host"),
        )
        self.leader_election_master_status = self.gauge(
            "leader_election_master_status", "1 while this process holds the lease.", ("name",)
        )
        self.apply_total = self.counter(
            "apply_total", "Owned applies by what became of them.", ("resource", "outcome")
        )
        self.event_loop_lag_seconds = self.histogram(
            "event_loop_lag_seconds",
            "How late a timer of the event loop fired: the time a callback held the loop.",
            (),
            LAG_BUCKETS,
        )

    def counter(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Counter:
        """Add a counter family; `name` ends in `_total`. ValueError if the name is taken."""
        return Counter(name, help_text, labels, registry=self.registry)

    def gauge(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Gauge:
        """Add a gauge family. ValueError if the name is taken."""
        return Gauge(name, help_text, labels, registry=self.registry)

    def histogram(
        self, name: str, help_text: str, labels: Sequence[str], buckets: Sequence[float]
    ) -> Histogram:
        """Add a histogram family; `buckets` are upper bounds, `+Inf` is added by the library."""
        return Histogram(name, help_text, labels, registry=self.registry, buckets=buckets)

    def register_controller(self, name: str) -> ControllerSeries:
        """Create the series of controller `name` at zero and return them.

        ValueError if another controller bears that name: their series would run together.
        """
        if name in self._controllers:
            raise ValueError(f"there is a controller named {name!r} already")
        self._controllers.add(name)
        results = {
            result: self.controller_runtime_reconcile_total.labels(controller=name, result=result)
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

    def register_queue(
        self, name: str, unfinished: Callable[[], float], longest: Callable[[], float]
    ) -> QueueSeries:
        """Create the series of workqueue `name` at zero and return them.

        `unfinished` and `longest` answer in seconds and are asked at each scrape; client-go
        refreshes the same two gauges every 500 ms, which costs a timer and tells less.
        """
        both = {"name": name, "controller": name}
        series = QueueSeries(
            depth=self.workqueue_depth.labels(**both, priority=""),
            adds=self.workqueue_adds_total.labels(**both),
            retries=self.workqueue_retries_total.labels(**both),
            queue_seconds=self.workqueue_queue_duration_seconds.labels(**both),
            work_seconds=self.workqueue_work_duration_seconds.labels(**both),
            unfinished_seconds=self.workqueue_unfinished_work_seconds.labels(**both),
            longest_seconds=self.workqueue_longest_running_processor_seconds.labels(**both),
        )
        series.unfinished_seconds.set_function(unfinished)
        series.longest_seconds.set_function(longest)
        return series

    def register_informer(self, resource: str) -> None:
        """Create the series of one informer at zero; `resource` is the plural name.

        Relists are left out: their reasons are the reflector's own words.
        """
        self.informer_objects.labels(resource)
        self.informer_last_event_age_seconds.labels(resource)
        for kind in WATCH_EVENT_TYPES:
            self.watch_events_total.labels(resource=resource, type=kind)

    def register_apply(self, resource: str) -> None:
        """Create the apply series of one resource (plural name) at zero."""
        for outcome in APPLY_OUTCOMES:
            self.apply_total.labels(resource=resource, outcome=outcome)

    def _add_controller_families(self) -> None:
        by_name = ("controller",)
        self.controller_runtime_reconcile_total = self.counter(
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
            "Reconciliations that left with something that is no ordinary exception.",
            by_name,
        )
        self.controller_runtime_reconcile_timeouts_total = self.counter(
            "controller_runtime_reconcile_timeouts_total",
            "Reconciliations that ran into the controller's own deadline.",
            by_name,
        )
        self.reconcile_error_classes_total = self.counter(
            "reconcile_error_classes_total",
            "Failed reconciliations by the class of the error.",
            ("controller", "error"),
        )
        self.controller_runtime_reconcile_time_seconds = self.histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of a reconciliation.",
            by_name,
            RECONCILE_BUCKETS,
        )
        self.controller_runtime_max_concurrent_reconciles = self.gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers per controller.", by_name
        )
        self.controller_runtime_active_workers = self.gauge(
            "controller_runtime_active_workers", "Workers with a key in hand.", by_name
        )

    def _add_queue_families(self) -> None:
        both = ("name", "controller")
        self.workqueue_depth = self.gauge(
            "workqueue_depth", "Keys that are ready to be taken.", (*both, "priority")
        )
        self.workqueue_adds_total = self.counter(
            "workqueue_adds_total", "Keys that became ready.", both
        )
        self.workqueue_queue_duration_seconds = self.histogram(
            "workqueue_queue_duration_seconds", "From ready to taken.", both, QUEUE_BUCKETS
        )
        self.workqueue_work_duration_seconds = self.histogram(
            "workqueue_work_duration_seconds", "From taken to done.", both, QUEUE_BUCKETS
        )
        self.workqueue_unfinished_work_seconds = self.gauge(
            "workqueue_unfinished_work_seconds", "Sum of the ages of all keys in hand.", both
        )
        self.workqueue_longest_running_processor_seconds = self.gauge(
            "workqueue_longest_running_processor_seconds", "Age of the oldest key in hand.", both
        )
        self.workqueue_retries_total = self.counter(
            "workqueue_retries_total", "Adds that asked for a delay.", both
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
            "Time since the server last sent anything on the watch, bookmarks included.",
            by_resource,
        )
        self.watch_events_total = self.counter(
            "watch_events_total", "Frames received on watches.", (*by_resource, "type")
        )
