"""The snapshot store of backups and restores.

Uses contracts.api.meta. Part of spec.backup, and of the spec of a restore.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import Annotations, ApiModel, Labels, SecretReference, SubdomainName

Provider = Literal["s3", "gcs", "azure", "pvc"]
PART_SIZE_MIN = 5 * 1024 * 1024
_Text = Annotated[str, Field(min_length=1, max_length=253)]


class WorkloadIdentity(ApiModel):
    """Metadata for the cloud identity of the Job. Keys of the operator take precedence."""

    service_account_annotations: Annotations | None = Field(
        default=None,
        description="Annotations of the ServiceAccount of the Job.",
        examples=[{"iam.gke.io/gcp-service-account": "bao@project.iam.gserviceaccount.com"}],
    )
    pod_labels: Labels | None = Field(
        default=None,
        description="Labels of the pod of the Job.",
        examples=[{"azure.workload.identity/use": "true"}],
    )


class GcsTarget(ApiModel):
    """Settings of Google Cloud Storage."""

    project: _Text | None = Field(
        default=None,
        description="Project of the bucket. Not supported: the name of a bucket is unique.",
    )


class AzureTarget(ApiModel):
    """Settings of Azure Blob Storage."""

    storage_account: _Text | None = Field(
        default=None, description="Storage account.", examples=["baobackups"]
    )
    container: _Text | None = Field(
        default=None, description="Container; if not set, bucket.", examples=["snapshots"]
    )


class PvcTarget(ApiModel):
    """Settings of a volume."""

    claim_name: SubdomainName = Field(
        description="PersistentVolumeClaim in the namespace of the cluster. The operator "
        "neither creates nor deletes it.",
        examples=["bao-snapshots"],
    )


class BackupTarget(ApiModel):
    """An object store, or a volume."""

    provider: Provider = Field(default="s3", description="Type of the store.")
    endpoint: Annotated[str, Field(min_length=1, max_length=2048)] | None = Field(
        default=None,
        description=(
            "URL of the store; required for s3. No loopback or link-local address; https in "
            "profile Hardened."
        ),
        examples=["https://s3.example.com"],
    )
    bucket: str = Field(
        description="Bucket, container of Azure, or directory of a volume.",
        examples=["bao-snapshots"],
        min_length=1,
        max_length=253,
    )
    path_prefix: Annotated[str, Field(max_length=512)] | None = Field(
        default=None,
        description="Prefix of every object key; if not set, none.",
        examples=["production"],
    )
    credentials_secret_ref: SecretReference | None = Field(
        default=None,
        description=(
            "Secret with the credentials. s3: accessKeyId, secretAccessKey, and if needed "
            "sessionToken, region, caCert. gcs: credentials.json, of type service_account or "
            "authorized_user. azure: accountKey or connectionString. If not set, the identity of "
            "the pod is used, which needs the verb usecloudidentities."
        ),
    )
    workload_identity: WorkloadIdentity | None = Field(
        default=None, description="Cloud identity of the pod, instead of credentials."
    )
    part_size: int = Field(
        default=10 * 1024 * 1024,
        description="Size of a part of an upload in bytes; 5242880 (5 MiB) or more.",
        ge=PART_SIZE_MIN,
        le=5 * 1024**3,
    )
    concurrency: int = Field(
        default=3, description="Number of parts sent at a time, 1 to 10.", ge=1, le=10
    )
    region: _Text | None = Field(
        default=None, description="Region of s3; if not set, us-east-1.", examples=["eu-central-1"]
    )
    role_arn: Annotated[str, Field(min_length=1, max_length=2048)] | None = Field(
        default=None,
        description="AWS role that the Job assumes with its token; s3 only.",
        examples=["arn:aws:iam::123456789012:role/bao-backup"],
    )
    use_path_style: bool = Field(
        default=False,
        description="Put the bucket into the path and not into the host name; s3 only.",
    )
    gcs: GcsTarget | None = Field(default=None, description="Only for provider gcs.")
    azure: AzureTarget | None = Field(default=None, description="Only for provider azure.")
    pvc: PvcTarget | None = Field(
        default=None, description="Volume. Required for provider pvc, and only for it."
    )
    insecure_skip_verify: bool = Field(
        default=False,
        description="Do not verify the certificate of the store. Must be false if Hardened.",
    )
