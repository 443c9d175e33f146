"""The results that Jobs of backups, restores and restore tests write into their own objects.

A Job writes `status.report` once, when it ends, with a separate field manager. A restore Job also
writes `status.submissionClaim` before it sends the snapshot (docs/backup.md). The operator writes
neither. Uses contracts.api.meta. Part of the status of OpenBaoBackup and OpenBaoRestore.
"""

from typing import Literal

from pydantic import Field

from contracts.api.cluster.status_backup import Snapshot
from contracts.api.cluster.status_errors import Count, Name, Text, Word
from contracts.api.meta import ApiModel, Timestamp
from contracts.exit_codes import FailureClass

EXECUTOR_MANAGER = "openbao-executor"
TEST_MANAGER = "openbao-executor-test"
"""Field manager of a restore test. With the field manager of the backup, the report of the test
would replace that of the backup."""


class JobReport(ApiModel):
    """Result that a Job reports."""

    job_uid: Word = Field(default="", alias="jobUID", description="UID of the Job that reports.")
    outcome: Literal["Succeeded", "Failed"] = Field(description="Result of the Job.")
    failure: FailureClass | None = Field(default=None, description="Step that failed.")
    message: Text = Field(default="", description="Message for users, without secrets.")
    finished_at: Timestamp | None = Field(default=None, description="Time at which the Job ended.")


class BackupReport(JobReport):
    """Result of a backup Job."""

    snapshot: Snapshot | None = Field(default=None, description="The stored snapshot.")
    seconds: float | None = Field(default=None, description="Duration in seconds.", ge=0)
    deleted: Count = Field(default=0, description="Number of old snapshots that retention removed.")
    retention_message: Text = Field(
        default="",
        description="Snapshots that retention failed to delete, or would delete without dryRun.",
    )


class RestoreReport(JobReport):
    """Result of a restore Job."""

    snapshot: Snapshot | None = Field(default=None, description="Snapshot that was sent.")
    seconds: float | None = Field(default=None, description="Duration in seconds.", ge=0)
    untouched: bool = Field(
        default=False,
        description="Whether it is certain that no server accepted the snapshot, although it "
        "was sent.",
    )
    sealed: bool = Field(
        default=False, description="Whether the servers were sealed after the restore."
    )


class SubmissionClaim(ApiModel):
    """Permission of a restore Job to send the snapshot. It is given at most once."""

    pod_uid: Word = Field(alias="podUID", description="UID of the sending pod.")
    pod_name: Name = Field(default="", description="Name of that pod.")
    target: Name = Field(default="", description="Pod of the receiving server.")
    digest: Word = Field(description="SHA-256 of the sent snapshot.")
    size: int = Field(description="Size of the sent snapshot in bytes.", ge=0)
    claimed_at: Timestamp | None = Field(default=None, description="Time of the claim.")


class RestoreTestReport(JobReport):
    """Result of a restore test Job."""

    reason: Word = Field(
        default="", description="Check that decided the result, one word in CamelCase."
    )
    checks: tuple[Text, ...] = Field(default=(), description="Checks.", max_length=16)
    snapshot: Snapshot | None = Field(default=None, description="The restored snapshot.")
    seconds: float | None = Field(default=None, description="Duration in seconds.", ge=0)
