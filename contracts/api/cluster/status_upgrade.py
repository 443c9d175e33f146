"""What status says about upgrades: rolling and blue/green.

Uses contracts.api.meta. Part of ClusterStatus. Written by the status pass, from what
managers.upgrade decided.
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
    """What the servers are brought to: the last release that was accepted."""

    version: Word = Field(description="Version of the servers.")
    image: Text | None = Field(default=None, description="Image, if the spec named one.")


UpgradePhase = Literal["Preparing", "Snapshot", "Rolling"]


class UpgradeStatus(ApiModel):
    """A rolling upgrade that runs or failed; absent if none."""

    id: Word = Field(default="", description="Id of this attempt; names its Jobs.")
    phase: UpgradePhase = Field(default="Preparing", description="How far it is.")
    target_version: Word = Field(description="Version that the servers are brought to.")
    from_version: Word = Field(description="Version that they come from.")
    current_partition: Count = Field(
        default=0, description="Lowest ordinal that may have the new version by now."
    )
    completed_pods: tuple[Count, ...] = Field(
        default=(), description="Ordinals that have the new version.", max_length=64
    )
    target_image: Text | None = Field(default=None, description="Image of the target, if named.")
    from_image: Text | None = Field(default=None, description="Image before, if named.")
    pod: Name | None = Field(default=None, description="Pod that is being replaced.")
    step_started_at: Timestamp | None = Field(
        default=None, description="When the present step began; deadlines count from here."
    )
    step_down_job: Name | None = Field(
        default=None, description="Job that asks the leader to step down."
    )
    step_downs: Count | None = Field(default=None, description="Number of such Jobs so far.")
    snapshot: Name | None = Field(
        default=None, description="OpenBaoBackup that was made before the first pod was touched."
    )
    snapshots: Count | None = Field(default=None, description="Number of such backups tried.")
    started_at: Timestamp | None = Field(default=None, description="When the upgrade began.")
    last_step_down_time: Timestamp | None = Field(
        default=None, description="When a leader was last asked to step down."
    )
    failure: LastError | None = Field(default=None, description="Why it failed; absent if not.")
    last_error_reason: Word | None = Field(
        default=None, description="Older spelling of failure.reason; read and never written."
    )
    last_error_message: Text | None = Field(
        default=None, description="Older spelling of failure.message; read and never written."
    )
    last_error_at: Timestamp | None = Field(
        default=None, description="Older spelling of failure.at; read and never written."
    )


class UpgradeRequestsStatus(ApiModel):
    """Which orders of spec.upgrade.requests were carried out."""

    last_handled_retry: Name | None = Field(default=None, description="The last retry.")
    last_handled_promote: Name | None = Field(default=None, description="The last promote.")
    last_handled_rollback: Name | None = Field(default=None, description="The last rollback.")
    last_handled_cleanup: Name | None = Field(default=None, description="The last cleanup.")


class ValidationHookStatus(ApiModel):
    """The Job that judges green: what was decided about it, step by step."""

    operation_id: Word = Field(alias="operationID", description="Upgrade that it belongs to.")
    green_revision: Word = Field(description="Revision that it judges.")
    spec_hash: Word = Field(description="Hash of the hook as it was when prepared.")
    stage: Stage = Field(description="How far the Job is.")
    job_name: Name = Field(description="Name of the Job.")
    job_uid: Word | None = Field(default=None, alias="jobUID", description="UID of the Job.")
    prepared_at: Timestamp | None = Field(default=None, description="When it was prepared.")
    committed_at: Timestamp | None = Field(default=None, description="When it was decided.")
    created_at: Timestamp | None = Field(default=None, description="When the Job was made.")
    terminal_result: Result | None = Field(default=None, description="How the Job ended.")
    terminal_observed_at: Timestamp | None = Field(
        default=None, description="When its end was seen."
    )


class BlueGreenStatus(ApiModel):
    """A blue/green upgrade; absent if none was ever made."""

    phase: BlueGreenPhase = Field(default="Idle", description="How far the upgrade is.")
    operation_id: Word | None = Field(
        default=None, alias="operationID", description="Id of this upgrade."
    )
    blue_revision: Word | None = Field(default=None, description="Revision that serves.")
    green_revision: Word | None = Field(default=None, description="Revision that takes over.")
    blue_controller_revision: Word | None = Field(
        default=None,
        description="Controller revision of a blue pool without a revision.",
    )
    blue_image: Text | None = Field(default=None, description="Image of blue, pinned.")
    green_image: Text | None = Field(default=None, description="Image of green, pinned.")
    green_version: Word | None = Field(default=None, description="Version of green.")
    blue_replicas: int | None = Field(default=None, description="Servers of blue.", ge=1, le=64)
    green_replicas: int | None = Field(default=None, description="Servers of green.", ge=1, le=64)
    manual_promotion_required: bool | None = Field(
        default=None, description="Whether green waits for spec.upgrade.requests.promote."
    )
    manual_cleanup_required: bool | None = Field(
        default=None, description="Whether blue is kept until spec.upgrade.requests.cleanup."
    )
    start_time: Timestamp | None = Field(default=None, description="When this phase began.")
    job_failure_count: Count | None = Field(default=None, description="Failed Jobs in this phase.")
    last_job_failure: Text | None = Field(default=None, description="How the last Job failed.")
    completed_job: Name | None = Field(default=None, description="Job of this phase that is done.")
    traffic_switched_time: Timestamp | None = Field(
        default=None, description="When clients were sent to green."
    )
    failed_revision: Word | None = Field(
        default=None, description="Revision that was given up; not tried again by itself."
    )
    pre_upgrade_snapshot_job_name: Name | None = Field(
        default=None, description="Job that takes the snapshot before the upgrade."
    )
    rollback_reason: Text | None = Field(default=None, description="Why it goes back.")
    rollback_start_time: Timestamp | None = Field(
        default=None, description="When going back began."
    )
    rollback_attempt: Count | None = Field(
        default=None, description="Number of attempts to go back."
    )
    validation_hook: ValidationHookStatus | None = Field(
        default=None, description="The Job that judges green."
    )
