"""OpenBaoRestore: the restore of one snapshot, which runs once.

Uses contracts.api.meta. The spec is immutable. Called by managers.restore and the CRD generator.
Field names: reference API of the public operator, so that its manifests work.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from contracts.api.api_object import ApiObject
from contracts.api.cluster.backup import JwtRole
from contracts.api.cluster.cluster_template import ClusterTemplate
from contracts.api.cluster.pods import Image
from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.cluster.status_errors import SNAPSHOT_MAX, Digest, Name, Size, Text, Word
from contracts.api.group import API_VERSION, RESTORE_KIND
from contracts.api.job_result import RestoreReport, SubmissionClaim
from contracts.api.meta import (
    ApiModel,
    Condition,
    ObjectMeta,
    SecretReference,
    StoredStatus,
    SubdomainName,
    Timestamp,
    as_map,
)
from contracts.api.violation import InvalidClusterError
from contracts.naming.names import CLUSTER_NAME_MAX, CLUSTER_NAME_PATTERN

RestorePhase = Literal["Pending", "Validating", "Running", "Completed", "Failed", "Unknown"]
"""Unknown: it is not known whether the snapshot was restored; it is never sent again."""
ENDED: frozenset[RestorePhase] = frozenset({"Completed", "Failed"})
Stage = Literal["Prepared", "Committed", "Created", "TerminalObserved", "Recovering", "Unknown"]
KEY_PATTERN = r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$"


class RestoreSource(ApiModel):
    """Snapshot to restore: by the name of its OpenBaoBackup, or by store and key."""

    backup: SubdomainName | None = Field(
        default=None,
        description="OpenBaoBackup in the same namespace. Excludes target and key.",
        examples=["production-20260101-030000"],
    )
    target: BackupTarget | None = Field(default=None, description="Store of the snapshot.")
    key: str | None = Field(
        default=None,
        description="Object key of the snapshot.",
        examples=["prod/team-a/production/2026-01-01T03-00-00Z-0a1b2c3d.snap"],
        min_length=1,
        max_length=1024,
        pattern=KEY_PATTERN,
    )
    expected_cluster_id: Word | None = Field(
        default=None,
        alias="expectedClusterID",
        description="OpenBao cluster id in the snapshot; checked before sending.",
    )
    expected_version: Annotated[str, Field(max_length=64)] | None = Field(
        default=None, description="OpenBao version that took the snapshot; checked before sending."
    )
    expected_digest: Digest | None = Field(
        default=None, description="SHA-256 of the snapshot; checked before sending."
    )
    expected_size: Annotated[int, Field(ge=1, le=SNAPSHOT_MAX)] | None = Field(
        default=None, description="Size of the snapshot in bytes; checked before sending."
    )


class RestoreSpec(ApiModel):
    """Snapshot to restore, and its target. Immutable."""

    cluster: str = Field(
        description="OpenBaoCluster in the same namespace to restore into.",
        examples=["production"],
        min_length=1,
        max_length=CLUSTER_NAME_MAX,
        pattern=CLUSTER_NAME_PATTERN,
    )
    source: RestoreSource = Field(description="The snapshot.")
    jwt_auth_role: JwtRole | None = Field(
        default=None,
        alias="jwtAuthRole",
        description="Role of jwt-operator for the restore; if not set, that of the cluster.",
    )
    token_secret_ref: SecretReference | None = Field(
        default=None, description="Secret with a token for the restore in its key `token`."
    )
    image: Image | None = Field(
        default=None, description="Image of the restore Job; if not set, that of backups."
    )
    force: bool = Field(
        default=False,
        description=(
            "Restore regardless of the state of the cluster, and accept a snapshot of another "
            "seal key: the servers may stay sealed."
        ),
    )
    override_operation_lock: bool = Field(
        default=False,
        description="Take the operation lock from a backup or an upgrade. Requires force.",
    )
    cluster_template: ClusterTemplate | None = Field(
        default=None, description="Create a cluster of one server and restore into it."
    )
    target_lifecycle: Literal["Retain", "Disposable"] | None = Field(
        default=None,
        description="Whether to keep or delete the created cluster; if not set, Retain.",
    )
    cleanup_after_seconds: int = Field(
        default=0,
        description="Seconds for which a Disposable cluster is kept, up to a day.",
        ge=0,
        le=86400,
    )


class Execution(ApiModel):
    """Records of the steps of a restore. Each is written before its step, so that no step runs
    twice."""

    operation_id: Word = Field(default="", alias="operationID", description="Id of this run.")
    stage: Stage = Field(description="Stage of the run.")
    job_name: Name = Field(default="", description="Name of the Job.")
    job_uid: Word = Field(default="", alias="jobUID", description="UID of the Job.")
    target_uid: Word = Field(default="", alias="targetUID", description="UID of the cluster.")
    lock_epoch: int = Field(default=0, description="Epoch of the operation lock of this run.", ge=0)
    prepared_at: Timestamp | None = Field(default=None, description="Time of the preparation.")
    committed_at: Timestamp | None = Field(
        default=None, description="Time of the decision to create the Job."
    )
    created_at: Timestamp | None = Field(
        default=None, description="Time at which the Job was observed."
    )
    terminal_result: Literal["Succeeded", "Failed"] | None = Field(
        default=None, description="Result of the Job."
    )
    terminal_observed_at: Timestamp | None = Field(default=None, description="Time of this record.")


class FreshTarget(ApiModel):
    """Cluster that a restore with clusterTemplate created."""

    uid: Word = Field(default="", description="UID of the OpenBaoCluster.")
    cleanup: Literal["Pending", "Complete", "Failed"] | None = Field(
        default=None, description="Progress of its deletion; only for Disposable clusters."
    )


class RestoreObjectStatus(StoredStatus):
    """Observed state of a restore."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the observed spec.", ge=0
    )
    phase: RestorePhase | None = Field(default=None, description="Phase of the restore.")
    message: Text = Field(
        default="", description="Message for users: what the restore does or waits for."
    )
    start_time: Timestamp | None = Field(
        default=None, description="Time at which the restore started."
    )
    completion_time: Timestamp | None = Field(
        default=None, description="Time at which the restore ended."
    )
    snapshot_key: Text | None = Field(
        default=None, description="Object key of the restored snapshot."
    )
    snapshot_size: Size | None = Field(default=None, description="Size in bytes.")
    execution: Execution | None = Field(default=None, description="Records of the run.")
    target: FreshTarget | None = Field(
        default=None, description="Created cluster; only with clusterTemplate."
    )
    submission_claim: SubmissionClaim | None = Field(
        default=None, description="Claim that the Job writes before it sends the snapshot."
    )
    report: RestoreReport | None = Field(
        default=None, description="Report of the Job, which only the Job writes."
    )
    administrator_disposition: Literal["Resume", "Abandon"] | None = Field(
        default=None, description="Decision of a user about a restore with an unknown outcome."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Conditions of the restore. RestoreComplete is the summary.",
        max_length=8,
        json_schema_extra=as_map("type"),
    )


class InvalidRestoreError(InvalidClusterError):
    """The object is not an OpenBaoRestore that this version can read."""


class OpenBaoRestore(ApiObject):
    """A restore of a snapshot."""

    invalid = InvalidRestoreError

    api_version: str = API_VERSION
    kind: str = RESTORE_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: RestoreSpec
    status: Annotated[RestoreObjectStatus, BeforeValidator(RestoreObjectStatus.lenient)] = Field(
        default_factory=RestoreObjectStatus
    )
