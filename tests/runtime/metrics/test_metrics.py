"""The families that dashboards expect: names, types, labels, buckets, and zeros at the start."""

import os
import re
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from runtime.metrics.families import FastCounterFamily, FastHistogramFamily
from runtime.metrics.flow_metrics import FlowReadings
from runtime.metrics.metrics import Metrics, QueueReadings
from runtime.types import ObjectKey

FOREIGN = {
    "process_cpu_seconds_total": "counter",
    "process_resident_memory_bytes": "gauge",
    "python_gc_collections_total": "counter",
    "python_info": "gauge",
}
GOLDEN = Path(__file__).parents[2] / "golden" / "metrics.txt"


@pytest.fixture
def metrics() -> Metrics:
    """All families, and every series whose labels are known at the start of a process."""
    metrics = Metrics(request_details=True)
    metrics.register_controller("shop")
    flows = FlowReadings(flows=3, at_limit=1, most_waiting=9, seats_max=4)
    readings = QueueReadings({0: 2}, lambda: 7.0, lambda: 3.0, lambda: 2.0, lambda: flows)
    metrics.register_queue("shop", readings).depth.show(0)
    metrics.register_informer("secrets")
    metrics.register_apply("secrets")
    return metrics


def exposition(metrics: Metrics) -> list[str]:
    return generate_latest(metrics.registry).decode().splitlines()


def test_t30_the_exposition_is_the_golden_one(metrics: Metrics) -> None:
    """UPDATE_GOLDEN=1 rewrites it; read the difference before you commit it.

    It also contains the labels of families whose series are created by their first increment.
    """
    metrics.informer_relists_total.labels("secrets", "start")
    metrics.reconcile_error_classes_total.labels("shop", "Conflict")
    metrics.leader_election_master_status.labels("lease")
    metrics.leader_election_slowpath_total.labels("lease")
    metrics.rest_client_requests_total.labels("<error>", "GET", "10.0.0.1:443")
    assert metrics.requests is not None
    metrics.requests.rest_client_request_duration_seconds.labels("GET", "10.0.0.1:443")
    metrics.requests.rest_client_request_size_bytes.labels("GET", "10.0.0.1:443")
    metrics.requests.rest_client_response_size_bytes.labels("GET", "10.0.0.1:443")
    metrics.requests.rest_client_request_retries_total.labels("429", "GET", "10.0.0.1:443")
    ours = "\n".join(
        line
        for line in exposition(metrics)
        if not re.match(r"(# HELP |# TYPE )?(process|python)_", line)
    )
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(ours + "\n", encoding="utf-8")
    assert ours + "\n" == GOLDEN.read_text(encoding="utf-8")


def test_t30_families_of_the_library_have_the_names_and_types_of_dashboards(
    metrics: Metrics,
) -> None:
    types = dict(line.split()[2:] for line in exposition(metrics) if line.startswith("# TYPE"))
    assert {name: types.get(name) for name in FOREIGN} == FOREIGN


def test_t30_no_created_series_and_no_optional_ones(metrics: Metrics) -> None:
    assert not [line for line in exposition(metrics) if "_created" in line]
    assert not [line for line in exposition(Metrics()) if "rest_client_request_" in line]


def bounds(metrics: Metrics, family: str) -> list[float]:
    lines = [line for line in exposition(metrics) if line.startswith(f"{family}_bucket")]
    return [float(line.split('le="')[1].split('"')[0]) for line in lines][:-1]


def test_t30_buckets_are_those_of_controller_runtime(metrics: Metrics) -> None:
    reconcile = bounds(metrics, "controller_runtime_reconcile_time_seconds")
    assert (len(reconcile), reconcile[0], reconcile[16], reconcile[-1]) == (40, 0.005, 0.9, 60.0)
    for family in ("workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"):
        assert bounds(metrics, family) == [10.0**n for n in range(-8, 4)]


def test_attributes_have_the_names_of_their_families(metrics: Metrics) -> None:
    own = re.findall(r"^# TYPE (\S+)", GOLDEN.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(own) > 30
    holders = (metrics, metrics.requests, metrics.flows)
    assert [name for name in own if not any(hasattr(holder, name) for holder in holders)] == []


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


def test_fast_series_have_the_exposition_of_the_library() -> None:
    """The same increments and observations, also at bounds, have the same exposition."""
    bounds = (0.001, 0.5, 1, 1e6)
    theirs, ours = Metrics(), Metrics()
    counter = theirs.counter("sales_total", "Sales.", ("town",)).labels('a"b')
    fast_counter = FastCounterFamily("sales_total", "Sales.", ("town",), ours.registry).labels(
        'a"b'
    )
    histogram = theirs.histogram("sale_seconds", "Length.", ("town",), bounds).labels("x")
    family = FastHistogramFamily("sale_seconds", "Length.", ("town",), bounds, ours.registry)
    fast_histogram = family.labels("x")
    for amount in (0.0, 0.001, 0.0011, 0.5, 1.0, 7.25, 1e6, 1e7):
        counter.inc()
        fast_counter.inc()
        histogram.observe(amount)
        fast_histogram.observe(amount)
    shown = [[line for line in exposition(m) if "sale" in line] for m in (theirs, ours)]
    assert shown[0] == shown[1]
    assert len(shown[0]) == 12


def test_the_series_of_an_object_are_removed_with_it(metrics: Metrics) -> None:
    gauge = metrics.object_gauge("shop_open", "1 while it is open.", ("door",))
    first, second = ObjectKey("ns", "a"), ObjectKey("ns", "b")
    for key in (first, second):
        gauge.set(key, 1, "front")
    gauge.set(first, 0, "back")
    gauge.set(first, 2, "front")

    def series() -> list[str]:
        return [line for line in exposition(metrics) if line.startswith("shop_open{")]

    assert series() == [
        'shop_open{door="front",name="a",namespace="ns"} 2.0',
        'shop_open{door="back",name="a",namespace="ns"} 0.0',
        'shop_open{door="front",name="b",namespace="ns"} 1.0',
    ]
    for _ in range(2):
        gauge.forget(first)
    assert series() == ['shop_open{door="front",name="b",namespace="ns"} 1.0']
    with pytest.raises(ValueError, match="shop_open"):
        gauge.set(first, 1)
    with pytest.raises(ValueError, match="shop_open"):
        metrics.object_gauge("shop_open", "Again.")
