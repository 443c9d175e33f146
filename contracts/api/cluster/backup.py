"""spec.backup and spec.restore: scheduled snapshots, restore tests, and the login of restores.

Uses contracts.api.meta and contracts.api.cluster. Part of ClusterSpec.
"""

from typing import Annotated

from pydantic import Field

from contracts.api.cluster.cluster_template import ClusterTemplate
from contracts.api.cluster.pods import Image
from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.meta import ApiModel, Duration, SecretReference, SubdomainName

Cron = Annotated[
    str,
    Field(
        pattern=r"^[0-9A-Za-z*/,?-]+( [0-9A-Za-z*/,?-]+){4}$",
        min_length=9,
        max_length=128,
        examples=["0 3 * * *"],
    ),
]
"""Five cron fields: minute, hour, day of the month, month, day of the week; in UTC."""
JwtRole = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$", min_length=1, max_length=128),
]
"""The name of a role of the auth method jwt-operator."""


class Retention(ApiModel):
    """Snapshots to delete."""

    max_count: int = Field(
        default=0,
        description="Number of the newest snapshots to keep; 0 keeps all.",
        examples=[14],
        ge=0,
        le=100_000,
    )
    max_age: Duration | None = Field(
        default=None,
        description="Age after which a snapshot is deleted, a Go duration; if not set, no limit.",
        examples=["720h"],
    )
    dry_run: bool = Field(
        default=False,
        description="Delete nothing; status.report of the OpenBaoBackup lists the snapshots that "
        "would be deleted.",
    )


# No element begins with a dot, so none is `..`.
CanaryPath = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+$",
        min_length=3,
        max_length=256,
    ),
]


class RestoreTest(ApiModel):
    """Restores of snapshots into a temporary server, to verify them."""

    schedule: Cron | None = Field(
        default=None,
        description="Schedule of tests: five cron fields, in UTC. This or everySuccessfulBackups.",
        examples=["0 5 * * 0"],
    )
    every_successful_backups: int | None = Field(
        default=None,
        description="Test after this number of successful backups. This or schedule.",
        examples=[7],
        ge=1,
        le=10_000,
    )
    canary_path: CanaryPath | None = Field(
        default=None,
        description=(
            "Path in OpenBao that the role of backups may read; the restored server must return "
            "the same content. Its digest is stored with each snapshot, so do not use a secret. If "
            "not set, the policy of backups."
        ),
        examples=["secret/data/canary"],
    )
    namespace: SubdomainName | None = Field(
        default=None,
        description=(
            "Not supported: a test starts a server in the pod of its Job, in the namespace of the "
            "backup, and not a cluster."
        ),
        max_length=63,
    )
    credentials_secret_ref: SecretReference | None = Field(
        default=None,
        description="Not supported: a test uses the credentials of the backup, in its namespace.",
    )
    cleanup_after_seconds: int = Field(
        default=0,
        description="Not supported: only the Job with its log remains, for an hour.",
        ge=0,
        le=86400,
    )
    cluster_template: ClusterTemplate | None = Field(
        default=None,
        description="Not supported: the server of a test has the image and the seal of the "
        "cluster.",
    )


class Backup(ApiModel):
    """Scheduled snapshots."""

    schedule: Cron = Field(
        description="Schedule of snapshots: five cron fields, in UTC.", examples=["0 3 * * *"]
    )
    target: BackupTarget = Field(description="Store of the snapshots.")
    jwt_auth_role: JwtRole | None = Field(
        default=None,
        alias="jwtAuthRole",
        description=(
            "Role of jwt-operator for snapshots; if not set, openbao-operator-backup if "
            "selfInit.oidc is enabled."
        ),
        examples=["openbao-operator-backup"],
    )
    token_secret_ref: SecretReference | None = Field(
        default=None,
        description="Secret with a token for snapshots in its key `token`.",
    )
    retention: Retention | None = Field(
        default=None, description="Snapshots to delete; if not set, none."
    )
    image: Image | None = Field(
        default=None,
        description="Image of the backup Job; if not set, that of the operator.",
    )
    restore_test: RestoreTest | None = Field(
        default=None, description="Test restores; if not set, none."
    )


class RestoreLogin(ApiModel):
    """Login of restore Jobs."""

    jwt_auth_role: JwtRole | None = Field(
        default=None,
        alias="jwtAuthRole",
        description=(
            "Role of jwt-operator for restores; if not set, openbao-operator-restore if "
            "selfInit.oidc is enabled."
        ),
        examples=["openbao-operator-restore"],
    )
