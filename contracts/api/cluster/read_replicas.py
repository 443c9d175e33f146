"""spec.readReplicas: servers without a vote that answer reads.

Uses contracts.api.meta and its neighbours. Part of ClusterSpec.
"""

from pydantic import Field

from contracts.api.cluster.network import ServiceType
from contracts.api.cluster.pods import PodMetadata, Resources
from contracts.api.cluster.scheduling import Scheduling
from contracts.api.meta import Annotations, ApiModel, Quantity, SubdomainName

READ_REPLICAS_MAX = 30


class ReadService(ApiModel):
    """The Service <name>-read of the read replicas."""

    enabled: bool = Field(default=False, description="Make the Service.")
    type: ServiceType = Field(default="ClusterIP", description="Kind of Service.")
    annotations: Annotations | None = Field(
        default=None,
        description="Annotations of the Service.",
        examples=[{"service.kubernetes.io/topology-mode": "Auto"}],
    )


class ReadPodTemplate(ApiModel):
    """The pods of the read replicas, as far as they may differ from the voters."""

    metadata: PodMetadata | None = Field(default=None, description="More metadata of the pods.")
    resources: Resources | None = Field(
        default=None, description="Requests and limits; left out, as spec.resources."
    )
    scheduling: Scheduling | None = Field(default=None, description="Where the pods run.")


class ReadStorage(ApiModel):
    """The data volume of each read replica."""

    size: Quantity | None = Field(
        default=None,
        description="Size of each volume in bytes, as a quantity; left out, as spec.storage.size.",
        examples=["10Gi"],
    )
    storage_class_name: SubdomainName | None = Field(
        default=None,
        description="StorageClass; left out, as spec.storage.storageClassName.",
        examples=["fast-ssd"],
    )


class ReadReplicas(ApiModel):
    """Servers without a vote, for ever."""

    replicas: int = Field(
        default=0,
        description=f"Number of read replicas, up to {READ_REPLICAS_MAX}.",
        examples=[2],
        ge=0,
        le=READ_REPLICAS_MAX,
    )
    service: ReadService | None = Field(default=None, description="The Service <name>-read.")
    template: ReadPodTemplate | None = Field(default=None, description="The pods.")
    storage: ReadStorage | None = Field(default=None, description="The volumes.")
