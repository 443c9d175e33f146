"""Reads the metrics, CPU time and memory of an operator process."""

import urllib.request
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

from e2e.harness.operator import Operator

LAG = "event_loop_lag_seconds"
QUEUE = "workqueue_queue_duration_seconds"
DEPTH = "workqueue_depth"
RECONCILES = "controller_runtime_reconcile_total"
LEADS = "leader_election_master_status"


@dataclass(frozen=True, slots=True)
class Reading:
    """State of one process at one time.

    `histograms`: cumulative counts by upper bound, of all label values together. `waiting`:
    seconds in which the main thread was ready to run and had no core. `depth`: the number of keys
    in the queues; `reconciles`: the number of reconciles by controller.
    """

    cpu: float
    resident: float
    histograms: Mapping[str, Mapping[float, float]]
    waiting: float = 0.0
    depth: float = 0.0
    leads: bool = False
    reconciles: Mapping[str, float] = field(default_factory=dict)


def read(operator: Operator, port: int) -> Reading:
    """Read the metrics and the process. Raises OSError when it does not respond."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        text = response.read().decode()
    buckets: dict[str, dict[float, float]] = {name: defaultdict(float) for name in (LAG, QUEUE)}
    depth, leads, reconciles = 0.0, False, defaultdict[str, float](float)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = sample.name.removesuffix("_bucket")
            if name in buckets and name != sample.name:
                buckets[name][float(sample.labels["le"])] += sample.value
            elif sample.name == DEPTH:
                depth += sample.value
            elif sample.name == LEADS:
                leads = leads or sample.value == 1
            elif sample.name == RECONCILES:
                reconciles[sample.labels["controller"]] += sample.value
    return Reading(
        operator.processor_seconds(),
        operator.resident_megabytes(),
        buckets,
        operator.waiting_seconds(),
        depth,
        leads,
        reconciles,
    )


def between(before: Reading, after: Reading, name: str) -> dict[float, float]:
    """Return the increase of a histogram between two readings of one process."""
    earlier = before.histograms[name]
    return {
        bound: count - earlier.get(bound, 0.0) for bound, count in after.histograms[name].items()
    }
