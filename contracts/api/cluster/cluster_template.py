"""The shape of a cluster that a restore makes for itself.

Uses contracts.api.meta and its neighbours. Part of spec.backup.restoreTest, and of the spec of a
restore into a fresh cluster. It has one server.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.cluster.network import ServiceAccountSpec
from contracts.api.cluster.pods import Image, InitContainer, PodMetadata, Resources
from contracts.api.cluster.storage import StorageSpec
from contracts.api.meta import ApiModel, FreeObject, SecretReference, as_map


class TemplateTls(ApiModel):
    """Certificates of the fresh cluster."""

    enabled: bool = Field(default=True, description="Serve HTTPS. Must be true.")
    mode: Literal["OperatorManaged", "External"] = Field(
        default="OperatorManaged", description="Who issues the certificates, as in spec.tls."
    )
    rotation_period: Annotated[str, Field(max_length=32)] | None = Field(
        default=None, description="As spec.tls.rotationPeriod, a Go duration; left out, 720h."
    )


class TemplateSeal(ApiModel):
    """The seal of the fresh cluster: it has to open what the snapshot was sealed with."""

    type: Annotated[str, Field(min_length=1, max_length=32)] = Field(
        default="static", description="Kind of seal, as in spec.unseal."
    )
    credentials_secret_ref: SecretReference | None = Field(
        default=None, description="Secret with what the seal needs, as in spec.unseal."
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
        description="OpenBao version; left out, that of the snapshot.",
        examples=["2.7.0"],
    )
    image: Image | None = Field(
        default=None,
        description="Image of the server; left out, the operator's own choice for the version.",
        examples=["registry.example.com/openbao/openbao:2.7.0"],
    )
    image_pull_secrets: tuple[SecretReference, ...] = Field(
        default=(),
        description="Secrets to pull the image with, at most two.",
        max_length=2,
        json_schema_extra=as_map("name"),
    )
    storage: StorageSpec | None = Field(
        default=None, description="The data volume; left out, as the cluster's own."
    )
    tls: TemplateTls | None = Field(default=None, description="Certificates.")
    unseal: TemplateSeal | None = Field(
        default=None, description="Seal of the server; left out, that of the cluster."
    )
    service_account: ServiceAccountSpec | None = Field(
        default=None, description="The ServiceAccount of the pod."
    )
    pod_metadata: PodMetadata | None = Field(default=None, description="More metadata of the pod.")
    plugins: tuple[FreeObject, ...] = Field(
        default=(), description="Plugins of type kms, as spec.plugins.", max_length=8
    )
    resources: Resources | None = Field(
        default=None, description="Requests and limits of the server container."
    )
    init_container: InitContainer | None = Field(
        default=None,
        description="Accepted and not needed: no configuration is rendered in the pod.",
    )
