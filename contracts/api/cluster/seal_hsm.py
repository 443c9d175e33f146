"""The blocks of spec.unseal for hardware security modules: kmip and pkcs11.

Uses contracts.api.meta and contracts.naming.mount_paths. Part of contracts.api.cluster.seal.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import ApiModel, DataKey
from contracts.naming.mount_paths import SEAL_CREDENTIALS

Text = Annotated[str, Field(min_length=1, max_length=512)]
File = Annotated[str, Field(pattern=r"^/[^\x00-\x1f]*$", min_length=2, max_length=512)]
EnvironmentName = Annotated[
    str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", min_length=1, max_length=128)
]
Algorithm = Literal["AES_GCM", "RSA_OAEP_SHA256", "RSA_OAEP_SHA384", "RSA_OAEP_SHA512"]
_MOUNTED = "see unseal.credentialsSecretRef"


class Kmip(ApiModel):
    """A key of a KMIP server."""

    endpoint: Text | None = Field(
        default=None, description="Host and port of the server.", examples=["kmip.example.com:5696"]
    )
    kms_key_id: Text | None = Field(
        default=None, alias="kmsKeyID", description="Id of the key.", examples=["1"]
    )
    client_cert: File | None = Field(
        default=None, description=f"File with the client certificate; {_MOUNTED}."
    )
    client_key: File | None = Field(
        default=None, description=f"File with the key of the client certificate; {_MOUNTED}."
    )
    ca_cert: File | None = Field(
        default=None, description=f"File with the CA certificate of the server; {_MOUNTED}."
    )
    server_name: Text | None = Field(
        default=None, description="Name that the certificate of the server must have."
    )
    timeout: int | None = Field(
        default=None,
        description="Timeout of a request in seconds.",
        ge=1,
        le=3600,
        examples=[10],
    )
    encrypt_alg: Algorithm | None = Field(
        default=None, description="Encryption algorithm of the key."
    )
    tls12_ciphers: Text | None = Field(
        default=None, description="Cipher suites of TLS 1.2, separated by commas."
    )
    disabled: bool | None = Field(
        default=None, description="Marks this seal as the old seal of a migration."
    )
    address: Text | None = Field(default=None, description="Deprecated alias of endpoint.")
    certificate: File | None = Field(default=None, description="Deprecated alias of clientCert.")
    key: File | None = Field(default=None, description="Deprecated alias of clientKey.")
    tls_server_name: Text | None = Field(
        default=None, description="Deprecated alias of serverName."
    )
    tls_skip_verify: bool | None = Field(
        default=None, description="Not supported: the server has no such setting."
    )

    def newest(self) -> "Kmip":
        """Return the settings without deprecated aliases; the new field takes precedence."""
        return self.model_copy(
            update={
                "endpoint": self.endpoint or self.address,
                "client_cert": self.client_cert or self.certificate,
                "client_key": self.client_key or self.key,
                "server_name": self.server_name or self.tls_server_name,
                "address": None,
                "certificate": None,
                "key": None,
                "tls_server_name": None,
            }
        )


class RuntimeSource(ApiModel):
    """Variable of the servers from the credentials Secret."""

    name: EnvironmentName = Field(
        description="Name of the variable.", examples=["ChrystokiConfigurationPath"]
    )
    secret_key: DataKey = Field(
        description="Key of the credentials Secret.", examples=["Chrystoki.conf"]
    )


class Pkcs11Runtime(ApiModel):
    """Environment of the vendor library."""

    library_path: File | None = Field(
        default=None,
        description="Directory with additional vendor libraries (LD_LIBRARY_PATH).",
        examples=["/opt/hsm/lib"],
    )
    env: tuple[RuntimeSource, ...] = Field(
        default=(),
        description="Variables with the value of a key of credentialsSecretRef.",
        max_length=16,
    )
    file_env: tuple[RuntimeSource, ...] = Field(
        default=(),
        description=f"Variables with the path of the file of a key, {SEAL_CREDENTIALS}/<key>.",
        max_length=16,
    )


class Pkcs11(ApiModel):
    """A key of a hardware security module."""

    lib: File = Field(
        description="Vendor library in the image of the servers.",
        examples=["/usr/lib/softhsm/libsofthsm2.so"],
    )
    slot: Text | None = Field(
        default=None, description="Number of the slot. This or tokenLabel.", examples=["0"]
    )
    token_label: Text | None = Field(
        default=None, description="Label of the token. This or slot.", examples=["openbao"]
    )
    pin: Text | None = Field(
        default=None,
        description=(
            "PIN of the token. Discouraged, because every user who may read the cluster can read "
            "it; use the key BAO_HSM_PIN of credentialsSecretRef."
        ),
    )
    key_label: Text = Field(description="Label of the key.", examples=["unseal"])
    key_id: Text | None = Field(
        default=None, alias="keyID", description="Id of the key, in hexadecimal digits."
    )
    mechanism: Text | None = Field(
        default=None,
        description="Number of the wrapping mechanism; if not set, it depends on the key.",
        examples=["0x1087"],
    )
    disable_software_encryption: bool | None = Field(
        default=None,
        description="Whether the module does all cryptographic operations, also those with the "
        "public key.",
    )
    rsa_oaep_hash: Literal["sha1", "sha224", "sha256", "sha384", "sha512"] | None = Field(
        default=None, alias="rsaOAEPHash", description="Hash of RSA-OAEP."
    )
    disabled: bool | None = Field(
        default=None, description="Marks this seal as the old seal of a migration."
    )
    runtime: Pkcs11Runtime | None = Field(
        default=None, description="Environment of the vendor library."
    )
    hmac_key_label: Text | None = Field(
        default=None, description="Not supported: the server has no such setting."
    )
    generate_key: bool | None = Field(
        default=None, description="Not supported: the key must exist before the first start."
    )
    rsa_encrypt_local: bool | None = Field(
        default=None, description="Not supported: use disableSoftwareEncryption."
    )
