"""spec.upgrade: settings of upgrades, and requests to them.

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
    """Requests to an upgrade. Each is handled once whenever its text changes."""

    retry: Token | None = Field(
        default=None, description="Retry a failed upgrade.", examples=["try-2"]
    )
    promote: Token | None = Field(
        default=None, description="Promote green if autoPromote is false.", examples=["go-1"]
    )
    rollback: Token | None = Field(
        default=None,
        description="Roll back an upgrade of strategy BlueGreen.",
        examples=["back-1"],
    )
    cleanup: Token | None = Field(
        default=None,
        description="Remove blue if autoCleanup is false and green leads. This cannot be undone.",
        examples=["remove-1"],
    )


class PrePromotionHook(ApiModel):
    """Job that validates green before its promotion."""

    image: Image = Field(description="Image of the Job.")
    command: tuple[_Word, ...] = Field(
        default=(), description="Command of the Job; if not set, that of the image.", max_length=64
    )
    args: tuple[_Word, ...] = Field(
        default=(),
        description="Arguments of the Job; if not set, those of the image.",
        max_length=64,
    )
    timeout_seconds: int = Field(
        default=300, description="Deadline of the Job in seconds.", ge=1, le=86400
    )


class Verification(ApiModel):
    """Checks of green before its promotion."""

    min_sync_duration: Duration | None = Field(
        default=None,
        description="Time for which green must be healthy, a Go duration; if not set, none.",
        examples=["5m"],
    )
    pre_promotion_hook: PrePromotionHook | None = Field(
        default=None, description="Job that validates green; if not set, none."
    )


class AutoRollback(ApiModel):
    """Automatic rollback of an upgrade."""

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
    """Settings of strategy BlueGreen."""

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
        description="Take a snapshot first, as preUpgradeSnapshot does. Needs spec.backup.",
    )
    verification: Verification | None = Field(
        default=None, description="Checks of green; if not set, green must be in sync."
    )
    auto_rollback: AutoRollback | None = Field(
        default=None, description="Automatic rollback; if not set, enabled."
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
        description="Image of upgrade Jobs; if not set, that of the operator.",
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
            "Role of jwt-operator for upgrades; if not set, openbao-operator-upgrade if "
            "selfInit.oidc is enabled."
        ),
        examples=["openbao-operator-upgrade"],
    )
    token_secret_ref: SecretReference | None = Field(
        default=None,
        description="Deprecated: use jwtAuthRole. Secret with a token in its key `token`.",
    )
    requests: UpgradeRequests | None = Field(default=None, description="Requests to an upgrade.")
    blue_green: BlueGreen | None = Field(
        default=None, description="Settings of strategy BlueGreen."
    )
