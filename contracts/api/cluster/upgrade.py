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
        default=None, description="Retry a failed upgrade.", examples=["try-2"]
    )
    promote: Token | None = Field(
        default=None, description="Promote a green pool that is held.", examples=["go-1"]
    )
    rollback: Token | None = Field(
        default=None,
        description="Roll back an upgrade of strategy BlueGreen.",
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
        default=300, description="Deadline of the Job in seconds.", ge=1, le=86400
    )


class Verification(ApiModel):
    """What the green pool has to show before its promotion."""

    min_sync_duration: Duration | None = Field(
        default=None,
        description="Time for which green must be healthy, a Go duration; left out, none.",
        examples=["5m"],
    )
    pre_promotion_hook: PrePromotionHook | None = Field(
        default=None, description="Job that validates green; left out, none."
    )


class AutoRollback(ApiModel):
    """When an upgrade goes back by itself."""

    enabled: bool = Field(default=True, description="Roll back automatically.")
    on_job_failure: bool = Field(
        default=True, description="Roll back after maxJobFailures failed Jobs."
    )
    on_validation_failure: bool = Field(
        default=True, description="Roll back when the validation hook fails."
    )
    stabilization_seconds: int = Field(
        default=60,
        description="Seconds for which blue is kept after green serves.",
        ge=0,
        le=604800,
    )


class BlueGreen(ApiModel):
    """A second pool of servers that takes over."""

    auto_promote: bool = Field(
        default=True, description="Promote green automatically; false waits for requests.promote."
    )
    auto_cleanup: bool = Field(
        default=True,
        description=(
            "Remove blue automatically after stabilizationSeconds; false waits for "
            "requests.cleanup."
        ),
    )
    max_job_failures: int = Field(
        default=5, description="Number of failed Jobs after which the upgrade fails.", ge=1, le=100
    )
    pre_upgrade_snapshot: bool = Field(
        default=False,
        description="Take a snapshot first; preUpgradeSnapshot does the same. Needs spec.backup.",
    )
    verification: Verification | None = Field(
        default=None, description="Verification of green; left out, green must be in sync."
    )
    auto_rollback: AutoRollback | None = Field(
        default=None, description="Automatic rollback; left out, enabled."
    )


class Upgrade(ApiModel):
    """Upgrades."""

    strategy: Strategy = Field(
        default="RollingUpdate",
        description=(
            "RollingUpdate: one server at a time, the leader last. BlueGreen: a second pool of "
            "servers takes over."
        ),
    )
    image: Image | None = Field(
        default=None,
        description="Image of upgrade Jobs; left out, that of the operator.",
    )
    pre_upgrade_snapshot: bool = Field(
        default=False,
        description="Take a snapshot before the upgrade, which does not start without it. "
        "Requires spec.backup.",
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
        description="Deprecated: Secret whose key `token` holds a token. Use jwtAuthRole.",
    )
    requests: UpgradeRequests | None = Field(default=None, description="Requests to an upgrade.")
    blue_green: BlueGreen | None = Field(
        default=None, description="Settings of strategy BlueGreen."
    )
