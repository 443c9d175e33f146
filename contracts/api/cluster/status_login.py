"""Parts of status.adminOps: recovery keys, and the keys of the operator's login.

Uses contracts.api.meta. Part of AdminOpsStatus.
"""

from pydantic import Field

from contracts.api.meta import ApiModel


class RecoveryKeysStatus(ApiModel):
    """State of spec.recoveryKeys.initial."""

    stored: bool = Field(
        default=False,
        description=(
            "Whether the encrypted shares are in the Secret <name>-recovery-shares. The "
            "operator never writes that Secret again, also after its deletion."
        ),
    )
    nonce: str = Field(
        default="", description="Nonce of these keys from the server.", max_length=64
    )
    reason: str = Field(
        default="",
        description="Reason why the shares are not stored, one word in CamelCase.",
        max_length=128,
    )
    message: str = Field(
        default="",
        description="Message for users: why the shares are not stored.",
        max_length=1024,
    )


class OperatorLoginStatus(ApiModel):
    """Keys with which OpenBao verifies the ServiceAccount tokens of the operator and its Jobs."""

    keys: str = Field(
        default="",
        description="Digest of the issuer and keys of the API server at the last check.",
        max_length=64,
    )
    reason: str = Field(
        default="", description="Reason of a failed login, one word in CamelCase.", max_length=128
    )
    problem: str = Field(
        default="", description="Message for users about a failed login.", max_length=1024
    )
    root_token_secret: str = Field(
        default="",
        description=(
            "UID and resource version of the Secret <name>-root-token when its token was last "
            "used or not needed. It is used again if the login is rejected and the Secret changed."
        ),
        max_length=128,
    )
    shared_audience: bool = Field(
        default=False,
        description="Whether the roles accept only the audience that all clusters share.",
    )
