"""What status says about snapshots, their test, and locks between operations.

Uses contracts.api.meta. Part of ClusterStatus. `backup` is written by managers.backup,
`operationLock` by managers.operation_lock alone, `restore` by managers.restore.
"""

from typing import Literal

from pydantic import Field

from contracts.api.cluster.status_errors import Count, Digest, Index, Name, Size, Text, Word
from contracts.api.meta import ApiModel, Condition, Timestamp, as_map

Operation = Literal["Upgrade", "Backup", "Restore"]


class Snapshot(ApiModel):
    """What a snapshot is known by; copy it into a restore."""

    key: Text | None = Field(default=None, description="Its object key.")
    index: Index | None = Field(default=None, description="Index of the raft log it holds.")
    term: Index | None = Field(default=None, description="Term of the raft log at that index.")
    seal: Word | None = Field(
        default=None,
        description="What it can be opened with: type of the seal and id of the key, no secret.",
    )
    digest: Digest | None = Field(default=None, description="SHA-256 of the bytes.")
    cluster_id: Word | None = Field(
        default=None, alias="clusterID", description="Id that OpenBao gave to the cluster."
    )
    version: Word | None = Field(default=None, description="OpenBao version that took it.")
    size: Size | None = Field(default=None, description="Size in bytes, up to 8 GiB.")


class ActiveRestoreTest(ApiModel):
    """The test that runs."""

    run: Word | None = Field(default=None, description="Id of the run.")
    namespace: Name | None = Field(default=None, description="Namespace of its cluster.")
    key: Text | None = Field(default=None, description="Object key of the snapshot.")
    digest: Digest | None = Field(default=None, description="SHA-256 of the snapshot.")
    started_at: Timestamp | None = Field(default=None, description="When it began.")


class FinishedRestoreTest(ApiModel):
    """The test that ran last."""

    run: Word | None = Field(default=None, description="Id of the run.")
    outcome: Word | None = Field(default=None, description="How it ended.")
    reason: Word | None = Field(default=None, description="Why, in one word.")
    message: Text | None = Field(default=None, description="Why, for a person.")
    namespace: Name | None = Field(default=None, description="Namespace of its cluster.")
    key: Text | None = Field(default=None, description="Object key of the snapshot.")
    digest: Digest | None = Field(default=None, description="SHA-256 of the snapshot.")
    finished_at: Timestamp | None = Field(default=None, description="When it ended.")


class RestoreTestStatus(ApiModel):
    """Test restores."""

    active: ActiveRestoreTest | None = Field(default=None, description="The test that runs.")
    last: FinishedRestoreTest | None = Field(default=None, description="The last one.")
    last_success_time: Timestamp | None = Field(
        default=None, description="When a test last passed."
    )
    last_success_key: Text | None = Field(
        default=None, description="Object key of the snapshot that it was about."
    )
    next_scheduled_test: Timestamp | None = Field(
        default=None, description="When the next one is due."
    )
    schedule: Word | None = Field(
        default=None, description="Schedule that nextScheduledTest was computed from."
    )
    last_backup_count: Count | None = Field(
        default=None, description="Value of successfulBackups when a test was last begun."
    )
    passed: Count | None = Field(default=None, description="Tests that passed so far.")
    failed: Count | None = Field(
        default=None, description="Tests that did not, those of unknown end among them."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Answers about the tests; Passed sums them up.",
        max_length=8,
        json_schema_extra=as_map("type"),
    )


class BackupStatus(ApiModel):
    """Scheduled snapshots."""

    last_backup_time: Timestamp | None = Field(
        default=None, description="When a snapshot was last taken."
    )
    last_attempt_time: Timestamp | None = Field(
        default=None, description="When one was last tried."
    )
    last_attempt_scheduled_time: Timestamp | None = Field(
        default=None, description="Time of the schedule that the last try was for."
    )
    next_scheduled_backup: Timestamp | None = Field(
        default=None, description="When the next one is due."
    )
    last_handled_manual_trigger: Name | None = Field(
        default=None, description="The last order by annotation that was carried out."
    )
    schedule: Word | None = Field(
        default=None, description="Schedule that nextScheduledBackup was computed from."
    )
    last_counted: Word | None = Field(
        default=None, description="UID of the OpenBaoBackup whose end was counted last."
    )
    overdue_since: Timestamp | None = Field(
        default=None,
        description="Time of the schedule whose snapshot has still not been begun a turn later.",
    )
    last_backup_size: Size | None = Field(
        default=None, description="Size of the last snapshot in bytes."
    )
    last_backup_duration: Word | None = Field(
        default=None, description="Time that it took, a Go duration."
    )
    last_backup_name: Text | None = Field(default=None, description="Its object key.")
    consecutive_failures: Count | None = Field(
        default=None, description="Failures since the last success."
    )
    successful_backups: Count | None = Field(
        default=None, description="Snapshots taken, to count up to a restore test."
    )
    last_failure_reason: Text | None = Field(
        default=None, description="Why it failed last, in one word."
    )
    last_failure_message: Text | None = Field(
        default=None, description="Why it failed last, for a person."
    )
    last_failure_time: Timestamp | None = Field(
        default=None, description="When the last failure was."
    )
    latest_snapshot: Snapshot | None = Field(
        default=None, description="What the last snapshot is known by."
    )
    restore_test: RestoreTestStatus | None = Field(default=None, description="Test restores.")


class RestoreStatus(ApiModel):
    """The last restore whose servers have to be, or were, restarted."""

    name: Name | None = Field(default=None, description="Name of the restore.")
    uid: Word | None = Field(default=None, description="UID of the restore.")
    restart_completed_at: Timestamp | None = Field(
        default=None, description="When the restart was done."
    )


class OperationLock(ApiModel):
    """Who works on the data now: one operation at a time."""

    operation: Operation = Field(description="What is done.")
    holder: Name = Field(description="Who does it.", examples=["openbaorestore/monday"])
    epoch: Count = Field(
        default=0,
        description="Counts who holds it one after the other; a job of an older epoch is late.",
    )
    message: Text | None = Field(default=None, description="What is done, for a person.")
    acquired_at: Timestamp | None = Field(default=None, description="Since when.")
    renewed_at: Timestamp | None = Field(
        default=None, description="When the holder last said that it is alive."
    )


class BreakGlass(ApiModel):
    """A safe mode that only a person can end, with spec.breakGlassAck."""

    active: bool = Field(default=False, description="Whether the safe mode is on.")
    reason: Word | None = Field(default=None, description="Why, in one word.")
    message: Text | None = Field(default=None, description="Why, for a person.")
    nonce: Word | None = Field(default=None, description="What spec.breakGlassAck has to repeat.")
    entered_at: Timestamp | None = Field(default=None, description="Since when.")
    steps: tuple[Text, ...] = Field(
        default=(), description="What to do before the answer.", max_length=16
    )
    acknowledged_at: Timestamp | None = Field(default=None, description="When it was answered.")
