"""Datacenter and BootstrapServiceSet: the two kinds in which people say what a datacenter gets.

Uses contracts.datacenter.service_spec. Both are cluster-scoped, for they speak of the platform and
not of a tenant, and so that objects in the namespace of a datacenter can be owned by its rows.
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

_Place = Annotated[str, Field(max_length=63, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")]
SourceName = Annotated[str, Field(min_length=1, max_length=320)]


class InvalidDatacenterError(InvalidClusterError):
    """An object that this version cannot read as the kind of datacenters that it says it is."""


class DatacenterModel(ApiObject):
    """One of the kinds of datacenters, as the API server keeps it.

    The context of a read, of type Known, reads the body of a service, and may answer with what it
    read before.
    """

    invalid = InvalidDatacenterError
    values_max = VALUES_MAX


class RedeployRequest(ApiModel):
    """An order to replace the pods of one service, carried out once whenever its text changes."""

    name: ServiceName = Field(description="Name of the service.", examples=["log-shipper"])
    token: Token = Field(description="Any text.", examples=["again-1"])


class DatacenterSpec(ApiModel):
    """Where a datacenter is, whether it may be touched, and which services it declares."""

    provider: _Place = Field(
        default=KUBERNETES,
        description="Who runs its services.",
        examples=["kubernetes"],
    )
    region: _Place | None = Field(
        default=None, description="Region, for selectors and hooks.", examples=["eu-central"]
    )
    zone: _Place | None = Field(
        default=None, description="Zone, for selectors and hooks.", examples=["eu-central-1a"]
    )
    labels: Labels = Field(
        default_factory=dict,
        description="Labels, for selectors and hooks.",
        examples=[{"tier": "edge"}],
    )
    namespace: NamespaceName = Field(
        description=(
            "Namespace of its services, which must exist. Nothing is ever made in another one. "
            "Never changes."
        ),
        examples=["dc-fra1"],
    )
    state: State = Field(
        default="Active",
        description=(
            "Maintenance changes nothing and goes on looking; Draining retires nothing that is "
            "missing from the lists; Offline touches nothing in the namespace."
        ),
    )
    node_access: NodeAccess | None = Field(
        default=None,
        description=(
            "What services may see of their node, whichever source they come from; left out, "
            "nothing. Writing it takes the verb usenodeaccess on the Datacenter."
        ),
    )
    object_kinds: tuple[ObjectKind, ...] = Field(
        default=(),
        description=(
            "Kinds of which services of kind Objects may bring objects, whichever source they "
            "come from. Writing it takes the verb useobjectkinds on the Datacenter."
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
            "Services that this datacenter declares. Left out, those that it declared before are "
            "left alone; an empty list retires them."
        ),
        max_length=SERVICES_MAX,
        json_schema_extra=as_map("name"),
    )
    redeploy: tuple[RedeployRequest, ...] = Field(
        default=(),
        description=(
            "Orders to replace the pods of services, whatever source they come from; each is "
            "carried out once whenever its text changes."
        ),
        max_length=SERVICES_MAX,
        json_schema_extra=as_map("name"),
    )
    forget_sources: tuple[SourceName, ...] = Field(
        default=(),
        description=(
            "Sources that do not answer any more and never will, such as the hook of a package "
            "that was removed: their services are retired."
        ),
        examples=[["hook/network"]],
        max_length=SOURCES_MAX,
        json_schema_extra=as_set(),
    )


class SourceStatus(ApiModel):
    """One source of services, as it answered last."""

    name: SourceName = Field(description="One of declared, set/<name> and hook/<name>.")
    priority: int = Field(default=0, description="Which one wins a name; the higher one.")
    services: Count = Field(default=0, description="How many services it contributes.")
    last_good: Word = Field(default="", description="Digest of its last good answer.")
    last_good_time: Timestamp | None = Field(
        default=None, description="When it first gave that answer."
    )
    error: Text = Field(default="", description="Why it does not answer; empty if it does.")


class DatacenterStatus(StoredStatus):
    """What became of the services of a datacenter."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the spec that this status speaks of.", ge=0
    )
    services: Count = Field(default=0, description="Services that are wanted.")
    running: Count = Field(default=0, description="Services that run as they are wanted.")
    failed: Count = Field(default=0, description="Services whose last attempt failed.")
    summary: str = Field(default="", description="Running of wanted services.", max_length=64)
    sources: tuple[SourceStatus, ...] = Field(
        default=(),
        description=(
            "Where services come from, as each answered last, the winners of names first."
        ),
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
    """A place with shared services."""

    api_version: str = API_VERSION
    kind: str = DATACENTER_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: DatacenterSpec
    status: Annotated[DatacenterStatus, BeforeValidator(DatacenterStatus.lenient)] = Field(
        default_factory=DatacenterStatus
    )


class DatacenterSelector(ApiModel):
    """Which datacenters; everything that is named must be so, and nothing named means all."""

    providers: tuple[_Place, ...] = Field(
        default=(), description="One of these providers.", max_length=16, json_schema_extra=as_set()
    )
    regions: tuple[_Place, ...] = Field(
        default=(), description="One of these regions.", max_length=64, json_schema_extra=as_set()
    )
    zones: tuple[_Place, ...] = Field(
        default=(), description="One of these zones.", max_length=64, json_schema_extra=as_set()
    )
    labels: Labels = Field(
        default_factory=dict,
        description="All of these in spec.labels of the datacenter.",
        examples=[{"tier": "edge"}],
    )


class ServiceSetSpec(ApiModel):
    """Services, and the datacenters that get them."""

    selector: DatacenterSelector = Field(
        default_factory=DatacenterSelector, description="Which datacenters."
    )
    priority: int = Field(
        default=0,
        description=(
            "Which of two sources wins the name of a service: the higher one, then the name that "
            "comes first. What a datacenter declares itself always wins."
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
    """Services that every datacenter of some kind gets."""

    api_version: str = API_VERSION
    kind: str = SERVICE_SET_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: ServiceSetSpec
