"""BootstrapWorkload: one service of one datacenter, and what became of it. The row of the seed.

Uses contracts.datacenter.service_spec. Written by the operator alone; people read it.
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

RowState = Literal["Pending", "Provisioning", "Running", "Failed", "Retiring", "Retired"]
REFS_MAX = 64


class WorkloadSource(ApiModel):
    """Which source the service comes from."""

    name: SourceName = Field(description="One of declared, set/<name> and hook/<name>.")
    priority: int = Field(default=0, description="Priority of the source.")


class WorkloadSpec(ApiModel):
    """What one service of a datacenter is to be."""

    datacenter: Name = Field(description="Name of the Datacenter.")
    namespace: NamespaceName = Field(description="Namespace of its objects.")
    provider: Name = Field(description="Who runs it.")
    source: WorkloadSource = Field(description="Which source it comes from.")
    service: BootstrapService = Field(description="The body, as the source gave it.")
    digest: Word = Field(description="Names everything in this spec that a change rolls out.")
    redeploy: Annotated[str, Field(max_length=253)] = Field(
        default="", description="The last order to replace its pods."
    )


class ServiceRef(ApiModel):
    """An object that was made for a service."""

    name: Name = Field(description="What it is for: the name of a container, or of the service.")
    ref: Name = Field(description="Kind, namespace and name of the object.")


class BootstrapWorkloadStatus(StoredStatus):
    """What became of a service. Read by people; nothing is decided by `state`."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the spec that this status speaks of.", ge=0
    )
    state: RowState = Field(default="Pending", description="Where it is in its life.")
    message: Text = Field(default="", description="What it does or waits for.")
    digest: Word = Field(default="", description="The spec.digest that was tried last.")
    attempts: Count = Field(default=0, description="Attempts since the last change that failed.")
    next_retry_time: Timestamp | None = Field(
        default=None, description="When it is tried again; absent, when something changes."
    )
    last_error: LastError | None = Field(default=None, description="Why the last attempt failed.")
    running_since: Timestamp | None = Field(
        default=None, description="Since when it has been Running."
    )
    ready: str = Field(default="", description="Ready and wanted pods.", max_length=32)
    provider_ref: Name = Field(default="", description="The object that runs it.")
    service_refs: tuple[ServiceRef, ...] = Field(
        default=(),
        description="Every object that was made for it.",
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
    """One service of one datacenter. Written by the operator alone."""

    api_version: str = API_VERSION
    kind: str = WORKLOAD_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: WorkloadSpec
    status: Annotated[BootstrapWorkloadStatus, BeforeValidator(BootstrapWorkloadStatus.lenient)] = (
        Field(default_factory=BootstrapWorkloadStatus)
    )
