"""The families as dashboards expect them: names, types, labels, buckets, and zeros at start."""

import pytest
from prometheus_client import generate_latest

from runtime.metrics import Metrics

FAMILIES = {
    "apply_total": "counter",
    "controller_runtime_active_workers": "gauge",
    "controller_runtime_max_concurrent_reconciles": "gauge",
    "controller_runtime_reconcile_errors_total": "counter",
    "controller_runtime_reconcile_panics_total": "counter",
    "controller_runtime_reconcile_time_seconds": "histogram",
    "controller_runtime_reconcile_timeouts_total": "counter",
    "controller_runtime_reconcile_total": "counter",
    "controller_runtime_terminal_reconcile_errors_total": "counter",
    "event_loop_lag_seconds": "histogram",
    "informer_last_event_age_seconds": "gauge",
    "informer_objects": "gauge",
    "informer_relists_total": "counter",
    "leader_election_master_status": "gauge",
    "process_cpu_seconds_total": "counter",
    "process_resident_memory_bytes": "gauge",
    "python_gc_collections_total": "counter",
    "python_info": "gauge",
    "reconcile_error_classes_total": "counter",
    "rest_client_requests_total": "counter",
    "watch_events_total": "counter",
    "workqueue_adds_total": "counter",
    "workqueue_depth": "gauge",
    "workqueue_longest_running_processor_seconds": "gauge",
    "workqueue_queue_duration_seconds": "histogram",
    "workqueue_retries_total": "counter",
    "workqueue_unfinished_work_seconds": "gauge",
    "workqueue_work_duration_seconds": "histogram",
}

AT_START = """\
apply_total{outcome="created",resource="secrets"} 0.0
apply_total{outcome="foreign",resource="secrets"} 0.0
apply_total{outcome="rejected",resource="secrets"} 0.0
apply_total{outcome="skipped",resource="secrets"} 0.0
apply_total{outcome="terminating",resource="secrets"} 0.0
apply_total{outcome="updated",resource="secrets"} 0.0
controller_runtime_active_workers{controller="shop"} 0.0
controller_runtime_max_concurrent_reconciles{controller="shop"} 0.0
controller_runtime_reconcile_errors_total{controller="shop"} 0.0
controller_runtime_reconcile_panics_total{controller="shop"} 0.0
controller_runtime_reconcile_time_seconds_count{controller="shop"} 0.0
controller_runtime_reconcile_time_seconds_sum{controller="shop"} 0.0
controller_runtime_reconcile_timeouts_total{controller="shop"} 0.0
controller_runtime_reconcile_total{controller="shop",result="error"} 0.0
controller_runtime_reconcile_total{controller="shop",result="requeue"} 0.0
controller_runtime_reconcile_total{controller="shop",result="requeue_after"} 0.0
controller_runtime_reconcile_total{controller="shop",result="success"} 0.0
controller_runtime_terminal_reconcile_errors_total{controller="shop"} 0.0
event_loop_lag_seconds_count 0.0
event_loop_lag_seconds_sum 0.0
informer_last_event_age_seconds{resource="secrets"} 0.0
informer_objects{resource="secrets"} 0.0
watch_events_total{resource="secrets",type="ADDED"} 0.0
watch_events_total{resource="secrets",type="BOOKMARK"} 0.0
watch_events_total{resource="secrets",type="DELETED"} 0.0
watch_events_total{resource="secrets",type="ERROR"} 0.0
watch_events_total{resource="secrets",type="MODIFIED"} 0.0
workqueue_adds_total{controller="shop",name="shop"} 0.0
workqueue_depth{controller="shop",name="shop",priority=""} 0.0
workqueue_longest_running_processor_seconds{controller="shop",name="shop"} 3.0
workqueue_queue_duration_seconds_count{controller="shop",name="shop"} 0.0
workqueue_queue_duration_seconds_sum{controller="shop",name="shop"} 0.0
workqueue_retries_total{controller="shop",name="shop"} 0.0
workqueue_unfinished_work_seconds{controller="shop",name="shop"} 7.0
workqueue_work_duration_seconds_count{controller="shop",name="shop"} 0.0
workqueue_work_duration_seconds_sum{controller="shop",name="shop"} 0.0
"""


@pytest.fixture
def metrics() -> Metrics:
    metrics = Metrics()
    metrics.register_controller("shop")
    metrics.register_queue("shop", lambda: 7.0, lambda: 3.0)
    metrics.register_informer("secrets")
    metrics.register_apply("secrets")
    return metrics


def exposition(metrics: Metrics) -> list[str]:
    return generate_latest(metrics.registry).decode().splitlines()


def test_families_have_the_names_and_types_that_dashboards_know(metrics: Metrics) -> None:
    types = dict(line.split()[2:] for line in exposition(metrics) if line.startswith("# TYPE"))
    assert {name: types.get(name) for name in FAMILIES} == FAMILIES


def test_every_series_whose_labels_are_known_exists_at_zero(metrics: Metrics) -> None:
    ours = sorted(
        line
        for line in exposition(metrics)
        if not line.startswith(("#", "process_", "python_")) and "_bucket{" not in line
    )
    assert "\n".join(ours) + "\n" == AT_START


def test_no_created_series(metrics: Metrics) -> None:
    assert not [line for line in exposition(metrics) if "_created" in line]


def bounds(metrics: Metrics, family: str) -> list[float]:
    lines = [line for line in exposition(metrics) if line.startswith(f"{family}_bucket")]
    return [float(line.split('le="')[1].split('"')[0]) for line in lines][:-1]


def test_buckets_are_those_of_controller_runtime(metrics: Metrics) -> None:
    reconcile = bounds(metrics, "controller_runtime_reconcile_time_seconds")
    assert (len(reconcile), reconcile[0], reconcile[16], reconcile[-1]) == (40, 0.005, 0.9, 60.0)
    for family in ("workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"):
        assert bounds(metrics, family) == [10.0**n for n in range(-8, 4)]


def test_attributes_bear_the_names_of_their_families(metrics: Metrics) -> None:
    own = [name for name in FAMILIES if not name.startswith(("process_", "python_"))]
    assert [name for name in own if not hasattr(metrics, name)] == []


def test_the_application_adds_families_to_the_same_registry(metrics: Metrics) -> None:
    metrics.gauge("shops_open", "Open shops.", ("town",)).labels("berlin").set(3)
    metrics.counter("sales_total", "Sales.").inc()
    metrics.histogram("sale_seconds", "Length of a sale.", (), (1.0, 2.0)).observe(1.5)
    text = exposition(metrics)
    assert 'shops_open{town="berlin"} 3.0' in text
    assert "sales_total 1.0" in text
    assert 'sale_seconds_bucket{le="2.0"} 1.0' in text
    with pytest.raises(ValueError, match="shops_open"):
        metrics.gauge("shops_open", "Again.")


def test_two_instances_share_nothing(metrics: Metrics) -> None:
    metrics.rest_client_requests_total.labels(code="200", method="GET", host="h").inc()
    assert not [line for line in exposition(Metrics()) if line.startswith("rest_client_requests_t")]
