"""What the jobs of backups, restores and tests say of themselves, each into its own object.

A job writes `status.report` once, at its end, with a field manager of its own, and a restore also
`status.submissionClaim` before it sends anything (docs/backup.md). The operator writes neither.
Uses contracts.api.meta. Part of the status of OpenBaoBackup and OpenBaoRestore.
"""

from typing import Literal

from pydantic import Field

from contracts.api.cluster.status_backup import Snapshot
from contracts.api.cluster.status_errors import Count, Name, Text, Word
from contracts.api.meta import ApiModel, Timestamp
from contracts.exit_codes import FailureClass

EXECUTOR_MANAGER = "openbao-executor"
TEST_MANAGER = "openbao-executor-test"
"""Field manager of a restore test: with that of the backup its report would take the place of the
backup's own."""


class JobReport(ApiModel):
    """How a job ended, in its own words."""

    job_uid: Word = Field(default="", alias="jobUID", description="UID of the Job that reports.")
    outcome: Literal["Succeeded", "Failed"] = Field(description="Result of the Job.")
    failure: FailureClass | None = Field(default=None, description="Step that failed.")
    message: Text = Field(default="", description="Message for people, without secrets.")
    finished_at: Timestamp | None = Field(default=None, description="Time at which the Job ended.")


class BackupReport(JobReport):
    """The end of a backup job."""

    snapshot: Snapshot | None = Field(default=None, description="The stored snapshot.")
    seconds: float | None = Field(default=None, description="Duration in seconds.", ge=0)
    deleted: Count = Field(default=0, description="Number of old snapshots that retention removed.")
    retention_message: Text = Field(
        default="", description="What retention failed to delete, or would delete without dryRun."
    )


class RestoreReport(JobReport):
    """The end of a restore job."""

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
    """The one permission of a restore job to send the snapshot; never given twice."""

    pod_uid: Word = Field(alias="podUID", description="UID of the sending pod.")
    pod_name: Name = Field(default="", description="Name of that pod.")
    target: Name = Field(default="", description="Pod of the receiving server.")
    digest: Word = Field(description="SHA-256 of the sent snapshot.")
    size: int = Field(description="Size of the sent snapshot in bytes.", ge=0)
    claimed_at: Timestamp | None = Field(default=None, description="Time of the claim.")


class ProofReport(JobReport):
    """The end of a test."""

    reason: Word = Field(
        default="", description="Check that decided the result, one word in CamelCase."
    )
    checks: tuple[Text, ...] = Field(default=(), description="Checks.", max_length=16)
    snapshot: Snapshot | None = Field(default=None, description="The restored snapshot.")
    seconds: float | None = Field(default=None, description="Duration in seconds.", ge=0)
