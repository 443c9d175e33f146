"""spec.unseal: the seal, which unseals the servers after a start.

Uses contracts.api.meta, contracts.api.cluster.seal_hsm and contracts.naming.mount_paths. Part of
ClusterSpec. It has a type and the block with its name. contracts.hcl.seals renders the blocks, and
contracts.api.rules.seal has the rules about them.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.cluster.seal_hsm import Kmip, Pkcs11
from contracts.api.meta import ApiModel, Options, SecretReference
from contracts.naming.mount_paths import SEAL_CREDENTIALS, UNSEAL

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

KEY_FILE = "key"
KEY_PATH = f"{UNSEAL}/{KEY_FILE}"
KEY_ID = "operator-generated-v1"

Text = Annotated[str, Field(min_length=1, max_length=512)]
File = Annotated[str, Field(pattern=r"^/[^\x00-\x1f]*$", min_length=2, max_length=512)]
Inline = Annotated[str, Field(min_length=1, max_length=4096)]
_MOUNTED = "see unseal.credentialsSecretRef"
_DISCOURAGED = (
    "Discouraged, because every user who may read the cluster can read it; use "
    "credentialsSecretRef."
)


class StaticSeal(ApiModel):
    """Key in a file."""

    current_key: str = Field(
        default=f"file://{KEY_PATH}",
        description=(
            "File of the key in the pod. Only a file of the mounted Secret: a key in this field "
            "would be stored in a ConfigMap. Each key of your own Secret is a file."
        ),
        pattern=rf"^file://{UNSEAL}/[A-Za-z0-9_-][A-Za-z0-9._-]*$",
        max_length=256,
    )
    current_key_id: str = Field(
        default=KEY_ID,
        alias="currentKeyID",
        description=(
            "Id of the key. It permanently identifies the bytes of the key. A new id rotates the "
            "key: the operator generates a new one, or uses the file of currentKey in your own "
            "Secret, and moves all servers to it step by step."
        ),
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=128,
    )

    @property
    def file(self) -> str:
        """The file name of the key."""
        return self.current_key.rpartition("/")[2]


class TransitSeal(ApiModel):
    """Key of the transit engine of another OpenBao."""

    address: Text = Field(
        description="Address of the other OpenBao: an https URL without a path.",
        examples=["https://bao.example.com:8200"],
    )
    token: Inline | None = Field(
        default=None, description=f"Token for the other OpenBao. {_DISCOURAGED}"
    )
    key_name: Text = Field(description="Name of the transit key.", examples=["autounseal"])
    mount_path: Text = Field(description="Path of the transit engine.", examples=["transit/"])
    namespace: Text | None = Field(
        default=None, description="Namespace in the other OpenBao.", examples=["team-a/"]
    )
    disable_renewal: bool | None = Field(default=None, description="Do not renew the token.")
    tls_ca_cert: File | None = Field(
        default=None,
        alias="tlsCACert",
        description=f"File with the CA certificate of the other OpenBao; {_MOUNTED}.",
        examples=[f"{SEAL_CREDENTIALS}/ca.crt"],
    )
    tls_client_cert: File | None = Field(
        default=None, description=f"File with the client certificate; {_MOUNTED}."
    )
    tls_client_key: File | None = Field(
        default=None, description=f"File with the key of the client certificate; {_MOUNTED}."
    )
    tls_server_name: Text | None = Field(
        default=None, description="Name that the certificate of the other OpenBao must have."
    )
    tls_skip_verify: bool | None = Field(
        default=None,
        description="Do not verify the certificate of the other OpenBao. Unsafe.",
    )


class AwsKms(ApiModel):
    """Key of AWS KMS."""

    region: Text = Field(description="Region of the key.", examples=["eu-central-1"])
    kms_key_id: Text = Field(
        alias="kmsKeyID", description="Id, ARN or alias of the key.", examples=["alias/openbao"]
    )
    endpoint: Text | None = Field(default=None, description="Private endpoint of KMS.")
    access_key: Inline | None = Field(default=None, description=f"Access key id. {_DISCOURAGED}")
    secret_key: Inline | None = Field(default=None, description=f"Secret key. {_DISCOURAGED}")
    session_token: Inline | None = Field(default=None, description=f"Token. {_DISCOURAGED}")


class AzureKeyVault(ApiModel):
    """Key of Azure Key Vault."""

    vault_name: Text = Field(description="Name of the vault.", examples=["openbao"])
    key_name: Text = Field(description="Name of the key in the vault.", examples=["unseal"])
    tenant_id: Text | None = Field(default=None, alias="tenantID", description="Tenant id.")
    client_id: Text | None = Field(default=None, alias="clientID", description="Client id.")
    client_secret: Inline | None = Field(
        default=None, description=f"Secret of the client. {_DISCOURAGED}"
    )
    resource: Text | None = Field(
        default=None,
        description="DNS suffix of the vault, for a managed HSM.",
        examples=["managedhsm.azure.net"],
    )
    environment: Text | None = Field(
        default=None, description="Name of the Azure cloud.", examples=["AzurePublicCloud"]
    )


class GcpCloudKms(ApiModel):
    """Key of Google Cloud KMS."""

    project: Text = Field(description="Project of the key.", examples=["prod"])
    region: Text = Field(description="Location of the key ring.", examples=["europe-west3"])
    key_ring: Text = Field(description="Key ring.", examples=["openbao"])
    crypto_key: Text = Field(description="Key of the ring.", examples=["unseal"])
    credentials: File | None = Field(
        default=None,
        description=f"File with the credentials; {_MOUNTED}.",
        examples=[f"{SEAL_CREDENTIALS}/credentials.json"],
    )


class OciKms(ApiModel):
    """Key of the OCI vault."""

    key_id: Text = Field(alias="keyID", description="OCID of the key.")
    crypto_endpoint: Text = Field(description="Cryptographic endpoint of the vault.")
    management_endpoint: Text = Field(description="Management endpoint of the vault.")
    auth_type_api_key: bool | None = Field(
        default=None,
        alias="authTypeAPIKey",
        description="Whether the servers log in with an API key (a profile in the key `config` of "
        "the credentials Secret) and not as their instance.",
    )
    auth_type: Text | None = Field(
        default=None,
        description="Deprecated alias of authTypeAPIKey: api_key or instance.",
        examples=["api_key"],
    )
    compartment_id: Text | None = Field(
        default=None,
        alias="compartmentID",
        description="Not supported: the server has no such setting.",
    )
    disabled: bool | None = Field(
        default=None, description="Marks this seal as the old seal of a migration."
    )

    @property
    def by_api_key(self) -> bool:
        """Whether the servers log in with an API key, by either field."""
        if self.auth_type_api_key is not None:
            return self.auth_type_api_key
        return (self.auth_type or "").lower().replace("_", "") == "apikey"


class KmsPlugin(ApiModel):
    """Seal of a plugin."""

    plugin_name: Text = Field(
        description="Name of the plugin of type kms in spec.plugins.", examples=["securosys"]
    )
    config: Options | None = Field(
        default=None,
        description="Attributes of the seal stanza of the plugin. Put no secrets here: they are "
        "stored in a ConfigMap.",
    )


class Unseal(ApiModel):
    """Seal, which unseals the servers after a start."""

    type: SealType = Field(
        default="static",
        description=(
            "Type of the seal, immutable on an existing cluster. static: a key in a Secret. Every "
            "other type needs the block with its name, and no other block."
        ),
    )
    static: StaticSeal | None = Field(default=None, description="Settings of the static seal.")
    credentials_secret_ref: SecretReference | None = Field(
        default=None,
        description=(
            "Secret with the key or credentials of the seal. For the static seal: your own Secret "
            "with 32 random bytes in its key `key`, which the operator never changes; if not set, "
            "the operator creates the Secret <name>-unseal-key. For other seals: a Secret whose "
            f"keys become files under {SEAL_CREDENTIALS} and variables of the servers; if not set, "
            "the servers use the identity of their pods."
        ),
    )
    transit: TransitSeal | None = Field(default=None, description="Settings of the seal transit.")
    awskms: AwsKms | None = Field(default=None, description="Settings of the seal awskms.")
    azure_key_vault: AzureKeyVault | None = Field(
        default=None, description="Settings of the seal azurekeyvault."
    )
    gcp_cloud_kms: GcpCloudKms | None = Field(
        default=None, alias="gcpCloudKMS", description="Settings of the seal gcpckms."
    )
    kmip: Kmip | None = Field(default=None, description="Settings of the seal kmip.")
    ocikms: OciKms | None = Field(default=None, description="Settings of the seal ocikms.")
    pkcs11: Pkcs11 | None = Field(default=None, description="Settings of the seal pkcs11.")
    kms: KmsPlugin | None = Field(default=None, description="Settings of the seal kms.")

    def static_key(self) -> StaticSeal:
        """Return the settings of the static seal, defaults included."""
        return self.static or StaticSeal()

    @property
    def secret_name(self) -> str | None:
        """The name of the user's Secret; None if there is none."""
        reference = self.credentials_secret_ref
        return reference.name if reference else None
