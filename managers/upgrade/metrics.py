"""The Prometheus families of upgrades.

The gauges are read from the status of each cluster at each scrape, so no series outlives its
cluster; the other families are updated once per write of a status. Only the leader reports them.
Names are those of the public operator; docs/upgrade-metrics.md lists them, and a test compares.
managers.upgrade.bluegreen.metrics has the part that only blue/green upgrades need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.records.upgrade import blue_green_under_way, upgrade_under_way
from managers.upgrade.bluegreen.metrics import BlueGreenMetrics, BlueGreenState, state_of
from managers.upgrade.condition import KIND
from managers.upgrade.events import completed
from runtime.cache.cache import Lister
from runtime.cache.projection import Projection
from runtime.metrics.metrics import Metrics
from runtime.types import Object, ObjectKey

ABOUT: Final = ("namespace", "name")
NONE, RUNNING, SUCCESS, FAILURE = 0.0, 1.0, 2.0, 3.0
DURATIONS: Final = (60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0)
POD_DURATIONS: Final = (10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
STEP_DOWN_FAILURES: Final = frozenset({"StepDownFailed", "StepDownTimeout"})
VERSION_PAIRS_MAX: Final = 16
"""Pairs of versions per cluster that get their own series: users choose the label values."""
OTHER: Final = "other"

_ENDED: Final = {"Idle": SUCCESS, "UpgradeRollback": FAILURE, "PreUpgradeBackupFailed": FAILURE}
"""The result of an upgrade by the reason of the condition: the rest of the status lacks it."""

Read = Callable[[ClusterStatus, int], float]


def _state(status: ClusterStatus, _: int) -> float:
    upgrade = status.upgrade
    if upgrade is not None:
        return RUNNING if upgrade.failure is None else FAILURE
    if status.break_glass is not None and status.break_glass.active:
        return FAILURE
    if blue_green_under_way(status.blue_green):
        return RUNNING
    upgrading = next((condition for condition in status.conditions if condition.type == KIND), None)
    return NONE if upgrading is None else _ENDED.get(upgrading.reason, NONE)


def _in_progress(status: ClusterStatus, _: int) -> float:
    return float(upgrade_under_way(status))


def _completed(status: ClusterStatus, _: int) -> float:
    return float(len(status.upgrade.completed_pods)) if status.upgrade else 0.0


def _total(status: ClusterStatus, replicas: int) -> float:
    return float(replicas) if status.upgrade else 0.0


def _partition(status: ClusterStatus, _: int) -> float:
    return float(status.upgrade.current_partition) if status.upgrade else 0.0


GAUGES: Final[tuple[tuple[str, str, Read], ...]] = (
    (
        "openbao_upgrade_status",
        "0 before the first upgrade, 1 while one runs, 2 after the last one succeeded, 3 after it "
        "failed.",
        _state,
    ),
    ("openbao_upgrade_in_progress", "1 while an upgrade runs, else 0.", _in_progress),
    ("openbao_upgrade_pods_completed", "Servers that run the new release.", _completed),
    ("openbao_upgrade_pods_total", "Servers that an upgrade replaces; 0 without one.", _total),
    (
        "openbao_upgrade_partition",
        "Lowest ordinal that may run the new release; 0 without an upgrade.",
        _partition,
    ),
)
DURATION: Final = "openbao_upgrade_duration_seconds"
POD_DURATION: Final = "openbao_upgrade_pod_duration_seconds"
STEP_DOWNS: Final = "openbao_upgrade_stepdown_total"
FAILED_STEP_DOWNS: Final = "openbao_upgrade_stepdown_failures_total"


@dataclass(frozen=True, slots=True)
class _Readings:
    """What the gauges report of one cluster."""

    gauges: tuple[float, ...]
    """In the order of GAUGES."""
    blue_green: BlueGreenState


class UpgradeMetrics:
    """The families of all clusters that this process reconciles."""

    def __init__(self, metrics: Metrics, clusters: Lister) -> None:
        self._readings = Projection(clusters, _read)
        self._pairs: dict[ObjectKey, set[tuple[str, str]]] = {}
        self._blue_green = BlueGreenMetrics(metrics, self._blue_green_states)
        for number, (name, meaning, _) in enumerate(GAUGES):
            of_number = partial(_gauge, number)
            metrics.read_gauge(name, meaning, ABOUT, self._readings.gauge(of_number))
        self._durations = metrics.object_histogram(
            DURATION,
            "Duration of an upgrade in seconds.",
            DURATIONS,
            ("from_version", "to_version"),
        )
        self._pods = metrics.object_histogram(
            POD_DURATION,
            "Seconds that an upgrade took to replace one server.",
            POD_DURATIONS,
            ("ordinal",),
        )
        self._step_downs = metrics.object_counter(
            STEP_DOWNS, "Leaders that were asked to step down for an upgrade."
        )
        self._failed = metrics.object_counter(
            FAILED_STEP_DOWNS, "Leaders that did not step down when an upgrade asked them."
        )

    def changed(
        self, key: ObjectKey, before: ClusterStatus, after: ClusterStatus, now: datetime
    ) -> None:
        """Count the changes of a status; call it once per write."""
        self._blue_green.changed(key, before, after)
        old, new = before.upgrade, after.upgrade
        if old is None and new is None:
            return
        self._step_downs.start(key)
        self._failed.start(key)
        if new is None and old is not None:
            self._count_end(key, old, after, now)
        if new is not None:
            self._count_progress(key, old, new, now)

    def forget(self, key: ObjectKey) -> None:
        """Drop the series of a deleted cluster."""
        self._pairs.pop(key, None)
        self._blue_green.forget(key)
        for family in (self._durations, self._pods, self._step_downs, self._failed):
            family.forget(key)

    def _count_end(
        self, key: ObjectKey, old: UpgradeStatus, after: ClusterStatus, now: datetime
    ) -> None:
        if not completed(old, after):
            return
        # The write that completes an upgrade also completes its last server.
        last = tuple(n for n in range(after.replicas) if n not in old.completed_pods)
        self._observe_pods(key, last, old.step_started_at, now)
        if old.started_at is not None:
            pair = self._pair(key, (old.from_version, old.target_version))
            self._durations.observe(key, _seconds(old.started_at, now), *pair)

    def _count_progress(
        self, key: ObjectKey, old: UpgradeStatus | None, new: UpgradeStatus, now: datetime
    ) -> None:
        old = old or UpgradeStatus(target_version="", from_version="")
        if new.step_down_job and new.step_down_job != old.step_down_job:
            self._step_downs.inc(key)
        failure = new.failure
        if failure is not None and old.failure is None and failure.reason in STEP_DOWN_FAILURES:
            self._failed.inc(key)
        if new.id == old.id:
            completed_pods = tuple(n for n in new.completed_pods if n not in old.completed_pods)
            self._observe_pods(key, completed_pods, old.step_started_at, now)

    def _observe_pods(
        self, key: ObjectKey, ordinals: tuple[int, ...], since: datetime | None, now: datetime
    ) -> None:
        if since is None:
            # A pause cleared the start time: the duration is unknown.
            return
        for ordinal in ordinals:
            self._pods.observe(key, _seconds(since, now), str(ordinal))

    def _pair(self, key: ObjectKey, pair: tuple[str, str]) -> tuple[str, str]:
        pairs = self._pairs.setdefault(key, set())
        if pair not in pairs and len(pairs) >= VERSION_PAIRS_MAX:
            return OTHER, OTHER
        pairs.add(pair)
        return pair

    def _blue_green_states(self) -> Iterator[tuple[ObjectKey, BlueGreenState]]:
        for key, value in self._readings.items():
            yield key, value.blue_green


def _seconds(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds())


def _read(live: Object) -> _Readings:
    status, replicas = ClusterStatus.lenient(live.get("status")), _replicas(live)
    return _Readings(tuple(read(status, replicas) for _, _, read in GAUGES), state_of(status))


def _gauge(number: int, readings: _Readings) -> float:
    return readings.gauges[number]


def _replicas(live: Object) -> int:
    spec = live.get("spec")
    replicas = spec.get("replicas") if isinstance(spec, dict) else None
    return replicas if isinstance(replicas, int) else 0
