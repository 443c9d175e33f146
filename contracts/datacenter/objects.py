"""Datacenter and BootstrapServiceSet: the two kinds in which users declare shared services.

Uses contracts.datacenter.service_spec. Both are cluster-scoped, because they belong to the platform
and not to a tenant. So are BootstrapWorkloads, which own objects in the namespace of a datacenter.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from contracts.api.api_object import ApiObject
from contracts.api.cluster.pods import Token
from contracts.api.cluster.status_errors import Count, Text, Word
from contracts.api.group import API_VERSION
from contracts.api.meta import (
    ApiModel,
    Condition,
    Labels,
    ObjectMeta,
    StoredStatus,
    Timestamp,
    as_map,
    as_set,
)
from contracts.api.tenant import NamespaceName
from contracts.api.violation import InvalidClusterError
from contracts.datacenter.grants import OBJECT_KINDS_MAX, NodeAccess, ObjectKind
from contracts.datacenter.kinds import DATACENTER_KIND, SERVICE_SET_KIND
from contracts.datacenter.service_spec import BootstrapService, ServiceName

State = Literal["Active", "Maintenance", "Draining", "Offline"]
SERVICES_MAX = 32
SOURCES_MAX = 64
VALUES_MAX = 20_000
KUBERNETES = "kubernetes"

_Location = Annotated[
    str, Field(max_length=63, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
]
SourceName = Annotated[str, Field(min_length=1, max_length=320)]


class InvalidDatacenterError(InvalidClusterError):
    """An object that cannot be parsed as its kind, or that breaks a rule."""


class DatacenterModel(ApiObject):
    """Base class of the kinds of datacenters.

    The validation context may be a ServiceParser, which parses the bodies of services and may
    return cached ones.
    """

    invalid = InvalidDatacenterError
    values_max = VALUES_MAX


class RedeployRequest(ApiModel):
    """A request to replace the pods of one service, carried out once for each new token."""

    name: ServiceName = Field(description="Name of the service.", examples=["log-shipper"])
    token: Token = Field(description="Any text.", examples=["again-1"])


class DatacenterSpec(ApiModel):
    """Location, state and services of a datacenter."""

    provider: _Location = Field(
        default=KUBERNETES,
        description="Provider of the services.",
        examples=["kubernetes"],
    )
    region: _Location | None = Field(
        default=None, description="Region, for selectors and hooks.", examples=["eu-central"]
    )
    zone: _Location | None = Field(
        default=None, description="Zone, for selectors and hooks.", examples=["eu-central-1a"]
    )
    labels: Labels = Field(
        default_factory=dict,
        description="Labels, for selectors and hooks.",
        examples=[{"tier": "edge"}],
    )
    namespace: NamespaceName = Field(
        description=(
            "Namespace of the services, which must exist. The operator creates nothing in "
            "another namespace. Immutable."
        ),
        examples=["dc-fra1"],
    )
    state: State = Field(
        default="Active",
        description=(
            "Active reconciles. Maintenance changes nothing and updates the status. Draining "
            "removes no service that is missing from the lists. Offline does nothing in the "
            "namespace."
        ),
    )
    node_access: NodeAccess | None = Field(
        default=None,
        description=(
            "Access that services of all sources have to their node; left out, none. Requires "
            "the verb usenodeaccess on the Datacenter."
        ),
    )
    object_kinds: tuple[ObjectKind, ...] = Field(
        default=(),
        description=(
            "Kinds that services of kind Objects may use, for all sources. Requires the verb "
            "useobjectkinds on the Datacenter."
        ),
        max_length=OBJECT_KINDS_MAX,
        json_schema_extra={
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["group", "kind"],
        },
    )
    bootstrap_services: tuple[BootstrapService, ...] | None = Field(
        default=None,
        description=(
            "Services of this datacenter. Left out, services that it declared before are kept;"
            " an empty list removes them."
        ),
        max_length=SERVICES_MAX,
        json_schema_extra=as_map("name"),
    )
    redeploy: tuple[RedeployRequest, ...] = Field(
        default=(),
        description=(
            "Requests to replace the pods of services of any source. A changed token replaces "
            "the pods once."
        ),
        max_length=SERVICES_MAX,
        json_schema_extra=as_map("name"),
    )
    forget_sources: tuple[SourceName, ...] = Field(
        default=(),
        description=(
            "Sources that no longer exist, such as the hook of a removed package. Their "
            "services are removed."
        ),
        examples=[["hook/network"]],
        max_length=SOURCES_MAX,
        json_schema_extra=as_set(),
    )


class SourceStatus(ApiModel):
    """Last known state of a source of services."""

    name: SourceName = Field(description="One of declared, set/<name> and hook/<name>.")
    priority: int = Field(default=0, description="Priority of the source; the higher number wins.")
    services: Count = Field(default=0, description="Number of services of the source.")
    last_good: Word = Field(default="", description="Digest of the last valid result.")
    last_good_time: Timestamp | None = Field(
        default=None, description="Time of the first result with this digest."
    )
    error: Text = Field(
        default="", description="Error of the last request to the source; empty if it succeeded."
    )


class DatacenterStatus(StoredStatus):
    """Observed state of the services of a datacenter."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the spec that this status is about.", ge=0
    )
    services: Count = Field(default=0, description="Number of desired services.")
    running: Count = Field(
        default=0, description="Number of services that run in their desired state."
    )
    failed: Count = Field(default=0, description="Number of services whose last attempt failed.")
    summary: str = Field(
        default="", description="Running services of desired services.", max_length=64
    )
    sources: tuple[SourceStatus, ...] = Field(
        default=(),
        description=("Sources of services with their last results, by priority."),
        max_length=SOURCES_MAX,
        json_schema_extra=as_map("name"),
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Ready, SourcesReady and NoConflicts.",
        max_length=8,
        json_schema_extra=as_map("type"),
    )


class Datacenter(DatacenterModel):
    """A datacenter with shared services."""

    api_version: str = API_VERSION
    kind: str = DATACENTER_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: DatacenterSpec
    status: Annotated[DatacenterStatus, BeforeValidator(DatacenterStatus.lenient)] = Field(
        default_factory=DatacenterStatus
    )


class DatacenterSelector(ApiModel):
    """A selector of datacenters: all set fields must match; an empty one matches all."""

    providers: tuple[_Location, ...] = Field(
        default=(),
        description="The provider must be one of these.",
        max_length=16,
        json_schema_extra=as_set(),
    )
    regions: tuple[_Location, ...] = Field(
        default=(),
        description="The region must be one of these.",
        max_length=64,
        json_schema_extra=as_set(),
    )
    zones: tuple[_Location, ...] = Field(
        default=(),
        description="The zone must be one of these.",
        max_length=64,
        json_schema_extra=as_set(),
    )
    labels: Labels = Field(
        default_factory=dict,
        description="The datacenter must have all of these in spec.labels.",
        examples=[{"tier": "edge"}],
    )


class ServiceSetSpec(ApiModel):
    """Services, and the datacenters that they are for."""

    selector: DatacenterSelector = Field(
        default_factory=DatacenterSelector, description="Selects datacenters."
    )
    priority: int = Field(
        default=0,
        description=(
            "Priority of this source when two sources have a service of the same name: the "
            "higher number wins, then the name that sorts first. A service that the datacenter"
            " itself declares always wins."
        ),
        ge=-1_000_000,
        le=1_000_000,
    )
    services: tuple[BootstrapService, ...] = Field(
        default=(),
        description="The services.",
        max_length=SERVICES_MAX,
        json_schema_extra=as_map("name"),
    )


class BootstrapServiceSet(DatacenterModel):
    """Services of all selected datacenters."""

    api_version: str = API_VERSION
    kind: str = SERVICE_SET_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: ServiceSetSpec
