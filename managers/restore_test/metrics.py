"""Prometheus metrics of restore tests.

All values are read from `status.backup.restoreTest` at each scrape, so nothing is stored, and the
metrics of a deleted cluster disappear. Only the leader exports them. docs/restore-test.md lists the
metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Final

from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_backup import RestoreTestStatus
from runtime.cache.cache import Lister
from runtime.cache.projection import Projection
from runtime.metrics.metrics import Metrics
from runtime.types import Object

ABOUT: Final = ("namespace", "name")
Read = Callable[[RestoreTestStatus], float | None]


def _outcome(status: RestoreTestStatus) -> float | None:
    if status.last is None:
        return None
    return float(status.last.outcome == "Passed")


def _success(status: RestoreTestStatus) -> float | None:
    return status.last_success_time.timestamp() if status.last_success_time else None


def _next(status: RestoreTestStatus) -> float | None:
    return status.next_scheduled_test.timestamp() if status.next_scheduled_test else None


def _running(status: RestoreTestStatus) -> float:
    return float(status.active is not None)


FAMILIES: Final[tuple[tuple[str, str, Read], ...]] = (
    (
        "openbao_restore_test_last_outcome",
        "1 if the last restore test passed, else 0; none before the first one.",
        _outcome,
    ),
    (
        "openbao_restore_test_last_success_timestamp",
        "When a restore test last passed, in seconds since 1970.",
        _success,
    ),
    (
        "openbao_restore_test_next_scheduled_timestamp",
        "When the next restore test is due, in seconds since 1970.",
        _next,
    ),
    ("openbao_restore_test_in_progress", "1 while a snapshot is tested, else 0.", _running),
    (
        "openbao_restore_test_passed",
        "Restore tests of a cluster that passed so far.",
        lambda status: float(status.passed or 0),
    ),
    (
        "openbao_restore_test_failed",
        "Restore tests of a cluster that did not pass so far, including those of unknown outcome.",
        lambda status: float(status.failed or 0),
    ),
)
SERIES_PER_CLUSTER: Final = len(FAMILIES)


def register(metrics: Metrics, clusters: Lister) -> None:
    """Register the metrics of all clusters that this process watches."""
    values = Projection(clusters, _values)
    for number, (name, meaning, _) in enumerate(FAMILIES):
        metrics.read_gauge(name, meaning, ABOUT, values.gauge(itemgetter(number)))


def _values(live: Object) -> tuple[float | None, ...]:
    """Return the values of FAMILIES."""
    status = _test_status(live)
    return tuple(read(status) if status is not None else None for _, _, read in FAMILIES)


def _test_status(live: Object) -> RestoreTestStatus | None:
    """Return status.backup.restoreTest; None for a cluster without it."""
    status = live.get("status")
    backup = status.get("backup") if isinstance(status, dict) else None
    if not isinstance(backup, dict) or "restoreTest" not in backup:
        return None
    parsed = ClusterStatus.lenient({"backup": {"restoreTest": backup["restoreTest"]}})
    return parsed.backup.restore_test if parsed.backup else None
