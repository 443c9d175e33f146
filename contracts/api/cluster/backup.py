"""spec.backup and spec.restore: scheduled snapshots, their test, and the login of restores.

Uses contracts.api.meta and its neighbours. Part of ClusterSpec.
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
"""Five fields of cron: minute, hour, day of the month, month, day of the week; in UTC."""
JwtRole = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$", min_length=1, max_length=128),
]
"""The name of a role of the auth method jwt-operator."""


class Retention(ApiModel):
    """Which snapshots go."""

    max_count: int = Field(
        default=0,
        description="Number of the newest snapshots to keep; 0 keeps all.",
        examples=[14],
        ge=0,
        le=100_000,
    )
    max_age: Duration | None = Field(
        default=None,
        description="Age after which a snapshot is deleted, a Go duration; left out, no limit.",
        examples=["720h"],
    )
    dry_run: bool = Field(
        default=False,
        description="Delete nothing; status.report of the OpenBaoBackup lists what would be "
        "deleted.",
    )


# No step begins with a dot, so none is `..`.
CanaryPath = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+$",
        min_length=3,
        max_length=256,
    ),
]


class RestoreTest(ApiModel):
    """A restore into a throw-away server, to know that snapshots are good."""

    schedule: Cron | None = Field(
        default=None,
        description="When to test: five fields of cron, in UTC. This or everySuccessfulBackups.",
        examples=["0 5 * * 0"],
    )
    every_successful_backups: int | None = Field(
        default=None,
        description="Test after this number of good snapshots. This or schedule.",
        examples=[7],
        ge=1,
        le=10_000,
    )
    canary_path: CanaryPath | None = Field(
        default=None,
        description=(
            "Path in OpenBao that the role of backups may read; the restored server must show the "
            "same content. Its digest is kept beside each snapshot: no place for a secret. Left "
            "out, the policy of backups."
        ),
        examples=["secret/data/canary"],
    )
    namespace: SubdomainName | None = Field(
        default=None,
        description=(
            "Not served: a test makes no cluster, but a server within the pod of its job, in the "
            "namespace of the backup."
        ),
        max_length=63,
    )
    credentials_secret_ref: SecretReference | None = Field(
        default=None,
        description="Not served: the credentials of the backup are used, in its namespace.",
    )
    cleanup_after_seconds: int = Field(
        default=0,
        description="Not served: nothing is left but the log of the job, for an hour.",
        ge=0,
        le=86400,
    )
    cluster_template: ClusterTemplate | None = Field(
        default=None,
        description="Not served: the server of a test has image and seal of the cluster's own.",
    )


class Backup(ApiModel):
    """Scheduled snapshots."""

    schedule: Cron = Field(
        description="When to take a snapshot: five fields of cron, in UTC.", examples=["0 3 * * *"]
    )
    target: BackupTarget = Field(description="Where snapshots are kept.")
    jwt_auth_role: JwtRole | None = Field(
        default=None,
        alias="jwtAuthRole",
        description=(
            "Role of jwt-operator that takes the snapshot; left out, openbao-operator-backup if "
            "selfInit.oidc is enabled."
        ),
        examples=["openbao-operator-backup"],
    )
    token_secret_ref: SecretReference | None = Field(
        default=None,
        description="Secret whose key `token` holds a token that may take snapshots.",
    )
    retention: Retention | None = Field(
        default=None, description="Which snapshots are deleted; left out, none."
    )
    image: Image | None = Field(
        default=None,
        description="Image of the backup Job; left out, that of the operator.",
    )
    restore_test: RestoreTest | None = Field(
        default=None, description="Test restores; left out, none."
    )


class RestoreLogin(ApiModel):
    """How restore jobs log in."""

    jwt_auth_role: JwtRole | None = Field(
        default=None,
        alias="jwtAuthRole",
        description=(
            "Role of jwt-operator that restores; left out, openbao-operator-restore if "
            "selfInit.oidc is enabled."
        ),
        examples=["openbao-operator-restore"],
    )
