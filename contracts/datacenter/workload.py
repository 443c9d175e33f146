"""BootstrapWorkload: one service of one datacenter, with its status.

Uses contracts.datacenter.service_spec. Only the operator writes it.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from contracts.api.cluster.status_errors import Count, LastError, Name, Text, Word
from contracts.api.group import API_VERSION
from contracts.api.meta import ApiModel, Condition, ObjectMeta, StoredStatus, Timestamp, as_map
from contracts.api.tenant import NamespaceName
from contracts.datacenter.kinds import WORKLOAD_KIND
from contracts.datacenter.objects import DatacenterModel, SourceName
from contracts.datacenter.service_spec import BootstrapService

ServiceState = Literal["Pending", "Provisioning", "Running", "Failed", "Retiring", "Retired"]
REFS_MAX = 64


class WorkloadSource(ApiModel):
    """The source that declares the service."""

    name: SourceName = Field(description="One of declared, set/<name> and hook/<name>.")
    priority: int = Field(default=0, description="Priority of the source.")


class WorkloadSpec(ApiModel):
    """Desired state of one service of a datacenter."""

    datacenter: Name = Field(description="Name of the Datacenter.")
    namespace: NamespaceName = Field(description="Namespace of the objects.")
    provider: Name = Field(description="Provider of the service.")
    source: WorkloadSource = Field(description="Source of the service.")
    service: BootstrapService = Field(description="The service, as its source declares it.")
    digest: Word = Field(description="Digest of everything in this spec that is rolled out.")
    redeploy: Annotated[str, Field(max_length=253)] = Field(
        default="", description="Token of the last request to replace the pods."
    )


class ServiceRef(ApiModel):
    """An object of a service."""

    name: Name = Field(
        description="Name of the container or the service that the object belongs to."
    )
    ref: Name = Field(description="Kind, namespace and name of the object.")


class BootstrapWorkloadStatus(StoredStatus):
    """Observed state of a service. For users: no decision of the operator depends on `state`."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the spec that this status is about.", ge=0
    )
    state: ServiceState = Field(default="Pending", description="State of the service.")
    message: Text = Field(default="", description="What the service waits for.")
    digest: Word = Field(default="", description="spec.digest of the last attempt.")
    attempts: Count = Field(
        default=0, description="Failed attempts since the last change of the spec."
    )
    next_retry_time: Timestamp | None = Field(
        default=None,
        description="Time of the next attempt; absent if the next attempt waits for a change.",
    )
    last_error: LastError | None = Field(default=None, description="Why the last attempt failed.")
    running_since: Timestamp | None = Field(
        default=None, description="Time since which the service is Running."
    )
    ready: str = Field(default="", description="Ready pods of desired pods.", max_length=32)
    provider_ref: Name = Field(default="", description="Object that runs the service.")
    service_refs: tuple[ServiceRef, ...] = Field(
        default=(),
        description="All objects of the service.",
        max_length=REFS_MAX,
        json_schema_extra=as_map("name"),
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Ready and Stalled.",
        max_length=8,
        json_schema_extra=as_map("type"),
    )


class BootstrapWorkload(DatacenterModel):
    """One service of one datacenter. Only the operator writes it."""

    api_version: str = API_VERSION
    kind: str = WORKLOAD_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: WorkloadSpec
    status: Annotated[BootstrapWorkloadStatus, BeforeValidator(BootstrapWorkloadStatus.lenient)] = (
        Field(default_factory=BootstrapWorkloadStatus)
    )
