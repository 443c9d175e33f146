"""spec.upgrade: how one version of OpenBao takes the place of another.

Uses contracts.api.meta. Part of ClusterSpec.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.cluster.backup import JwtRole
from contracts.api.cluster.pods import Image, Token
from contracts.api.meta import ApiModel, Duration, SecretReference

Strategy = Literal["RollingUpdate", "BlueGreen"]
_Word = Annotated[str, Field(max_length=4096)]


class UpgradeRequests(ApiModel):
    """Orders to an upgrade; each is carried out once whenever its text changes."""

    retry: Token | None = Field(
        default=None, description="Try again what failed.", examples=["try-2"]
    )
    promote: Token | None = Field(
        default=None, description="Promote a green pool that is held.", examples=["go-1"]
    )
    rollback: Token | None = Field(
        default=None,
        description="Give up an upgrade of strategy BlueGreen and go back.",
        examples=["back-1"],
    )
    cleanup: Token | None = Field(
        default=None,
        description="Remove a blue pool that is held once green leads; this cannot be undone.",
        examples=["remove-1"],
    )


class PrePromotionHook(ApiModel):
    """A Job that judges the green pool before its promotion."""

    image: Image = Field(description="Image of the Job.")
    command: tuple[_Word, ...] = Field(
        default=(), description="Command of the Job; left out, the image's own.", max_length=64
    )
    args: tuple[_Word, ...] = Field(
        default=(), description="Arguments of the Job; left out, the image's own.", max_length=64
    )
    timeout_seconds: int = Field(
        default=300, description="Seconds that the Job may take.", ge=1, le=86400
    )


class Verification(ApiModel):
    """What the green pool has to show before its promotion."""

    min_sync_duration: Duration | None = Field(
        default=None,
        description="How long green must have been healthy, a Go duration; left out, not at all.",
        examples=["5m"],
    )
    pre_promotion_hook: PrePromotionHook | None = Field(
        default=None, description="A Job that judges; left out, none."
    )


class AutoRollback(ApiModel):
    """When an upgrade goes back by itself."""

    enabled: bool = Field(default=True, description="Go back without being asked.")
    on_job_failure: bool = Field(
        default=True, description="When Jobs of the upgrade failed maxJobFailures times."
    )
    on_validation_failure: bool = Field(default=True, description="When the hook said no.")
    stabilization_seconds: int = Field(
        default=60, description="Seconds that blue is kept once green serves.", ge=0, le=604800
    )


class BlueGreen(ApiModel):
    """A second pool of servers that takes over."""

    auto_promote: bool = Field(
        default=True, description="Promote green by itself; false waits for requests.promote."
    )
    auto_cleanup: bool = Field(
        default=True,
        description=(
            "Remove blue by itself once stabilizationSeconds are over; false waits for "
            "requests.cleanup."
        ),
    )
    max_job_failures: int = Field(
        default=5, description="Failures of a Job before the upgrade is given up.", ge=1, le=100
    )
    pre_upgrade_snapshot: bool = Field(
        default=False,
        description="Take a snapshot first; preUpgradeSnapshot does the same. Needs spec.backup.",
    )
    verification: Verification | None = Field(
        default=None, description="What green has to show; left out, that it is in sync."
    )
    auto_rollback: AutoRollback | None = Field(
        default=None, description="When the upgrade goes back by itself; left out, always."
    )


class Upgrade(ApiModel):
    """How versions change."""

    strategy: Strategy = Field(
        default="RollingUpdate",
        description=(
            "RollingUpdate: one server at a time, the leader last. BlueGreen: a second pool of "
            "servers takes over."
        ),
    )
    image: Image | None = Field(
        default=None,
        description="Image of the executor; left out, the operator's own.",
    )
    pre_upgrade_snapshot: bool = Field(
        default=False,
        description="Take a snapshot first, and do not start without. Needs spec.backup.",
    )
    jwt_auth_role: JwtRole | None = Field(
        default=None,
        alias="jwtAuthRole",
        description=(
            "Role of jwt-operator that upgrades; left out, openbao-operator-upgrade if "
            "selfInit.oidc is enabled."
        ),
        examples=["openbao-operator-upgrade"],
    )
    token_secret_ref: SecretReference | None = Field(
        default=None,
        description="Older way to log in, by the key `token` of a Secret; use jwtAuthRole.",
    )
    requests: UpgradeRequests | None = Field(default=None, description="Orders to an upgrade.")
    blue_green: BlueGreen | None = Field(
        default=None, description="Settings of strategy BlueGreen."
    )
