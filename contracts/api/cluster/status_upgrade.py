"""The status of rolling and blue/green upgrades.

Uses contracts.api.meta. Part of ClusterStatus. The status step writes it from the decisions of
managers.upgrade.
"""

from typing import Literal

from pydantic import Field

from contracts.api.cluster.status_errors import Count, LastError, Name, Text, Word
from contracts.api.meta import ApiModel, Timestamp

BlueGreenPhase = Literal[
    "Idle",
    "DeployingGreen",
    "JoiningMesh",
    "Syncing",
    "Promoting",
    "DemotingBlue",
    "Cleanup",
    "RollingBack",
    "RollbackCleanup",
    "RestoringReadReplicas",
]
Stage = Literal["Prepared", "Committed", "Created", "TerminalObserved", "Unknown"]
Result = Literal["Succeeded", "Failed"]


class ReleaseStatus(ApiModel):
    """Target release of the servers: the last release that was accepted."""

    version: Word = Field(description="Version of the servers.")
    image: Text | None = Field(default=None, description="Image, if the spec has one.")


UpgradePhase = Literal["Preparing", "Snapshot", "Rolling"]


class UpgradeStatus(ApiModel):
    """Running or failed rolling upgrade; absent if none."""

    id: Word = Field(default="", description="Id of this attempt, part of the names of its Jobs.")
    phase: UpgradePhase = Field(default="Preparing", description="Phase of the upgrade.")
    target_version: Word = Field(description="Target version.")
    from_version: Word = Field(description="Previous version.")
    current_partition: Count = Field(
        default=0, description="Lowest ordinal that may have the new version."
    )
    completed_pods: tuple[Count, ...] = Field(
        default=(), description="Ordinals of pods with the new version.", max_length=64
    )
    target_image: Text | None = Field(
        default=None, description="Target image, if the spec has one."
    )
    from_image: Text | None = Field(
        default=None, description="Previous image, if the spec had one."
    )
    pod: Name | None = Field(default=None, description="Pod that is being replaced.")
    step_started_at: Timestamp | None = Field(
        default=None, description="Start of the current step. Deadlines count from here."
    )
    step_down_job: Name | None = Field(default=None, description="Step-down Job.")
    step_downs: Count | None = Field(default=None, description="Number of step-down Jobs.")
    snapshot: Name | None = Field(
        default=None, description="OpenBaoBackup that was taken before the first pod was replaced."
    )
    snapshots: Count | None = Field(default=None, description="Number of attempts of this backup.")
    started_at: Timestamp | None = Field(
        default=None, description="Time at which the upgrade started."
    )
    last_step_down_time: Timestamp | None = Field(
        default=None, description="Time of the last step-down."
    )
    failure: LastError | None = Field(default=None, description="Failure; absent if none.")
    last_error_reason: Word | None = Field(
        default=None, description="Deprecated alias of failure.reason; read and never written."
    )
    last_error_message: Text | None = Field(
        default=None, description="Deprecated alias of failure.message; read and never written."
    )
    last_error_at: Timestamp | None = Field(
        default=None, description="Deprecated alias of failure.at; read and never written."
    )


class UpgradeRequestsStatus(ApiModel):
    """Requests of spec.upgrade.requests that were handled."""

    last_handled_retry: Name | None = Field(default=None, description="The last retry.")
    last_handled_promote: Name | None = Field(default=None, description="The last promote.")
    last_handled_rollback: Name | None = Field(default=None, description="The last rollback.")
    last_handled_cleanup: Name | None = Field(default=None, description="The last cleanup.")


class ValidationHookStatus(ApiModel):
    """Job that validates green, and its progress."""

    operation_id: Word = Field(alias="operationID", description="Id of the upgrade.")
    green_revision: Word = Field(description="Revision that the Job validates.")
    spec_hash: Word = Field(description="Hash of the hook at its preparation.")
    stage: Stage = Field(description="Stage of the Job.")
    job_name: Name = Field(description="Name of the Job.")
    job_uid: Word | None = Field(default=None, alias="jobUID", description="UID of the Job.")
    prepared_at: Timestamp | None = Field(default=None, description="Time of the preparation.")
    committed_at: Timestamp | None = Field(default=None, description="Time of the decision.")
    created_at: Timestamp | None = Field(
        default=None, description="Time at which the Job was created."
    )
    terminal_result: Result | None = Field(default=None, description="Result of the Job.")
    terminal_observed_at: Timestamp | None = Field(
        default=None, description="Time at which the end of the Job was observed."
    )


class BlueGreenStatus(ApiModel):
    """Blue/green upgrade; absent if there was none."""

    phase: BlueGreenPhase = Field(default="Idle", description="Phase of the upgrade.")
    operation_id: Word | None = Field(
        default=None, alias="operationID", description="Id of this upgrade."
    )
    blue_revision: Word | None = Field(default=None, description="Revision of blue.")
    green_revision: Word | None = Field(default=None, description="Revision of green.")
    blue_controller_revision: Word | None = Field(
        default=None,
        description="Controller revision of a blue pool without a revision.",
    )
    blue_image: Text | None = Field(default=None, description="Image of blue with its digest.")
    green_image: Text | None = Field(default=None, description="Image of green with its digest.")
    green_version: Word | None = Field(default=None, description="Version of green.")
    blue_replicas: int | None = Field(default=None, description="Servers of blue.", ge=1, le=64)
    green_replicas: int | None = Field(default=None, description="Servers of green.", ge=1, le=64)
    manual_promotion_required: bool | None = Field(
        default=None, description="Whether green waits for spec.upgrade.requests.promote."
    )
    manual_cleanup_required: bool | None = Field(
        default=None, description="Whether blue is kept until spec.upgrade.requests.cleanup."
    )
    start_time: Timestamp | None = Field(default=None, description="Start of this phase.")
    job_failure_count: Count | None = Field(
        default=None, description="Number of failed Jobs in this phase."
    )
    last_job_failure: Text | None = Field(default=None, description="Failure of the last Job.")
    completed_job: Name | None = Field(default=None, description="Completed Job of this phase.")
    traffic_switched_time: Timestamp | None = Field(
        default=None, description="Time at which the Services were switched to green."
    )
    failed_revision: Word | None = Field(
        default=None, description="Revision that failed. It is not retried automatically."
    )
    pre_upgrade_snapshot_job_name: Name | None = Field(
        default=None, description="Job that takes the snapshot before the upgrade."
    )
    rollback_reason: Text | None = Field(default=None, description="Reason of the rollback.")
    rollback_start_time: Timestamp | None = Field(
        default=None, description="Start of the rollback."
    )
    rollback_attempt: Count | None = Field(default=None, description="Number of rollback attempts.")
    validation_hook: ValidationHookStatus | None = Field(
        default=None, description="Job that validates green."
    )
