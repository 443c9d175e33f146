"""Gauges that show how the flows of a workqueue share its workers.

Uses prometheus_client through a factory. Created by runtime.metrics.metrics, computed by
runtime.controller.flows at each scrape. controller-runtime has no such families.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

from prometheus_client import Gauge

MakeGauge = Callable[[str, str, Sequence[str]], Gauge]


class FlowReadings(NamedTuple):
    """The state of the flows of one queue; flows are no label, because labels must be bounded."""

    flows: int
    """Flows with a key that waits or is processed."""
    at_limit: int
    """Flows whose keys wait only because the flow may hold no further worker."""
    most_waiting: int
    """Largest number of waiting keys of one flow."""
    seats_max: int
    """Largest number of workers of one flow."""


class FlowFamilies:
    """The gauges by queue; every attribute has the name of its family."""

    def __init__(self, gauge: MakeGauge) -> None:
        both = ("name", "controller")
        self.workqueue_flows = gauge(
            "workqueue_flows", "Flows (namespaces) with a key that waits or is processed.", both
        )
        self.workqueue_flows_at_limit = gauge(
            "workqueue_flows_at_limit",
            "Flows whose keys wait because they use all workers that a flow may use.",
            both,
        )
        self.workqueue_flow_waiting_max = gauge(
            "workqueue_flow_waiting_max", "Largest number of waiting keys of one flow.", both
        )
        self.workqueue_flow_seats_max = gauge(
            "workqueue_flow_seats_max", "Largest number of workers of one flow.", both
        )

    def register(self, name: str, read: Callable[[], FlowReadings]) -> None:
        """Create the series of one queue, which are read at each scrape."""
        for family, part in (
            (self.workqueue_flows, "flows"),
            (self.workqueue_flows_at_limit, "at_limit"),
            (self.workqueue_flow_waiting_max, "most_waiting"),
            (self.workqueue_flow_seats_max, "seats_max"),
        ):
            family.labels(name, name).set_function(_reading(read, part))


def _reading(read: Callable[[], FlowReadings], part: str) -> Callable[[], float]:
    pick: Callable[[FlowReadings], float] = attrgetter(part)
    return lambda: pick(read())
