"""OpenBaoRestore: one snapshot that is put back, once.

Uses contracts.api.meta. The spec never changes. Called by managers.restore and the CRD generator.
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
"""Unknown: nobody can tell whether the snapshot was put back; it is never sent again."""
ENDED: frozenset[RestorePhase] = frozenset({"Completed", "Failed"})
Stage = Literal["Prepared", "Committed", "Created", "TerminalObserved", "Recovering", "Unknown"]
KEY_PATTERN = r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$"


class RestoreSource(ApiModel):
    """Which snapshot: by the name of its OpenBaoBackup, or by store and key."""

    backup: SubdomainName | None = Field(
        default=None,
        description="OpenBaoBackup in the same namespace. This, or target and key.",
        examples=["production-20260101-030000"],
    )
    target: BackupTarget | None = Field(default=None, description="Where the snapshot is kept.")
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
        description="Id that OpenBao gave to the cluster of the snapshot; checked before sending.",
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
    """What to put back, and where. Never changes."""

    cluster: str = Field(
        description="OpenBaoCluster in the same namespace that gets the data.",
        examples=["production"],
        min_length=1,
        max_length=CLUSTER_NAME_MAX,
        pattern=CLUSTER_NAME_PATTERN,
    )
    source: RestoreSource = Field(description="The snapshot.")
    jwt_auth_role: JwtRole | None = Field(
        default=None,
        alias="jwtAuthRole",
        description="Role of jwt-operator that restores; left out, that of the cluster.",
    )
    token_secret_ref: SecretReference | None = Field(
        default=None, description="Secret whose key `token` holds a token that may restore."
    )
    image: Image | None = Field(
        default=None, description="Image of the executor; left out, that of backups."
    )
    force: bool = Field(
        default=False,
        description=(
            "Restore whatever the state of the cluster, and let the server take a snapshot of "
            "another seal key: it may stay sealed."
        ),
    )
    override_operation_lock: bool = Field(
        default=False, description="Take the lock from a backup or an upgrade. Needs force."
    )
    cluster_template: ClusterTemplate | None = Field(
        default=None, description="Make the cluster, of one server, and restore into it."
    )
    target_lifecycle: Literal["Retain", "Disposable"] | None = Field(
        default=None, description="Keep or delete the cluster that was made; left out, Retain."
    )
    cleanup_after_seconds: int = Field(
        default=0,
        description="Seconds to keep a Disposable cluster for a look, up to a day.",
        ge=0,
        le=86400,
    )


class Execution(ApiModel):
    """Receipts: what was written down before it was done, so that nothing is done twice."""

    operation_id: Word = Field(default="", alias="operationID", description="Id of this run.")
    stage: Stage = Field(description="How far it is.")
    job_name: Name = Field(default="", description="Job that does it.")
    job_uid: Word = Field(default="", alias="jobUID", description="UID of that Job.")
    target_uid: Word = Field(default="", alias="targetUID", description="UID of the cluster.")
    lock_epoch: int = Field(default=0, description="Epoch of the lock that it runs under.", ge=0)
    prepared_at: Timestamp | None = Field(default=None, description="When it was prepared.")
    committed_at: Timestamp | None = Field(
        default=None, description="When it was decided to make the Job, once."
    )
    created_at: Timestamp | None = Field(default=None, description="When the Job was seen.")
    terminal_result: Literal["Succeeded", "Failed"] | None = Field(
        default=None, description="How the Job ended."
    )
    terminal_observed_at: Timestamp | None = Field(
        default=None, description="When that was written down."
    )


class FreshTarget(ApiModel):
    """The cluster that a restore with clusterTemplate made."""

    uid: Word = Field(default="", description="UID of that OpenBaoCluster.")
    cleanup: Literal["Pending", "Complete", "Failed"] | None = Field(
        default=None, description="How far its deletion is; only if it is Disposable."
    )


class RestoreObjectStatus(StoredStatus):
    """How far it is."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the spec that this status speaks of.", ge=0
    )
    phase: RestorePhase | None = Field(default=None, description="Where it is in its life.")
    message: Text = Field(default="", description="What it does or waits for, for a person.")
    start_time: Timestamp | None = Field(default=None, description="When it began.")
    completion_time: Timestamp | None = Field(default=None, description="When it ended.")
    snapshot_key: Text | None = Field(default=None, description="Key of what is put back.")
    snapshot_size: Size | None = Field(default=None, description="Its size in bytes.")
    execution: Execution | None = Field(default=None, description="Receipts of the run.")
    target: FreshTarget | None = Field(
        default=None, description="The cluster that was made for it; only with clusterTemplate."
    )
    submission_claim: SubmissionClaim | None = Field(
        default=None, description="Written by the job alone, before it sends anything."
    )
    report: RestoreReport | None = Field(
        default=None, description="What the job itself says; written by the job alone."
    )
    administrator_disposition: Literal["Resume", "Abandon"] | None = Field(
        default=None, description="What a person decided about an outcome that nobody knows."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Answers about the restore; RestoreComplete sums them up.",
        max_length=8,
        json_schema_extra=as_map("type"),
    )


class InvalidRestoreError(InvalidClusterError):
    """An object that is not an OpenBaoRestore that this version can read."""


class OpenBaoRestore(ApiObject):
    """A request to put a snapshot back."""

    invalid = InvalidRestoreError

    api_version: str = API_VERSION
    kind: str = RESTORE_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: RestoreSpec
    status: Annotated[RestoreObjectStatus, BeforeValidator(RestoreObjectStatus.lenient)] = Field(
        default_factory=RestoreObjectStatus
    )
