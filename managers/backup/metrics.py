"""Prometheus metrics of backups.

Gauges are read from `status.backup` at each scrape, so those of a deleted cluster disappear.
managers.backup.schedule increments the counters. Only the leader exports the gauges.
docs/backup.md lists the metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Final

from contracts.api.backup import OpenBaoBackup
from contracts.api.cluster.status_backup import BackupStatus
from contracts.api.values.duration import parse_duration
from managers.backup.cluster_status import backup_status_of
from runtime.cache.cache import Lister
from runtime.cache.projection import Projection
from runtime.metrics.families import Reading
from runtime.metrics.metrics import Metrics
from runtime.types import Object, ObjectKey, key_of

ABOUT: Final = ("namespace", "name")
IN_PROGRESS: Final = "openbao_backup_in_progress"
SUCCESSES: Final = "openbao_backup_success_total"
FAILURES: Final = "openbao_backup_failure_total"
DELETED: Final = "openbao_backup_retention_deleted_total"


def _last_success(status: BackupStatus) -> float | None:
    return status.last_backup_time.timestamp() if status.last_backup_time else None


def _duration(status: BackupStatus) -> float | None:
    text = status.last_backup_duration
    try:
        return parse_duration(text).total_seconds() if text else None
    except ValueError:
        return None


def _size(status: BackupStatus) -> float | None:
    return status.last_backup_size


def _failures(status: BackupStatus) -> float | None:
    return status.consecutive_failures


def _next(status: BackupStatus) -> float | None:
    moment = status.next_scheduled_backup
    return moment.timestamp() if moment else None


GAUGES: Final[tuple[tuple[str, str, Callable[[BackupStatus], float | None]], ...]] = (
    (
        "openbao_backup_last_success_timestamp",
        "When a snapshot was last stored, in seconds since 1970.",
        _last_success,
    ),
    (
        "openbao_backup_last_duration_seconds",
        "Duration of the last stored snapshot, in seconds.",
        _duration,
    ),
    ("openbao_backup_last_size_bytes", "Size of the last stored snapshot.", _size),
    (
        "openbao_backup_consecutive_failures",
        "Consecutive snapshots that were not stored.",
        _failures,
    ),
    (
        "openbao_backup_next_scheduled_timestamp",
        "When the next snapshot is due, in seconds since 1970.",
        _next,
    ),
)
SERIES_PER_CLUSTER: Final = len(GAUGES) + 1 + 3


class BackupMetrics:
    """The metrics of all clusters that this process watches."""

    def __init__(self, metrics: Metrics, clusters: Lister) -> None:
        self._clusters = clusters
        values = Projection(clusters, _values)
        for number, (name, meaning, _) in enumerate(GAUGES):
            metrics.read_gauge(name, meaning, ABOUT, values.gauge(itemgetter(number)))
        metrics.read_gauge(
            IN_PROGRESS, "1 while a snapshot is being taken, else 0.", ABOUT, self._in_progress
        )
        self._counters = {
            name: metrics.object_counter(name, meaning)
            for name, meaning in (
                (SUCCESSES, "Snapshots that were stored."),
                (FAILURES, "Snapshots that were not stored, or whose outcome is unknown."),
                (DELETED, "Old snapshots that retention removed."),
            )
        }

    def start(self, key: ObjectKey) -> None:
        """Export the counters of a cluster, starting at zero."""
        for counter in self._counters.values():
            counter.start(key)

    def ended(self, key: ObjectKey, backup: OpenBaoBackup) -> None:
        """Count one finished backup; call it once per backup."""
        good = backup.status.phase == "Completed"
        self._counters[SUCCESSES if good else FAILURES].inc(key)
        report = backup.status.report
        if good and report is not None and report.deleted:
            self._counters[DELETED].inc(key, float(report.deleted))

    def forget(self, key: ObjectKey) -> None:
        """Drop the series of a deleted cluster."""
        for counter in self._counters.values():
            counter.forget(key)

    def _in_progress(self) -> Iterator[Reading]:
        for live in self._clusters.list():
            if not _has_backup_spec(live):
                continue
            status = live.get("status")
            lock = status.get("operationLock") if isinstance(status, dict) else None
            busy = isinstance(lock, dict) and lock.get("operation") == "Backup"
            yield (*key_of(live),), float(busy)


def _values(live: Object) -> tuple[float | None, ...]:
    """Return the values of GAUGES."""
    status = backup_status_of(live)
    return tuple(read(status) for _, _, read in GAUGES)


def _has_backup_spec(live: Object) -> bool:
    spec = live.get("spec")
    return isinstance(spec, dict) and isinstance(spec.get("backup"), dict)
