"""Prometheus metrics of datacenters.

All values are read from the caches at each scrape, so the metrics of a deleted datacenter
disappear. Only the leader exports them. Labels are names of datacenters and values of a fixed set:
two series per datacenter, and one per state in total. docs/datacenters.md lists the metrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from managers.datacenter.lifecycle.state_machine import PENDING, STATES
from runtime.cache.cache import Cache
from runtime.metrics.families import Reading
from runtime.metrics.metrics import Metrics
from runtime.types import Object, key_of

SERVICES: Final = "openbao_datacenter_services"
READY: Final = "openbao_datacenter_ready"
FAILED: Final = "openbao_datacenter_failed_services"


class DatacenterMetrics:
    """The metrics of all datacenters that this process manages."""

    def __init__(self, metrics: Metrics, datacenters: Cache, workloads: Cache) -> None:
        self._datacenters, self._workloads = datacenters, workloads
        for name, meaning, label, read in (
            (SERVICES, "Services of all datacenters by state.", "state", self._states),
            (READY, "1 while every service of the datacenter runs, else 0.", "name", self._ready),
            (FAILED, "Services whose last attempt failed.", "name", self._failed),
        ):
            metrics.read_gauge(name, meaning, (label,), read)

    def _states(self) -> Iterator[Reading]:
        counts = Counter(
            _state(_map(workload.get("status"))) for workload in self._workloads.list()
        )
        yield from (((state,), float(counts[state])) for state in STATES)

    def _ready(self) -> Iterator[Reading]:
        for name, status in self._statuses():
            value = status.get("conditions")
            conditions = value if isinstance(value, list) else []
            ready = any(_is_ready(condition) for condition in conditions)
            yield (name,), float(ready)

    def _failed(self) -> Iterator[Reading]:
        for name, status in self._statuses():
            failed = status.get("failed")
            yield (name,), float(failed) if isinstance(failed, int) else 0.0

    def _statuses(self) -> Iterator[tuple[str, Object]]:
        for datacenter in self._datacenters.list():
            yield key_of(datacenter).name, _map(datacenter.get("status"))


def _map(value: Any) -> Object:
    """Return a mapping; a malformed status must not fail a scrape."""
    return value if isinstance(value, dict) else {}


def _state(status: Object) -> str:
    """Return the state of a workload; Pending if the status has no valid state."""
    return next((state for state in STATES if state == status.get("state")), PENDING)


def _is_ready(condition: Any) -> bool:
    return _map(condition).get("type") == "Ready" and _map(condition).get("status") == "True"
