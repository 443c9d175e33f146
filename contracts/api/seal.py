"""spec.unseal: what opens the servers after a start.

Uses contracts.api.meta and contracts.paths. Part of ClusterSpec. Only the static seal is served.
"""

from typing import Literal

from pydantic import Field

from contracts.api.meta import ApiModel, FreeObject, LocalReference
from contracts.paths import UNSEAL

SealType = Literal[
    "static",
    "transit",
    "awskms",
    "azurekeyvault",
    "gcpckms",
    "kmip",
    "ocikms",
    "pkcs11",
    "kms",
]

KEY_PATH = f"{UNSEAL}/key"
KEY_ID = "operator-generated-v1"


class StaticSeal(ApiModel):
    """A key in a file."""

    current_key: str = Field(
        default=f"file://{KEY_PATH}",
        description=(
            "File of the key, as the pod sees it. Only files of the mounted Secret can be named: "
            "a key written here would end up in a ConfigMap."
        ),
        pattern=rf"^file://{UNSEAL}/[A-Za-z0-9_-][A-Za-z0-9._-]*$",
        max_length=256,
    )
    current_key_id: str = Field(
        default=KEY_ID,
        alias="currentKeyID",
        description="Name of the key. It stays tied to the bytes of the key for ever.",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=128,
    )


def _block(name: str) -> FreeObject | None:
    text = f"Settings of the seal {name}. Accepted, not served by this version."
    field: FreeObject | None = Field(default=None, description=text)
    return field


class Unseal(ApiModel):
    """What opens the servers after a start."""

    type: SealType = Field(
        default="static",
        description=(
            "Kind of seal; cannot be changed on a cluster that exists. static: a key in a Secret. "
            "The other kinds are accepted but not served by this version."
        ),
    )
    static: StaticSeal | None = Field(default=None, description="Settings of the static seal.")
    credentials_secret_ref: LocalReference | None = Field(
        default=None,
        description=(
            "Secret with what the seal needs. For the static seal: a Secret of yours whose key "
            "`key` holds 32 random bytes; the operator reads it and never changes it. Left out, "
            "the operator makes the Secret <name>-unseal-key."
        ),
    )
    transit: FreeObject | None = _block("transit")
    awskms: FreeObject | None = _block("awskms")
    azure_key_vault: FreeObject | None = _block("azurekeyvault")
    gcp_cloud_kms: FreeObject | None = Field(
        default=None,
        alias="gcpCloudKMS",
        description="Settings of the seal gcpckms. Accepted, not served by this version.",
    )
    kmip: FreeObject | None = _block("kmip")
    ocikms: FreeObject | None = _block("ocikms")
    pkcs11: FreeObject | None = _block("pkcs11")
    kms: FreeObject | None = _block("kms")

    def static_key(self) -> StaticSeal:
        """The settings of the static seal, defaults included."""
        return self.static or StaticSeal()
