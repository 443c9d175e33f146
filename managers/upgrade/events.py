"""Events of an upgrade, derived from the changes of a status. Pure.

managers.cluster.apply.status_writer calls it after a successful write, so each event is recorded
once. If a write is lost, its events are recorded with the write that repeats it.
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


def upgrade_events(before: ClusterStatus, after: ClusterStatus) -> tuple[EventRecord, ...]:
    """Return the events of an upgrade between two consecutive statuses."""
    return (*_rolling_events(before, after), *blue_green_events(before, after))


def _rolling_events(before: ClusterStatus, after: ClusterStatus) -> tuple[EventRecord, ...]:
    old, new = before.upgrade, after.upgrade
    if new is None:
        return () if old is None else (_end_event(old, after),)
    if old is None:
        return (_start_event(new), *_of_snapshots(None, new), *_of_failure(None, new))
    return (
        *_of_target(old, new),
        *_of_snapshots(old, new),
        *_of_step_down(old, new),
        *_of_failure(old, new),
        *_of_retry(before, after, old, new),
    )


def completed(old: UpgradeStatus, after: ClusterStatus) -> bool:
    """Report whether an upgrade that left the status is complete: its target was accepted."""
    accepted = after.release
    return (
        old.phase == "Rolling"
        and accepted is not None
        and (accepted.version, accepted.image) == (old.target_version, old.target_image)
    )


def _names(upgrade: UpgradeStatus) -> str:
    image = f" ({upgrade.target_image})" if upgrade.target_image else ""
    return f"{upgrade.from_version} to {upgrade.target_version}{image}"


def _start_event(new: UpgradeStatus) -> EventRecord:
    return EventRecord("Normal", STARTED, f"The servers are upgraded from {_names(new)}")


def _end_event(old: UpgradeStatus, after: ClusterStatus) -> EventRecord:
    if completed(old, after):
        return EventRecord("Normal", COMPLETE, f"The servers were upgraded from {_names(old)}")
    return EventRecord("Normal", CANCELLED, f"The upgrade from {_names(old)} was cancelled")


def _of_target(old: UpgradeStatus, new: UpgradeStatus) -> Iterator[EventRecord]:
    if (old.target_version, old.target_image) != (new.target_version, new.target_image):
        yield _start_event(new)


def _of_snapshots(old: UpgradeStatus | None, new: UpgradeStatus) -> Iterator[EventRecord]:
    old_name = old.snapshot if old is not None else None
    if old is not None and old_name and old.phase == "Snapshot" and new.id == old.id:
        if new.phase == "Rolling":
            yield EventRecord("Normal", SNAPSHOT_COMPLETED, f"OpenBaoBackup {old_name} completed")
        elif new.snapshot != old_name:
            yield EventRecord(
                "Warning", SNAPSHOT_FAILED, f"OpenBaoBackup {old_name} did not complete"
            )
    if new.snapshot and new.snapshot != old_name:
        yield EventRecord(
            "Normal", SNAPSHOT, f"OpenBaoBackup {new.snapshot} is taken before the upgrade"
        )


def _of_step_down(old: UpgradeStatus, new: UpgradeStatus) -> Iterator[EventRecord]:
    if new.step_down_job and new.step_down_job != old.step_down_job:
        message = f"Job {new.step_down_job} asks the leader to step down"
        yield EventRecord("Normal", STEP_DOWN, message)


def _of_failure(old: UpgradeStatus | None, new: UpgradeStatus) -> Iterator[EventRecord]:
    old_failure = old.failure if old is not None else None
    if new.failure is not None and old_failure is None:
        message = f"From {_names(new)}: {new.failure.reason}: {new.failure.message}"
        yield EventRecord("Warning", FAILED, message)


def _of_retry(
    before: ClusterStatus, after: ClusterStatus, old: UpgradeStatus, new: UpgradeStatus
) -> Iterator[EventRecord]:
    old_retry = before.upgrade_requests.last_handled_retry if before.upgrade_requests else None
    new_retry = after.upgrade_requests.last_handled_retry if after.upgrade_requests else None
    if old.failure is not None and new.failure is None and new_retry and new_retry != old_retry:
        yield EventRecord(
            "Normal", RETRIED, f"The upgrade from {_names(new)} continues: retry {new_retry}"
        )
