"""Events of a blue/green upgrade, by the changes of a status. Pure.

Derived from two consecutive statuses, so each is recorded once. Events that no status shows (a
refused request, an acknowledgement) come from the decision: managers.upgrade.bluegreen.decide,
announcements. No event comes from both.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import BlueGreenStatus
from contracts.records.bluegreen import DEMOTING, DEPLOYING, IDLE, ROLLBACK_CLEANUP
from contracts.records.event import EventRecord
from contracts.records.upgrade import Release
from managers.upgrade.condition import KIND
from managers.upgrade.messages import HELD, ROLLBACK_PHASES, WORDS, goes_on

PHASE = "BlueGreenPhase"
SWITCHED = "TrafficSwitched"
HOLD = "BlueGreenHoldEntered"
JOB_FAILED = "UpgradeJobFailed"
ROLLED_BACK = "RollbackComplete"
CANCELLED = "UpgradeCancelled"
SNAPSHOT = "PreUpgradeSnapshotStarted"
SNAPSHOT_COMPLETED = "PreUpgradeSnapshotCompleted"
SNAPSHOT_FAILED = "PreUpgradeSnapshotFailed"

_NONE = BlueGreenStatus()


def blue_green_events(before: ClusterStatus, after: ClusterStatus) -> Iterator[EventRecord]:
    """Return the events of a blue/green upgrade between two statuses."""
    was, now = before.blue_green or _NONE, after.blue_green or _NONE
    if was != now:
        yield from _of_phase(was, now)
        yield from _of_end(was, now, after)
        yield from _of_snapshots(was, now)
        yield from _of_jobs(was, now)
    yield from _of_hold(before, after)


def rolled_back(was: BlueGreenStatus, now: BlueGreenStatus) -> bool:
    """Report whether a rollback begins."""
    return now.phase in ROLLBACK_PHASES and was.phase not in ROLLBACK_PHASES


def _of_phase(was: BlueGreenStatus, now: BlueGreenStatus) -> Iterator[EventRecord]:
    if now.phase in (was.phase, IDLE) or rolled_back(was, now):
        # The beginning of a rollback is recorded with its reason.
        return
    if now.phase == DEMOTING:
        message = f"Clients are sent to the servers of {_target(now)}, which come to lead"
        yield EventRecord("Normal", SWITCHED, message)
    else:
        yield EventRecord("Normal", PHASE, f"{now.phase}: {WORDS[now.phase]}")


def _of_end(
    was: BlueGreenStatus, now: BlueGreenStatus, after: ClusterStatus
) -> Iterator[EventRecord]:
    if not goes_on(was) or goes_on(now):
        return
    if was.phase == ROLLBACK_CLEANUP:
        reason = f": {now.rollback_reason}" if now.rollback_reason else ""
        serves = f"{after.release.version} serves as before; " if after.release else ""
        yield EventRecord("Normal", ROLLED_BACK, f"{serves}{_target(was)} was taken away{reason}")
    elif was.phase == IDLE and now.failed_revision == was.failed_revision:
        yield EventRecord(
            "Normal", CANCELLED, f"{_target(was)} is no longer asked for; nothing was made"
        )


def _of_snapshots(was: BlueGreenStatus, now: BlueGreenStatus) -> Iterator[EventRecord]:
    name, new = was.pre_upgrade_snapshot_job_name, now.pre_upgrade_snapshot_job_name
    same = was.operation_id == now.operation_id
    if name and same and (was.phase, now.phase) == (IDLE, DEPLOYING):
        yield EventRecord("Normal", SNAPSHOT_COMPLETED, f"OpenBaoBackup {name} completed")
    if name and same and new and new != name:
        yield EventRecord("Warning", SNAPSHOT_FAILED, f"OpenBaoBackup {name} did not complete")
    if new and new != name:
        yield EventRecord("Normal", SNAPSHOT, f"OpenBaoBackup {new} comes before the upgrade")


def _of_jobs(was: BlueGreenStatus, now: BlueGreenStatus) -> Iterator[EventRecord]:
    if failed_jobs(was, now):
        message = now.last_job_failure or "read the logs of the Jobs of this cluster"
        yield EventRecord("Warning", JOB_FAILED, f"{now.phase}: {message}; it is tried again")


def failed_jobs(was: BlueGreenStatus, now: BlueGreenStatus) -> int:
    """Count the Jobs of a phase that failed between two statuses, and are retried."""
    if was.phase != now.phase or now.phase == IDLE or was.operation_id != now.operation_id:
        return 0
    return max(0, (now.job_failure_count or 0) - (was.job_failure_count or 0))


def _of_hold(before: ClusterStatus, after: ClusterStatus) -> Iterator[EventRecord]:
    """Report that a user action is required; not again while it is the same wait."""
    was, now = (
        next((one for one in status.conditions if one.type == KIND), None)
        for status in (before, after)
    )
    if now is not None and now.reason == HELD and (was is None or was.reason != HELD):
        yield EventRecord("Normal", HOLD, now.message)


def _target(status: BlueGreenStatus) -> Release:
    return Release(status.green_version or "the second set", status.green_image or "")
