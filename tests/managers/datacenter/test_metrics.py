"""managers.datacenter.metrics: the series about datacenters, and their lifetime."""

from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from managers.datacenter.metrics import DatacenterMetrics
from runtime.metrics.metrics import Metrics
from runtime.types import Object
from tests.gen.api import StillInformer

UNREGISTERED = dict.fromkeys(
    ("Failed", "Pending", "Provisioning", "Retired", "Retiring", "Running"), 0.0
)


def object_named(name: str, status: Any = None, version: int = 1) -> Object:
    """An object with a status; None for no status."""
    fields = {} if status is None else {"status": status}
    return {"metadata": {"name": name, "uid": name, "resourceVersion": str(version)}, **fields}


def ready(answer: str, **more: Any) -> Object:
    conditions = [{"type": "SourcesReady", "status": "True"}, {"type": "Ready", "status": answer}]
    return {"conditions": conditions, **more}


class Bench:
    """The metrics of caches that a test fills."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.datacenters, self.records = StillInformer(DATACENTERS), StillInformer(WORKLOADS)
        DatacenterMetrics(self.metrics, self.datacenters, self.records)

    def series(self, family: str) -> dict[str, float]:
        """The values of a family by their one label."""
        text = generate_latest(self.metrics.registry).decode()
        return {
            next(iter(sample.labels.values())): sample.value
            for series_family in text_string_to_metric_families(text)
            if series_family.name == f"openbao_datacenter_{family}"
            for sample in series_family.samples
        }


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_services_are_counted_by_state_and_every_state_has_a_series(bench: Bench) -> None:
    assert bench.series("services") == UNREGISTERED
    assert bench.series("ready") == bench.series("failed_services") == {}
    states = ("Running", "Running", "Failed", "Retiring")
    records = [object_named(f"fra1.{n}", {"state": state}) for n, state in enumerate(states)]
    bench.records.says(*records, object_named("fra1.new"))
    counted = {"Running": 2.0, "Failed": 1.0, "Retiring": 1.0, "Pending": 1.0}
    assert bench.series("services") == UNREGISTERED | counted


def test_each_existing_datacenter_has_two_series(bench: Bench) -> None:
    bench.datacenters.says(
        object_named("ams1", ready("Unknown")),
        object_named("fra1", ready("True", failed=0)),
        object_named("lon1", ready("False", failed=2)),
        object_named("new"),
    )
    assert bench.series("ready") == {"ams1": 0.0, "fra1": 1.0, "lon1": 0.0, "new": 0.0}
    assert bench.series("failed_services") == {"ams1": 0.0, "fra1": 0.0, "lon1": 2.0, "new": 0.0}
    bench.datacenters.says(object_named("fra1", ready("False", failed=1), version=2))
    assert bench.series("ready") == {"fra1": 0.0}
    assert bench.series("failed_services") == {"fra1": 1.0}


@pytest.mark.parametrize(
    "status", ["nonsense", [], {"conditions": "x", "failed": "many", "state": []}, {"state": "Odd"}]
)
def test_an_invalid_status_does_not_fail_a_scrape(bench: Bench, status: Any) -> None:
    bench.datacenters.says(object_named("fra1", status))
    bench.records.says(object_named("fra1.shipper", status))
    assert bench.series("ready") == bench.series("failed_services") == {"fra1": 0.0}
    assert bench.series("services") == {**UNREGISTERED, "Pending": 1.0}
