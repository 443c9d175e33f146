"""The status of snapshots, restore tests, and the operation lock.

Uses contracts.api.meta. Part of ClusterStatus. managers.backup writes `backup`, only
managers.operation_lock writes `operationLock`, and managers.restore writes `restore`.
"""

from typing import Literal

from pydantic import Field

from contracts.api.cluster.status_errors import Count, Digest, Index, Name, Size, Text, Word
from contracts.api.meta import ApiModel, Condition, Timestamp, as_map

Operation = Literal["Upgrade", "Backup", "Restore"]


class Snapshot(ApiModel):
    """Identity of a snapshot, to be copied into a restore."""

    key: Text | None = Field(default=None, description="Object key of the snapshot.")
    index: Index | None = Field(default=None, description="Last raft log index of the snapshot.")
    term: Index | None = Field(default=None, description="Term of the raft log at that index.")
    seal: Word | None = Field(
        default=None,
        description="Seal of the snapshot: type of the seal and id of the key.",
    )
    digest: Digest | None = Field(default=None, description="SHA-256 of the bytes.")
    cluster_id: Word | None = Field(
        default=None, alias="clusterID", description="OpenBao cluster id of the snapshot."
    )
    version: Word | None = Field(
        default=None, description="OpenBao version that took the snapshot."
    )
    size: Size | None = Field(default=None, description="Size in bytes, up to 8 GiB.")


class ActiveRestoreTest(ApiModel):
    """Running restore test."""

    run: Word | None = Field(default=None, description="Id of the run.")
    namespace: Name | None = Field(default=None, description="Namespace of its cluster.")
    key: Text | None = Field(default=None, description="Object key of the snapshot.")
    digest: Digest | None = Field(default=None, description="SHA-256 of the snapshot.")
    started_at: Timestamp | None = Field(default=None, description="Time of the start.")


class FinishedRestoreTest(ApiModel):
    """Last completed restore test."""

    run: Word | None = Field(default=None, description="Id of the run.")
    outcome: Word | None = Field(default=None, description="Result of the test.")
    reason: Word | None = Field(default=None, description="Reason, one word in CamelCase.")
    message: Text | None = Field(default=None, description="Message for users.")
    namespace: Name | None = Field(default=None, description="Namespace of its cluster.")
    key: Text | None = Field(default=None, description="Object key of the snapshot.")
    digest: Digest | None = Field(default=None, description="SHA-256 of the snapshot.")
    finished_at: Timestamp | None = Field(default=None, description="Time at which the test ended.")


class RestoreTestStatus(ApiModel):
    """Restore tests."""

    active: ActiveRestoreTest | None = Field(default=None, description="Running test.")
    last: FinishedRestoreTest | None = Field(default=None, description="Last completed test.")
    last_success_time: Timestamp | None = Field(
        default=None, description="Time of the last passed test."
    )
    last_success_key: Text | None = Field(
        default=None, description="Object key of the tested snapshot."
    )
    next_scheduled_test: Timestamp | None = Field(
        default=None, description="Time of the next test."
    )
    schedule: Word | None = Field(default=None, description="Schedule of nextScheduledTest.")
    last_backup_count: Count | None = Field(
        default=None, description="Value of successfulBackups at the start of the last test."
    )
    passed: Count | None = Field(default=None, description="Number of passed tests.")
    failed: Count | None = Field(
        default=None,
        description="Number of tests that did not pass, including tests with an unknown result.",
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Conditions of the tests. Passed is the summary.",
        max_length=8,
        json_schema_extra=as_map("type"),
    )


class BackupStatus(ApiModel):
    """Scheduled snapshots."""

    last_backup_time: Timestamp | None = Field(
        default=None, description="Time of the last snapshot."
    )
    last_attempt_time: Timestamp | None = Field(
        default=None, description="Time of the last attempt."
    )
    last_attempt_scheduled_time: Timestamp | None = Field(
        default=None, description="Scheduled time of the last attempt."
    )
    next_scheduled_backup: Timestamp | None = Field(
        default=None, description="Time of the next backup."
    )
    last_handled_manual_trigger: Name | None = Field(
        default=None,
        description="Value of the last annotation that requested a backup and was handled.",
    )
    schedule: Word | None = Field(default=None, description="Schedule of nextScheduledBackup.")
    last_counted: Word | None = Field(
        default=None, description="UID of the OpenBaoBackup whose result was counted last."
    )
    overdue_since: Timestamp | None = Field(
        default=None,
        description="Scheduled time of a snapshot that had not started when the next one was due.",
    )
    last_backup_size: Size | None = Field(
        default=None, description="Size of the last snapshot in bytes."
    )
    last_backup_duration: Word | None = Field(
        default=None, description="Duration of the last backup, a Go duration."
    )
    last_backup_name: Text | None = Field(default=None, description="Object key of the snapshot.")
    consecutive_failures: Count | None = Field(
        default=None, description="Number of failures since the last success."
    )
    successful_backups: Count | None = Field(
        default=None,
        description="Number of successful backups, for restoreTest.everySuccessfulBackups.",
    )
    last_failure_reason: Text | None = Field(
        default=None, description="Reason of the last failure, one word in CamelCase."
    )
    last_failure_message: Text | None = Field(
        default=None, description="Message of the last failure."
    )
    last_failure_time: Timestamp | None = Field(
        default=None, description="Time of the last failure."
    )
    latest_snapshot: Snapshot | None = Field(
        default=None, description="Identity of the last snapshot."
    )
    restore_test: RestoreTestStatus | None = Field(default=None, description="Restore tests.")


class RestoreStatus(ApiModel):
    """Last restore that requires, or required, a restart of the servers."""

    name: Name | None = Field(default=None, description="Name of the restore.")
    uid: Word | None = Field(default=None, description="UID of the restore.")
    restart_completed_at: Timestamp | None = Field(default=None, description="End of the restart.")


class OperationLock(ApiModel):
    """The operation that may change the data; there is at most one."""

    operation: Operation = Field(description="Type of the operation.")
    holder: Name = Field(description="Holder of the lock.", examples=["openbaorestore/monday"])
    epoch: Count = Field(
        default=0,
        description="Number of the lock holder, which increases. A Job of an older epoch is "
        "rejected.",
    )
    message: Text | None = Field(default=None, description="Message for users.")
    acquired_at: Timestamp | None = Field(default=None, description="Time of the start.")
    renewed_at: Timestamp | None = Field(
        default=None, description="Time of the last renewal by the holder."
    )


class BreakGlass(ApiModel):
    """Safe mode that only a user can end, with spec.breakGlassAck."""

    active: bool = Field(default=False, description="Whether break glass is active.")
    reason: Word | None = Field(default=None, description="Reason, one word in CamelCase.")
    message: Text | None = Field(default=None, description="Message for users.")
    nonce: Word | None = Field(
        default=None, description="Value that spec.breakGlassAck must have to acknowledge."
    )
    entered_at: Timestamp | None = Field(default=None, description="Time of the start.")
    steps: tuple[Text, ...] = Field(
        default=(), description="Steps to take before the acknowledgement.", max_length=16
    )
    acknowledged_at: Timestamp | None = Field(
        default=None, description="Time of the acknowledgement."
    )
