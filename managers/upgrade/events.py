"""Events of an upgrade, by the changes of a status: transitions, never states. Pure.

Called by managers.cluster.apply.status_writer after a successful write. So each is recorded once,
and one whose write was lost is recorded with the write that repeats it.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.records.event import EventRecord
from managers.upgrade.bluegreen.events import blue_green_events

STARTED = "UpgradeStarted"
COMPLETE = "UpgradeComplete"
CANCELLED = "UpgradeCancelled"
FAILED = "UpgradeFailed"
RETRIED = "RollingRetryAccepted"
SNAPSHOT = "PreUpgradeSnapshotStarted"
SNAPSHOT_COMPLETED = "PreUpgradeSnapshotCompleted"
SNAPSHOT_FAILED = "PreUpgradeSnapshotFailed"
STEP_DOWN = "StepDownStarted"


def notes(before: ClusterStatus, after: ClusterStatus) -> tuple[EventRecord, ...]:
    """Return the events of an upgrade between two consecutive statuses."""
    return (*_rolling_events(before, after), *blue_green_events(before, after))


def _rolling_events(before: ClusterStatus, after: ClusterStatus) -> tuple[EventRecord, ...]:
    was, now = before.upgrade, after.upgrade
    if now is None:
        return () if was is None else (_ended(was, after),)
    if was is None:
        return (_started(now), *_of_snapshots(None, now), *_of_failure(None, now))
    return (
        *_of_target(was, now),
        *_of_snapshots(was, now),
        *_of_step_down(was, now),
        *_of_failure(was, now),
        *_of_retry(before, after, was, now),
    )


def completed(was: UpgradeStatus, after: ClusterStatus) -> bool:
    """Report whether an upgrade that left the status is complete: its target was accepted."""
    accepted = after.release
    return (
        was.phase == "Rolling"
        and accepted is not None
        and (accepted.version, accepted.image) == (was.target_version, was.target_image)
    )


def _names(upgrade: UpgradeStatus) -> str:
    image = f" ({upgrade.target_image})" if upgrade.target_image else ""
    return f"{upgrade.from_version} to {upgrade.target_version}{image}"


def _started(now: UpgradeStatus) -> EventRecord:
    return EventRecord("Normal", STARTED, f"The servers are upgraded from {_names(now)}")


def _ended(was: UpgradeStatus, after: ClusterStatus) -> EventRecord:
    if completed(was, after):
        return EventRecord("Normal", COMPLETE, f"The servers were upgraded from {_names(was)}")
    return EventRecord("Normal", CANCELLED, f"The upgrade from {_names(was)} was taken back")


def _of_target(was: UpgradeStatus, now: UpgradeStatus) -> Iterator[EventRecord]:
    if (was.target_version, was.target_image) != (now.target_version, now.target_image):
        yield _started(now)


def _of_snapshots(was: UpgradeStatus | None, now: UpgradeStatus) -> Iterator[EventRecord]:
    name = was.snapshot if was is not None else None
    if was is not None and name and was.phase == "Snapshot" and now.id == was.id:
        if now.phase == "Rolling":
            yield EventRecord("Normal", SNAPSHOT_COMPLETED, f"OpenBaoBackup {name} completed")
        elif now.snapshot != name:
            yield EventRecord("Warning", SNAPSHOT_FAILED, f"OpenBaoBackup {name} did not complete")
    if now.snapshot and now.snapshot != name:
        yield EventRecord(
            "Normal", SNAPSHOT, f"OpenBaoBackup {now.snapshot} comes before the upgrade"
        )


def _of_step_down(was: UpgradeStatus, now: UpgradeStatus) -> Iterator[EventRecord]:
    if now.step_down_job and now.step_down_job != was.step_down_job:
        message = f"Job {now.step_down_job} asks the leader to step down"
        yield EventRecord("Normal", STEP_DOWN, message)


def _of_failure(was: UpgradeStatus | None, now: UpgradeStatus) -> Iterator[EventRecord]:
    old_failure = was.failure if was is not None else None
    if now.failure is not None and old_failure is None:
        message = f"From {_names(now)}: {now.failure.reason}: {now.failure.message}"
        yield EventRecord("Warning", FAILED, message)


def _of_retry(
    before: ClusterStatus, after: ClusterStatus, was: UpgradeStatus, now: UpgradeStatus
) -> Iterator[EventRecord]:
    old = before.upgrade_requests.last_handled_retry if before.upgrade_requests else None
    new = after.upgrade_requests.last_handled_retry if after.upgrade_requests else None
    if was.failure is not None and now.failure is None and new and new != old:
        yield EventRecord("Normal", RETRIED, f"The upgrade from {_names(now)} goes on: retry {new}")
