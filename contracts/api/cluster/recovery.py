"""spec.recoveryKeys: recovery keys for users, generated once by the first boot.

Uses contracts.api.meta. Part of ClusterSpec; rendered by contracts.hcl.self_init.
"""

from pydantic import Field

from contracts.api.meta import ApiModel, as_map
from contracts.api.values.openpgp_packets import TEXT_MAX

SHARES_MAX = 255


class Recipient(ApiModel):
    """Recipient of a share."""

    name: str = Field(
        description="Name of the recipient; the key of the share in <name>-recovery-shares.",
        examples=["alice"],
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        min_length=1,
        max_length=64,
    )
    fingerprint: str | None = Field(
        default=None,
        description="Fingerprint of pgpPublicKey, 40 or 64 hex digits. If set, it must match.",
        pattern=r"^([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})$",
        max_length=64,
    )
    pgp_public_key: str = Field(
        alias="pgpPublicKey",
        description=(
            "OpenPGP public key with which the share is encrypted: the binary key in base64, as "
            "printed by gpg --export <user> | base64 -w0. Not armored."
        ),
        examples=["mQENBGc..."],
        min_length=1,
        max_length=TEXT_MAX,
    )


class InitialRecoveryKeys(ApiModel):
    """The first recovery keys."""

    shares: int = Field(
        description="Number of shares, one per recipient.", examples=[5], ge=1, le=SHARES_MAX
    )
    threshold: int = Field(
        description="Number of shares that are required to recover the key.",
        examples=[3],
        ge=1,
        le=SHARES_MAX,
    )
    recipients: tuple[Recipient, ...] = Field(
        description="Recipients of the shares, one share each, in this order.",
        min_length=1,
        max_length=SHARES_MAX,
        json_schema_extra=as_map("name"),
    )


class RecoveryKeys(ApiModel):
    """Keys with which users can regain access when no login works."""

    initial: InitialRecoveryKeys | None = Field(
        default=None,
        description=(
            "Recovery keys that the first boot generates. Each share is encrypted with the key of "
            "its recipient and stored in the Secret <name>-recovery-shares, never in plain text. "
            "Needs selfInit.enabled and a seal other than static. Later changes have no effect: "
            "rotate the keys instead."
        ),
    )
