"""The Prometheus families of blue/green upgrades.

Part of managers.upgrade.metrics: gauges are read from the status at each scrape, counters are
updated once per write of the status, and no series outlives its cluster. A cluster without a
blue/green upgrade has none of these series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, get_args

from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import BlueGreenPhase, BlueGreenStatus
from managers.upgrade.bluegreen.events import failed_jobs, rolled_back
from runtime.metrics.families import Reading
from runtime.metrics.metrics import Metrics
from runtime.types import ObjectKey

PHASE: Final = "openbao_upgrade_bluegreen_phase"
BREAK_GLASS: Final = "openbao_upgrade_break_glass_active"
JOB_FAILURES: Final = "openbao_upgrade_bluegreen_job_failures_total"
ROLLBACKS: Final = "openbao_upgrade_bluegreen_rollbacks_total"

_ABOUT: Final = ("namespace", "name")
_PHASES: Final[tuple[str, ...]] = get_args(BlueGreenPhase)
_NONE = BlueGreenStatus()


@dataclass(frozen=True, slots=True)
class BlueGreenState:
    """What the gauges report of one cluster."""

    phase: str | None = None
    """None without a blue/green upgrade."""
    break_glass: bool | None = None
    """None for a cluster that never had a blue/green upgrade."""


def state_of(status: ClusterStatus) -> BlueGreenState:
    """Return what the gauges report of a status."""
    phase = status.blue_green.phase if status.blue_green is not None else None
    if status.blue_green is None and status.break_glass is None:
        return BlueGreenState(phase)
    return BlueGreenState(phase, status.break_glass is not None and status.break_glass.active)


States = Callable[[], Iterable[tuple[ObjectKey, BlueGreenState]]]


class BlueGreenMetrics:
    """The families of all clusters that this process reconciles."""

    def __init__(self, metrics: Metrics, states: States) -> None:
        """`states` yields the state of each cluster on the leader, and nothing on a standby."""
        self._states = states
        metrics.read_gauge(
            PHASE,
            "1 for the current phase of a blue/green upgrade, 0 for the others.",
            (*_ABOUT, "phase"),
            self._phases,
        )
        metrics.read_gauge(
            BREAK_GLASS,
            "1 while a rollback failed and the operator waits for a user, else 0.",
            _ABOUT,
            self._break_glass_readings,
        )
        self._failures = metrics.object_counter(
            JOB_FAILURES, "Jobs of blue/green upgrades that failed and were retried."
        )
        self._rollbacks = metrics.object_counter(
            ROLLBACKS, "Blue/green upgrades that were rolled back after green servers existed."
        )

    def changed(self, key: ObjectKey, before: ClusterStatus, after: ClusterStatus) -> None:
        """Count the changes of a status; call it once per write."""
        if after.blue_green is None:
            return
        old = before.blue_green or _NONE
        self._failures.start(key)
        self._rollbacks.start(key)
        for _ in range(failed_jobs(old, after.blue_green)):
            self._failures.inc(key)
        if rolled_back(old, after.blue_green):
            self._rollbacks.inc(key)

    def forget(self, key: ObjectKey) -> None:
        """Drop the series of a deleted cluster."""
        self._failures.forget(key)
        self._rollbacks.forget(key)

    def _phases(self) -> Iterator[Reading]:
        for key, state in self._states():
            for phase in _PHASES if state.phase is not None else ():
                yield (*key, phase), float(state.phase == phase)

    def _break_glass_readings(self) -> Iterator[Reading]:
        for key, state in self._states():
            if state.break_glass is not None:
                yield (*key,), float(state.break_glass)
