"""spec.readReplicas: servers without a vote that answer reads.

Uses contracts.api.meta and contracts.api.cluster. Part of ClusterSpec.
"""

from pydantic import Field

from contracts.api.cluster.network import ServiceType
from contracts.api.cluster.pods import PodMetadata, Resources
from contracts.api.cluster.scheduling import Scheduling
from contracts.api.meta import Annotations, ApiModel, Quantity, SubdomainName

READ_REPLICAS_MAX = 30


class ReadService(ApiModel):
    """Service <name>-read of the read replicas."""

    enabled: bool = Field(default=False, description="Create the Service.")
    type: ServiceType = Field(default="ClusterIP", description="Type of the Service.")
    annotations: Annotations | None = Field(
        default=None,
        description="Annotations of the Service.",
        examples=[{"service.kubernetes.io/topology-mode": "Auto"}],
    )


class ReadPodTemplate(ApiModel):
    """Settings of the pods of read replicas that may differ from those of voters."""

    metadata: PodMetadata | None = Field(
        default=None, description="Additional metadata of the pods."
    )
    resources: Resources | None = Field(
        default=None, description="Requests and limits; if not set, those of spec.resources."
    )
    scheduling: Scheduling | None = Field(default=None, description="Scheduling of the pods.")


class ReadStorage(ApiModel):
    """Data volume of each read replica."""

    size: Quantity | None = Field(
        default=None,
        description="Size of each volume in bytes, as a quantity; if not set, spec.storage.size.",
        examples=["10Gi"],
    )
    storage_class_name: SubdomainName | None = Field(
        default=None,
        description="StorageClass; if not set, spec.storage.storageClassName.",
        examples=["fast-ssd"],
    )


class ReadReplicas(ApiModel):
    """Servers that never get a vote."""

    replicas: int = Field(
        default=0,
        description=f"Number of read replicas, up to {READ_REPLICAS_MAX}.",
        examples=[2],
        ge=0,
        le=READ_REPLICAS_MAX,
    )
    service: ReadService | None = Field(default=None, description="Service <name>-read.")
    template: ReadPodTemplate | None = Field(default=None, description="Settings of the pods.")
    storage: ReadStorage | None = Field(default=None, description="Data volumes.")
