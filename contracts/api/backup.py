"""OpenBaoBackup: one snapshot that was, is or will be taken, whoever asked for it.

Uses contracts.api.meta. The operator makes one for each time of the schedule; people make one to
have a snapshot now. Deleting it deletes no snapshot. Called by managers.backup and the CRD
generator.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from contracts.api.api_object import ApiObject
from contracts.api.cluster.status_backup import Snapshot
from contracts.api.cluster.status_errors import Digest, Name, Text, Word
from contracts.api.group import API_VERSION, BACKUP_KIND
from contracts.api.job_result import BackupReport, ProofReport
from contracts.api.meta import ApiModel, Condition, ObjectMeta, StoredStatus, Timestamp, as_map
from contracts.api.violation import InvalidClusterError
from contracts.naming.names import CLUSTER_NAME_MAX, CLUSTER_NAME_PATTERN

BackupPhase = Literal["Pending", "Running", "Completed", "Failed", "Unknown"]
"""Unknown: the job ended or vanished without a word, so there may be a snapshot or none."""
TERMINAL: frozenset[BackupPhase] = frozenset({"Completed", "Failed", "Unknown"})
Origin = Literal["Manual", "Scheduled", "PreUpgrade"]


class BackupSpec(ApiModel):
    """What to take a snapshot of. Never changes."""

    cluster: str = Field(
        description="OpenBaoCluster in the same namespace; its spec.backup says where to and how.",
        examples=["production"],
        min_length=1,
        max_length=CLUSTER_NAME_MAX,
        pattern=CLUSTER_NAME_PATTERN,
    )
    origin: Origin = Field(
        default="Manual",
        description="Who asks: a person, the schedule, or an upgrade that is to begin.",
    )
    scheduled_time: Timestamp | None = Field(
        default=None, description="Time of the schedule that it is for."
    )


class Proof(ApiModel):
    """What a restore of the snapshot into a throw-away server showed."""

    outcome: Literal["Passed", "Failed", "Unknown"] = Field(description="How it ended.")
    reason: Word = Field(description="Why, in one word.")
    message: Text = Field(default="", description="Why, for a person.")
    at: Timestamp | None = Field(default=None, description="When it ended.")
    digest: Digest | None = Field(default=None, description="SHA-256 of what was restored.")
    run: Word = Field(default="", description="Id of the run.")
    request: Name = Field(
        default="", description="Value of the annotation that it answered; empty if none asked."
    )
    checks: tuple[Text, ...] = Field(
        default=(), description="Each check and what it found.", max_length=16
    )


Cause = Literal["Requested", "Scheduled", "Counted"]


class ProofRun(ApiModel):
    """A test that is on its way."""

    run: Word = Field(description="Id of the run.")
    cause: Cause = Field(
        description="Who asks: a person, the schedule, or the number of new backups."
    )
    request: Name = Field(default="", description="Value of the annotation that asked for it.")
    job_name: Name = Field(description="Job that does it.")
    job_uid: Word = Field(default="", alias="jobUID", description="UID of that Job.")
    started_at: Timestamp = Field(description="When it was decided.")


class BackupObjectStatus(StoredStatus):
    """How far it is."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the spec that this status speaks of.", ge=0
    )
    phase: BackupPhase | None = Field(default=None, description="Where it is in its life.")
    reason: Word = Field(default="", description="Why it is there, in one word.")
    message: Text = Field(default="", description="Why it is there, for a person.")
    job_name: Name = Field(default="", description="Job that does it.")
    job_uid: Word = Field(default="", alias="jobUID", description="UID of that Job.")
    cluster_uid: Word = Field(
        default="", alias="clusterUID", description="UID of the OpenBaoCluster."
    )
    lock_epoch: int | None = Field(
        default=None, description="Epoch of the operation lock that it runs under.", ge=0
    )
    key: Text = Field(default="", description="Object key that the snapshot gets.")
    started_at: Timestamp | None = Field(default=None, description="When its Job was made.")
    completed_at: Timestamp | None = Field(default=None, description="When it ended.")
    snapshot: Snapshot | None = Field(default=None, description="What was stored.")
    proof: Proof | None = Field(default=None, description="The last test of it; absent if none.")
    test: ProofRun | None = Field(
        default=None, description="The test of it that runs; absent if none."
    )
    test_report: ProofReport | None = Field(
        default=None, description="What the job of a test says; written by that job alone."
    )
    report: BackupReport | None = Field(
        default=None, description="What the job itself says; written by the job alone."
    )
    counted: bool | None = Field(
        default=None, description="Whether status.backup of the cluster counts its end already."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Completed: whether there is a snapshot, and why not.",
        max_length=8,
        json_schema_extra=as_map("type"),
    )


class InvalidBackupError(InvalidClusterError):
    """An object that is not an OpenBaoBackup that this version can read."""


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
