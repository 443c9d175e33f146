"""Events of a blue/green upgrade, derived from the changes of a status. Pure.

Each is recorded once, because it is derived from two consecutive statuses. Events that a status
does not show (a refused request, an acknowledgement) are the `events` of
managers.upgrade.bluegreen.decide. No event comes from both.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import BlueGreenStatus
from contracts.records.bluegreen_phases import DEMOTING, DEPLOYING, IDLE, ROLLBACK_CLEANUP
from contracts.records.event import EventRecord
from contracts.records.upgrade import Release, blue_green_under_way
from managers.upgrade.condition import KIND
from managers.upgrade.messages import HOLD, PHASE_TEXTS, ROLLBACK_PHASES

PHASE = "BlueGreenPhase"
SWITCHED = "TrafficSwitched"
HOLD_ENTERED = "BlueGreenHoldEntered"
JOB_FAILED = "UpgradeJobFailed"
ROLLED_BACK = "RollbackComplete"
CANCELLED = "UpgradeCancelled"
SNAPSHOT = "PreUpgradeSnapshotStarted"
SNAPSHOT_COMPLETED = "PreUpgradeSnapshotCompleted"
SNAPSHOT_FAILED = "PreUpgradeSnapshotFailed"

_NONE = BlueGreenStatus()


def blue_green_events(before: ClusterStatus, after: ClusterStatus) -> Iterator[EventRecord]:
    """Return the events of a blue/green upgrade between two statuses."""
    old, new = before.blue_green or _NONE, after.blue_green or _NONE
    if old != new:
        yield from _of_phase(old, new)
        yield from _of_end(old, new, after)
        yield from _of_snapshots(old, new)
        yield from _of_jobs(old, new)
    yield from _of_hold(before, after)


def rolled_back(old: BlueGreenStatus, new: BlueGreenStatus) -> bool:
    """Report whether a rollback begins."""
    return new.phase in ROLLBACK_PHASES and old.phase not in ROLLBACK_PHASES


def _of_phase(old: BlueGreenStatus, new: BlueGreenStatus) -> Iterator[EventRecord]:
    if new.phase in (old.phase, IDLE) or rolled_back(old, new):
        # The start of a rollback is recorded with its reason.
        return
    if new.phase == DEMOTING:
        message = f"Clients are switched to the servers of {_target(new)}, which take leadership"
        yield EventRecord("Normal", SWITCHED, message)
    else:
        yield EventRecord("Normal", PHASE, f"{new.phase}: {PHASE_TEXTS[new.phase]}")


def _of_end(
    old: BlueGreenStatus, new: BlueGreenStatus, after: ClusterStatus
) -> Iterator[EventRecord]:
    if not blue_green_under_way(old) or blue_green_under_way(new):
        return
    if old.phase == ROLLBACK_CLEANUP:
        reason = f": {new.rollback_reason}" if new.rollback_reason else ""
        serves = f"{after.release.version} still serves; " if after.release else ""
        yield EventRecord("Normal", ROLLED_BACK, f"{serves}{_target(old)} was removed{reason}")
    elif old.phase == IDLE and new.failed_revision == old.failed_revision:
        yield EventRecord(
            "Normal", CANCELLED, f"{_target(old)} is no longer requested; no server was created"
        )


def _of_snapshots(old: BlueGreenStatus, new: BlueGreenStatus) -> Iterator[EventRecord]:
    old_name, new_name = old.pre_upgrade_snapshot_job_name, new.pre_upgrade_snapshot_job_name
    same = old.operation_id == new.operation_id
    if old_name and same and (old.phase, new.phase) == (IDLE, DEPLOYING):
        yield EventRecord("Normal", SNAPSHOT_COMPLETED, f"OpenBaoBackup {old_name} completed")
    if old_name and same and new_name and new_name != old_name:
        yield EventRecord("Warning", SNAPSHOT_FAILED, f"OpenBaoBackup {old_name} did not complete")
    if new_name and new_name != old_name:
        yield EventRecord(
            "Normal", SNAPSHOT, f"OpenBaoBackup {new_name} is taken before the upgrade"
        )


def _of_jobs(old: BlueGreenStatus, new: BlueGreenStatus) -> Iterator[EventRecord]:
    if failed_jobs(old, new):
        message = new.last_job_failure or "read the logs of the Jobs of this cluster"
        yield EventRecord("Warning", JOB_FAILED, f"{new.phase}: {message}; the operator retries it")


def failed_jobs(old: BlueGreenStatus, new: BlueGreenStatus) -> int:
    """Count the Jobs of a phase that failed between two statuses, and are retried."""
    if old.phase != new.phase or new.phase == IDLE or old.operation_id != new.operation_id:
        return 0
    return max(0, (new.job_failure_count or 0) - (old.job_failure_count or 0))


def _of_hold(before: ClusterStatus, after: ClusterStatus) -> Iterator[EventRecord]:
    """Report that a user action is required, once per wait."""
    old, new = (
        next((condition for condition in status.conditions if condition.type == KIND), None)
        for status in (before, after)
    )
    if new is not None and new.reason == HOLD and (old is None or old.reason != HOLD):
        yield EventRecord("Normal", HOLD_ENTERED, new.message)


def _target(status: BlueGreenStatus) -> Release:
    return Release(status.green_version or "the green pool", status.green_image or "")
