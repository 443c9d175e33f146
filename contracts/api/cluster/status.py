"""status of an OpenBaoCluster: the observed state.

Uses contracts.api.meta. Part of OpenBaoCluster. Only the status step writes it, except for
status.adminOps. Printer columns read the status, so they show the observed state and not the spec.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.cluster.status_backup import (
    BackupStatus,
    BreakGlass,
    OperationLock,
    RestoreStatus,
)
from contracts.api.cluster.status_errors import Count, LastError, Text, Word
from contracts.api.cluster.status_login import OperatorLoginStatus, RecoveryKeysStatus
from contracts.api.cluster.status_replicas import PolicyReconciliation, ReadReplicasStatus
from contracts.api.cluster.status_unseal import UnsealStatus
from contracts.api.cluster.status_upgrade import (
    BlueGreenStatus,
    ReleaseStatus,
    UpgradeRequestsStatus,
    UpgradeStatus,
)
from contracts.api.cluster.upgrade import Strategy
from contracts.api.meta import ApiModel, Condition, StoredStatus, Timestamp, as_map, as_set

OperationKind = Literal[
    "Scaling", "Growing", "Recreating", "Rolling", "Hibernating", "Waking", "Fencing", "Draining"
]
Phase = Literal["Initializing", "Running", "Upgrading", "BackingUp", "Failed"]
_Name = Annotated[str, Field(max_length=253)]


class OperationStatus(ApiModel):
    """Current operation and its progress."""

    kind: OperationKind = Field(description="Type of the operation.")
    done: int = Field(default=0, description="Number of completed steps.", ge=0)
    total: int = Field(default=0, description="Number of all steps.", ge=0)
    summary: Word = Field(default="", description="Kind and progress, such as Rolling 2/3.")
    started_at: Timestamp | None = Field(default=None, description="Time of the start.")


class FailedFirstBoot(ApiModel):
    """First boot whose self-initialization failed; recorded while its volume exists."""

    pod: _Name = Field(description="Pod of the failed server.")
    volume_uid: Word = Field(
        alias="volumeUID", description="UID of the PersistentVolumeClaim with its data."
    )
    exit_code: int = Field(description="Exit code of the server.")


class WorkloadStatus(ApiModel):
    """State of the pods and their objects."""

    last_error: LastError | None = Field(
        default=None, description="The last error; absent if none."
    )
    rolling_since: Timestamp | None = Field(
        default=None,
        description="Start of the current rollout; absent without one.",
    )
    policy_revision: Word | None = Field(
        default=None, description="Revision of the operator's policies at the last verification."
    )
    policy_reconciliation: PolicyReconciliation | None = Field(
        default=None, description="Repair of the operator's policies."
    )


class RaftStatus(ApiModel):
    """Members of the raft cluster in the leader's raft configuration."""

    voters: int = Field(default=0, description="Number of voters.", ge=0)
    non_voters: int = Field(default=0, description="Number of members without a vote.", ge=0)
    read_replicas: int | None = Field(
        default=None,
        description="Number of members that are read replicas; absent if none.",
        ge=0,
    )
    healthy_read_replicas: int | None = Field(
        default=None, description="Number of read replicas that autopilot reports healthy.", ge=0
    )
    leader: _Name = Field(default="", description="Node id of the leader.")
    cluster_id: str = Field(
        default="",
        alias="clusterID",
        description="OpenBao cluster id; servers with another id are not members.",
        max_length=64,
    )


class AutopilotStatus(ApiModel):
    """Settings of the raft autopilot."""

    applied: bool = Field(description="Whether the servers have the settings of the spec.")
    reason: Word = Field(description="Reason, one word in CamelCase.")
    message: Text = Field(default="", description="Message for users.")


class AdminOpsStatus(ApiModel):
    """State inside of OpenBao."""

    last_error: LastError | None = Field(
        default=None, description="The last error; absent if none."
    )
    raft: RaftStatus | None = Field(default=None, description="The raft cluster.")
    recovery_keys: RecoveryKeysStatus | None = Field(
        default=None, description="First recovery keys; absent if none were requested."
    )
    operator_login: OperatorLoginStatus | None = Field(
        default=None, description="Login of the operator; absent if it has none."
    )
    autopilot: AutopilotStatus | None = Field(default=None, description="Autopilot of raft.")


class ClusterStatus(StoredStatus):
    """Observed state of the cluster."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the observed spec.", ge=0
    )
    phase: Phase | None = Field(
        default=None,
        description=(
            "Initializing until the cluster serves for the first time, then Running. The "
            "conditions show its health."
        ),
    )
    active_leader: _Name = Field(default="", description="Active pod; empty if unknown.")
    ready: str = Field(
        default="",
        description="Ready servers and desired servers.",
        examples=["2/3"],
        pattern=r"^([0-9]+/[0-9]+)?$",
        max_length=16,
    )
    ready_replicas: int = Field(default=0, description="Number of ready servers.", ge=0)
    replicas: int = Field(default=0, description="Number of server pods.", ge=0)
    selector: str = Field(
        default="", description="Selector of the server pods, for kubectl scale.", max_length=1024
    )
    sealed: Literal["true", "false", "unknown"] | None = Field(
        default=None, description="Whether a server is sealed."
    )
    current_version: str = Field(default="", description="Running OpenBao version.", max_length=64)
    accepted_upgrade_strategy: Strategy | None = Field(
        default=None, description="Upgrade strategy that was accepted while no upgrade ran."
    )
    initialized: bool = Field(default=False, description="Whether OpenBao is initialized.")
    self_initialized: bool = Field(
        default=False,
        description="Whether the cluster initialized itself, so that there is no root token.",
    )
    failed_first_boot: FailedFirstBoot | None = Field(
        default=None, description="First boot whose self-initialization failed; absent if none."
    )
    operation: OperationStatus | None = Field(
        default=None, description="Current operation; absent if none."
    )
    unseal: UnsealStatus | None = Field(default=None, description="Keys of the static seal.")
    tls_secrets: tuple[_Name, ...] | None = Field(
        default=None,
        description=(
            "User-provided Secrets with the server certificate: that of the spec, and previous "
            "Secrets that pods still mount."
        ),
        max_length=16,
        json_schema_extra=as_set(),
    )
    workload: WorkloadStatus | None = Field(default=None, description="Pods and their objects.")
    resumed_at: Timestamp | None = Field(
        default=None,
        description="End of the last pause. Deadlines start no earlier.",
    )
    admin_ops: AdminOpsStatus | None = Field(default=None, description="State inside of OpenBao.")
    read_replicas: ReadReplicasStatus | None = Field(
        default=None, description="Servers without a vote."
    )
    release: ReleaseStatus | None = Field(
        default=None, description="Target release of the servers."
    )
    upgrade: UpgradeStatus | None = Field(
        default=None, description="Running or failed rolling upgrade; absent if none."
    )
    upgrade_requests: UpgradeRequestsStatus | None = Field(
        default=None, description="Upgrade requests that were handled."
    )
    blue_green: BlueGreenStatus | None = Field(
        default=None, description="The last blue/green upgrade."
    )
    backup: BackupStatus | None = Field(default=None, description="Scheduled snapshots.")
    last_backup_time: Timestamp | None = Field(
        default=None,
        description="Deprecated alias of backup.lastBackupTime; read and never written.",
    )
    restore: RestoreStatus | None = Field(
        default=None, description="Last restore, and the restart of the servers after it."
    )
    operation_lock: OperationLock | None = Field(
        default=None,
        description="Operation lock: the operation that may change data; absent if none.",
    )
    operation_lock_epoch: Count | None = Field(
        default=None, description="Number of previous and current lock holders. Never decreases."
    )
    break_glass: BreakGlass | None = Field(
        default=None,
        description="Break glass: automatic changes are stopped until a user acknowledges. Absent "
        "if it never happened.",
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Conditions of the cluster. Ready is the summary.",
        max_length=64,
        json_schema_extra=as_map("type"),
    )
