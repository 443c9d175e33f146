"""Events and metrics of restores: once per change, not once per reconcile.

The metrics have the names of the public operator (openbao_restore_*). managers.restore.reconcile
calls this after it wrote a status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contracts.api.restore import RestoreObjectStatus
from contracts.conditions.reasons_restore import OPERATION_LOCK_OVERRIDE, RESTORE_COMPLETE
from managers.restore.status import changed_conditions
from runtime.events import EventRecorder, EventType
from runtime.metrics.metrics import Metrics
from runtime.types import Object, ObjectKey

DURATION_BUCKETS: Final = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0)
"""Seconds from the start of a restore to its end."""
ACTION: Final = "Restore"

# Progress is a Normal event. Any other reason is a Warning: it requires a user.
NORMAL: Final[Mapping[str, str]] = {
    "RestoreValidating": "RestoreValidationStarted",
    "RestoreRunning": "RestoreStarted",
    "RestoreRecovering": "RestoreRecovering",
    "RestoreSucceeded": "RestoreCompleted",
    "TargetBootstrapping": "TargetBootstrapping",
    "SnapshotPending": "SnapshotPending",
    "JobPrerequisiteMissing": "JobPrerequisiteMissing",
}
"""Reason of the event by reason of the condition RestoreComplete."""


class RestoreReporter:
    """Sends the events of restores and maintains the metrics of their clusters."""

    def __init__(self, events: EventRecorder, metrics: Metrics) -> None:
        self._events = events
        self._all = metrics.object_counter(
            "openbao_restore_total", "Restores of a cluster that were begun."
        )
        self._succeeded = metrics.object_counter(
            "openbao_restore_success_total", "Restores of a cluster that completed."
        )
        self._failed = metrics.object_counter(
            "openbao_restore_failure_total", "Restores of a cluster that failed."
        )
        self._durations = metrics.object_histogram(
            "openbao_restore_duration_seconds",
            "Seconds from the beginning of a restore to its end.",
            DURATION_BUCKETS,
        )

    def changed(
        self,
        live: Object,
        cluster: ObjectKey,
        before: RestoreObjectStatus,
        after: RestoreObjectStatus,
    ) -> None:
        """Report what a status write changed."""
        for kind, reason, message in changed_conditions(before.conditions, after.conditions):
            if kind == RESTORE_COMPLETE:
                normal = reason in NORMAL
                level: EventType = "Normal" if normal else "Warning"
                self._events.event(live, level, NORMAL.get(reason, reason), message, action=ACTION)
            elif kind == OPERATION_LOCK_OVERRIDE:
                self._events.event(live, "Warning", kind, message, action=ACTION)
        self._job_created(live, before, after)
        self._count(cluster, before, after)

    def forget(self, cluster: ObjectKey) -> None:
        """Drop the series of a deleted cluster."""
        for family in (self._all, self._succeeded, self._failed, self._durations):
            family.forget(cluster)

    def _job_created(
        self, live: Object, before: RestoreObjectStatus, after: RestoreObjectStatus
    ) -> None:
        new_uid = after.execution.job_uid if after.execution else ""
        old_uid = before.execution.job_uid if before.execution else ""
        if new_uid and not old_uid and after.execution is not None:
            message = f"Created Job {after.execution.job_name}"
            self._events.event(live, "Normal", "RestoreJobCreated", message, action=ACTION)

    def _count(
        self, cluster: ObjectKey, before: RestoreObjectStatus, after: RestoreObjectStatus
    ) -> None:
        if before.start_time is None and after.start_time is not None:
            self._all.inc(cluster)
            self._succeeded.start(cluster)
            self._failed.start(cluster)
        if before.completion_time is not None or after.completion_time is None:
            return
        (self._succeeded if after.phase == "Completed" else self._failed).inc(cluster)
        if after.start_time is not None:
            seconds = (after.completion_time - after.start_time).total_seconds()
            self._durations.observe(cluster, max(0.0, seconds))
