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

    job_uid: Word = Field(default="", alias="jobUID", description="UID of the Job that says so.")
    outcome: Literal["Succeeded", "Failed"] = Field(description="How it ended.")
    failure: FailureClass | None = Field(default=None, description="What kind of step failed.")
    message: Text = Field(default="", description="Why, for a person; no secret is in it.")
    finished_at: Timestamp | None = Field(default=None, description="When it ended.")


class BackupReport(JobReport):
    """The end of a backup job."""

    snapshot: Snapshot | None = Field(default=None, description="What was stored.")
    seconds: float | None = Field(default=None, description="How long it took.", ge=0)
    deleted: Count = Field(default=0, description="Number of old snapshots that retention removed.")
    retention_message: Text = Field(
        default="", description="What retention could not do, or would do in a dry run."
    )


class RestoreReport(JobReport):
    """The end of a restore job."""

    snapshot: Snapshot | None = Field(default=None, description="What was sent.")
    seconds: float | None = Field(default=None, description="How long it took.", ge=0)
    untouched: bool = Field(
        default=False,
        description="Whether it is certain that no server took the snapshot, although it was sent.",
    )
    sealed: bool = Field(
        default=False, description="Whether the servers were sealed after they took the snapshot."
    )


class SubmissionClaim(ApiModel):
    """The one permission of a restore job to send the snapshot; never given twice."""

    pod_uid: Word = Field(alias="podUID", description="UID of the pod that sends.")
    pod_name: Name = Field(default="", description="Its name.")
    target: Name = Field(default="", description="Pod of the server that is sent to.")
    digest: Word = Field(description="SHA-256 of what is sent.")
    size: int = Field(description="Bytes that are sent.", ge=0)
    claimed_at: Timestamp | None = Field(default=None, description="When.")


class ProofReport(JobReport):
    """The end of a test."""

    reason: Word = Field(default="", description="Which check decided, in one word.")
    checks: tuple[Text, ...] = Field(default=(), description="Each check.", max_length=16)
    snapshot: Snapshot | None = Field(default=None, description="What was restored.")
    seconds: float | None = Field(default=None, description="How long it took.", ge=0)
