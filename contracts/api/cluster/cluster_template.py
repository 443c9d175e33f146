"""The template of a cluster that a restore creates.

Uses contracts.api.meta and contracts.api.cluster. Part of spec.backup.restoreTest, and of the spec
of a restore into a new cluster. The cluster has one server.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.cluster.network import ServiceAccountSpec
from contracts.api.cluster.pods import Image, InitContainer, PodMetadata, Resources
from contracts.api.cluster.storage import StorageSpec
from contracts.api.meta import ApiModel, FreeObject, SecretReference, as_map


class TemplateTls(ApiModel):
    """Certificates of the new cluster."""

    enabled: bool = Field(default=True, description="Serve HTTPS. Must be true.")
    mode: Literal["OperatorManaged", "External"] = Field(
        default="OperatorManaged", description="Source of the certificates, as in spec.tls."
    )
    rotation_period: Annotated[str, Field(max_length=32)] | None = Field(
        default=None, description="As spec.tls.rotationPeriod, a Go duration; if not set, 720h."
    )


class TemplateSeal(ApiModel):
    """Seal of the new cluster. It must be able to unseal the snapshot."""

    type: Annotated[str, Field(min_length=1, max_length=32)] = Field(
        default="static", description="Type of the seal, as in spec.unseal."
    )
    credentials_secret_ref: SecretReference | None = Field(
        default=None, description="Secret with the key or credentials, as in spec.unseal."
    )
    static: FreeObject | None = Field(default=None, description="As spec.unseal.static.")
    transit: FreeObject | None = Field(default=None, description="As spec.unseal.transit.")
    awskms: FreeObject | None = Field(default=None, description="As spec.unseal.awskms.")
    azure_key_vault: FreeObject | None = Field(
        default=None, description="As spec.unseal.azureKeyVault."
    )
    gcp_cloud_kms: FreeObject | None = Field(
        default=None, alias="gcpCloudKMS", description="As spec.unseal.gcpCloudKMS."
    )
    kmip: FreeObject | None = Field(default=None, description="As spec.unseal.kmip.")
    ocikms: FreeObject | None = Field(default=None, description="As spec.unseal.ocikms.")
    pkcs11: FreeObject | None = Field(default=None, description="As spec.unseal.pkcs11.")
    kms: FreeObject | None = Field(default=None, description="As spec.unseal.kms.")


class ClusterTemplate(ApiModel):
    """A cluster of one server."""

    version: Annotated[str, Field(min_length=5, max_length=64)] | None = Field(
        default=None,
        description="OpenBao version; if not set, that of the snapshot.",
        examples=["2.7.0"],
    )
    image: Image | None = Field(
        default=None,
        description="Image of the server; if not set, the operator's default for the version.",
        examples=["registry.example.com/openbao/openbao:2.7.0"],
    )
    image_pull_secrets: tuple[SecretReference, ...] = Field(
        default=(),
        description="Secrets with the credentials to pull the image, at most two.",
        max_length=2,
        json_schema_extra=as_map("name"),
    )
    storage: StorageSpec | None = Field(
        default=None, description="Data volume; if not set, as that of the cluster."
    )
    tls: TemplateTls | None = Field(default=None, description="Certificates.")
    unseal: TemplateSeal | None = Field(
        default=None, description="Seal of the server; if not set, that of the cluster."
    )
    service_account: ServiceAccountSpec | None = Field(
        default=None, description="ServiceAccount of the pod."
    )
    pod_metadata: PodMetadata | None = Field(
        default=None, description="Additional metadata of the pod."
    )
    plugins: tuple[FreeObject, ...] = Field(
        default=(), description="Plugins of type kms, as spec.plugins.", max_length=8
    )
    resources: Resources | None = Field(
        default=None, description="Requests and limits of the server container."
    )
    init_container: InitContainer | None = Field(
        default=None,
        description="No effect: no configuration is rendered in the pod.",
    )
