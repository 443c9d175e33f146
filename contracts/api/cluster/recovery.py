"""spec.recoveryKeys: the keys of last resort, for people, made once at the first boot.

Uses contracts.api.meta. Part of ClusterSpec; rendered by contracts.hcl.self_init.
"""

from pydantic import Field

from contracts.api.meta import ApiModel, as_map
from contracts.api.values.openpgp_packets import TEXT_MAX

SHARES_MAX = 255


class Recipient(ApiModel):
    """One person who gets a share."""

    name: str = Field(
        description="Name of the recipient; the key of the share in <name>-recovery-shares.",
        examples=["alice"],
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        min_length=1,
        max_length=64,
    )
    fingerprint: str | None = Field(
        default=None,
        description=(
            "Fingerprint of the key, 40 or 64 hex digits. When given it must be that of the key."
        ),
        pattern=r"^([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})$",
        max_length=64,
    )
    pgp_public_key: str = Field(
        alias="pgpPublicKey",
        description=(
            "OpenPGP public key that the share is encrypted to: the binary key in base64, as "
            "gpg --export <user> | base64 -w0 prints it. Not armoured."
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
        description="Number of shares that together recover the key.",
        examples=[3],
        ge=1,
        le=SHARES_MAX,
    )
    recipients: tuple[Recipient, ...] = Field(
        description="Who gets the shares, one each, in this order.",
        min_length=1,
        max_length=SHARES_MAX,
        json_schema_extra=as_map("name"),
    )


class RecoveryKeys(ApiModel):
    """Keys with which people come in again when no login works any more."""

    initial: InitialRecoveryKeys | None = Field(
        default=None,
        description=(
            "Recovery keys made by the first boot, each share encrypted to the key of its "
            "recipient, never in plain text, and put into the Secret <name>-recovery-shares. "
            "Needs selfInit.enabled and a seal other than static. Later changes have no effect: "
            "rotate the keys instead."
        ),
    )
