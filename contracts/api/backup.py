"""OpenBaoBackup: one snapshot of a cluster.

Uses contracts.api.meta. The operator creates an object for each scheduled time; users create one to
take a snapshot immediately. Deleting the object does not delete the snapshot. Called by
managers.backup and the CRD generator.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from contracts.api.api_object import ApiObject
from contracts.api.cluster.status_backup import Snapshot
from contracts.api.cluster.status_errors import Digest, Name, Text, Word
from contracts.api.group import API_VERSION, BACKUP_KIND
from contracts.api.job_result import BackupReport, RestoreTestReport
from contracts.api.meta import ApiModel, Condition, ObjectMeta, StoredStatus, Timestamp, as_map
from contracts.api.violation import InvalidClusterError
from contracts.naming.names import CLUSTER_NAME_MAX, CLUSTER_NAME_PATTERN

BackupPhase = Literal["Pending", "Running", "Completed", "Failed", "Unknown"]
"""Unknown: the Job ended or disappeared without a report, so the snapshot may or may not exist."""
TERMINAL: frozenset[BackupPhase] = frozenset({"Completed", "Failed", "Unknown"})
Origin = Literal["Manual", "Scheduled", "PreUpgrade"]


class BackupSpec(ApiModel):
    """Cluster to take a snapshot of. Immutable."""

    cluster: str = Field(
        description="OpenBaoCluster in the same namespace. Its spec.backup has the store.",
        examples=["production"],
        min_length=1,
        max_length=CLUSTER_NAME_MAX,
        pattern=CLUSTER_NAME_PATTERN,
    )
    origin: Origin = Field(
        default="Manual",
        description="Who requested the backup: a user, the schedule, or an upgrade before it "
        "starts.",
    )
    scheduled_time: Timestamp | None = Field(
        default=None, description="Scheduled time of this backup."
    )


class RestoreTestResult(ApiModel):
    """Result of a restore of the snapshot into a temporary server."""

    outcome: Literal["Passed", "Failed", "Unknown"] = Field(description="Result.")
    reason: Word = Field(description="Reason, one word in CamelCase.")
    message: Text = Field(default="", description="Message for users.")
    at: Timestamp | None = Field(default=None, description="Time at which the test ended.")
    digest: Digest | None = Field(default=None, description="SHA-256 of the restored snapshot.")
    run: Word = Field(default="", description="Id of the run.")
    request: Name = Field(
        default="",
        description="Value of the annotation that requested it; empty without a request.",
    )
    checks: tuple[Text, ...] = Field(
        default=(), description="Checks and their results.", max_length=16
    )


Cause = Literal["Requested", "Scheduled", "Counted"]


class RestoreTestRun(ApiModel):
    """Running restore test."""

    run: Word = Field(description="Id of the run.")
    cause: Cause = Field(
        description="Cause of the test: a user, the schedule, or the number of new backups."
    )
    request: Name = Field(default="", description="Value of the annotation that requested it.")
    job_name: Name = Field(description="Name of the Job.")
    job_uid: Word = Field(default="", alias="jobUID", description="UID of the Job.")
    started_at: Timestamp = Field(description="Time at which the test was started.")


class BackupObjectStatus(StoredStatus):
    """Observed state of a backup."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the observed spec.", ge=0
    )
    phase: BackupPhase | None = Field(default=None, description="Phase of the backup.")
    reason: Word = Field(default="", description="Reason of the phase, one word in CamelCase.")
    message: Text = Field(default="", description="Message for users.")
    job_name: Name = Field(default="", description="Name of the Job.")
    job_uid: Word = Field(default="", alias="jobUID", description="UID of the Job.")
    cluster_uid: Word = Field(
        default="", alias="clusterUID", description="UID of the OpenBaoCluster."
    )
    lock_epoch: int | None = Field(
        default=None, description="Epoch of the operation lock of this run.", ge=0
    )
    key: Text = Field(default="", description="Object key of the snapshot.")
    started_at: Timestamp | None = Field(
        default=None, description="Time at which the Job was created."
    )
    completed_at: Timestamp | None = Field(
        default=None, description="Time at which the backup ended."
    )
    snapshot: Snapshot | None = Field(default=None, description="The stored snapshot.")
    proof: RestoreTestResult | None = Field(
        default=None, description="Last restore test of the snapshot; absent if none."
    )
    test: RestoreTestRun | None = Field(
        default=None, description="Running restore test; absent if none."
    )
    test_report: RestoreTestReport | None = Field(
        default=None, description="Report of the Job of a restore test, which only that Job writes."
    )
    report: BackupReport | None = Field(
        default=None, description="Report of the Job, which only the Job writes."
    )
    counted: bool | None = Field(
        default=None,
        description="Whether status.backup of the cluster includes the result of this backup.",
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Conditions. Completed is True when the snapshot is stored.",
        max_length=8,
        json_schema_extra=as_map("type"),
    )


class InvalidBackupError(InvalidClusterError):
    """The object is not an OpenBaoBackup that this version can read."""


class OpenBaoBackup(ApiObject):
    """One snapshot of a cluster."""

    invalid = InvalidBackupError

    api_version: str = API_VERSION
    kind: str = BACKUP_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: BackupSpec
    status: Annotated[BackupObjectStatus, BeforeValidator(BackupObjectStatus.lenient)] = Field(
        default_factory=BackupObjectStatus
    )
