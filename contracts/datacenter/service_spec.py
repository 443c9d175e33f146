"""The body of one shared service: what runs, where its files come from, what it waits for.

Uses contracts.api.meta and its neighbours. Part of Datacenter, BootstrapServiceSet and
BootstrapWorkload, and what a hook returns. There is no field for a namespace or a privilege, so
that none can be asked for; contracts.datacenter.rules.all_rules has what goes beyond fields, and
contracts.datacenter.grants what an administrator has to allow first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from contracts.api.cluster.pods import Image
from contracts.api.cluster.scheduling import Toleration
from contracts.api.meta import (
    Annotations,
    ApiModel,
    DataKey,
    FreeObject,
    Labels,
    LocalReference,
    Quantities,
    SubdomainName,
    as_map,
    as_set,
)
from contracts.datacenter.container_files import (
    NAME_PATTERN,
    SERVICE_NAME_MAX,
    ConfigFile,
    PartName,
    SecretFiles,
    Volume,
)
from runtime.memo import memoize

Kind = Literal["Deployment", "StatefulSet", "DaemonSet", "OpenBaoCluster", "Objects"]
OBJECTS_KIND: Final = "Objects"
"""The kind of a service that is objects of other kinds, and no pods of its own."""
Role = Literal["Main", "Sidecar", "Init"]

OPENBAO_READY = "openbao:ready"
"""What a service names in dependsOn to wait for the OpenBaoClusters of its datacenter."""
PARTS_MAX = 16
OBJECTS_MAX = 32
REPLICAS_MAX = 1000

ServiceName = Annotated[str, Field(pattern=NAME_PATTERN, min_length=1, max_length=SERVICE_NAME_MAX)]
PortName = Annotated[
    str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=15)
]
PortNumber = Annotated[int, Field(ge=1, le=65535)]
Dependency = Annotated[
    str, Field(pattern=r"^([a-z]([-a-z0-9]*[a-z0-9])?|openbao:ready)$", min_length=1, max_length=40)
]
_Word = Annotated[str, Field(max_length=4096)]


class SecretValue(ApiModel):
    """One key of a Secret in the namespace of the datacenter."""

    name: SubdomainName = Field(description="Name of the Secret.", examples=["shipper-login"])
    key: DataKey = Field(description="Key in the Secret.", examples=["password"])


class Variable(ApiModel):
    """One variable of the environment: a value, or a key of a Secret."""

    name: str = Field(
        description="Name of the variable.",
        examples=["LOG_LEVEL"],
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        min_length=1,
        max_length=253,
    )
    value: str | None = Field(
        default=None,
        description="Its value; this or secret.",
        examples=["info"],
        max_length=4096,
    )
    secret: SecretValue | None = Field(
        default=None, description="The Secret that holds its value; this or value."
    )


class ServicePort(ApiModel):
    """A port that a container listens on."""

    name: PortName = Field(description="Name of the port.", examples=["http"])
    port: PortNumber = Field(description="Number in the container.", examples=[8080])
    service_port: PortNumber | None = Field(
        default=None,
        description="Number at the Service; left out, the same. Sidecars may have ports, too.",
        examples=[80],
    )
    protocol: Literal["TCP", "UDP"] = Field(default="TCP", description="Protocol of the port.")


class HealthCheck(ApiModel):
    """How the kubelet finds out whether a container is well: one of http, tcp and command."""

    http_path: str | None = Field(
        default=None,
        description="Path that answers 200 to 399 at `port`.",
        examples=["/healthz"],
        pattern=r"^/",
        max_length=512,
    )
    port: PortNumber | None = Field(
        default=None,
        description="Port of the path; alone, it must let itself be opened.",
        examples=[8080],
    )
    command: tuple[_Word, ...] = Field(
        default=(),
        description="Command in the container that ends with 0.",
        examples=[["cat", "/run/shipper/ready"]],
        max_length=64,
    )
    initial_delay_seconds: int = Field(
        default=0, description="Seconds before the first look.", ge=0, le=3600
    )
    period_seconds: int = Field(default=10, description="Seconds between two looks.", ge=1, le=3600)
    timeout_seconds: int = Field(
        default=1, description="Seconds that a look may take.", ge=1, le=600
    )
    failure_threshold: int = Field(
        default=3, description="Looks in a row that must fail.", ge=1, le=100
    )
    restart: bool = Field(
        default=False,
        description="Restart the container, too, when it fails; left out, it only gets no traffic.",
    )


class PartResources(ApiModel):
    """Requests and limits of a container."""

    requests: Quantities = Field(
        default_factory=dict, description="What is reserved.", examples=[{"cpu": "50m"}]
    )
    limits: Quantities = Field(
        default_factory=dict,
        description="What it may use at most.",
        examples=[{"memory": "64Mi"}],
    )


class ServicePart(ApiModel):
    """One container of a service."""

    name: PartName = Field(description="Name of the container.", examples=["shipper"])
    role: Role = Field(
        default="Main",
        description="Main is the one that serves; Init ends before it; Sidecar runs beside it.",
    )
    image: Image = Field(
        description="Image of the container.", examples=["registry.example.com/shipper:3.1.2"]
    )
    command: tuple[_Word, ...] = Field(
        default=(), description="Command; left out, the image's own.", max_length=64
    )
    args: tuple[_Word, ...] = Field(
        default=(), description="Arguments; left out, the image's own.", max_length=64
    )
    depends_on: tuple[PartName, ...] = Field(
        default=(),
        description="Inits and sidecars that are started before this init or sidecar.",
        examples=[["fetch-rules"]],
        max_length=PARTS_MAX,
        json_schema_extra=as_set(),
    )
    env: tuple[Variable, ...] = Field(
        default=(),
        description="Environment: each a value, or a key of a Secret.",
        max_length=128,
        json_schema_extra=as_map("name"),
    )
    ports: tuple[ServicePort, ...] = Field(
        default=(),
        description="Ports that it listens on.",
        max_length=32,
        json_schema_extra=as_map("name"),
    )
    volumes: tuple[Volume, ...] = Field(
        default=(),
        description="Volumes: gone with the pod, of its own per pod, or a directory of the node.",
        max_length=32,
        json_schema_extra=as_map("name"),
    )
    config_files: tuple[ConfigFile, ...] = Field(
        default=(),
        description="Files of the configuration; a changed one rolls the pods.",
        max_length=32,
        json_schema_extra=as_map("path"),
    )
    secrets: tuple[SecretFiles, ...] = Field(
        default=(),
        description="Secrets whose keys become files.",
        max_length=32,
        json_schema_extra=as_map("mountPath"),
    )
    health_check: HealthCheck | None = Field(
        default=None, description="Whether it is well; left out, it is as soon as it runs."
    )
    resources: PartResources | None = Field(
        default=None, description="Requests and limits; left out, none."
    )


Known = Callable[[Any], "BootstrapService"]
"""Reads the body of a service, or answers with what it read before. Raises ValidationError."""


class BootstrapService(ApiModel):
    """One shared service of a datacenter."""

    name: ServiceName = Field(
        description="Its identity in the datacenter, whichever source it comes from.",
        examples=["log-shipper"],
    )
    kind: Kind = Field(
        default="Deployment",
        description=(
            "What runs it. OpenBaoCluster gives the datacenter a vault of its own; Objects are "
            "objects of other kinds."
        ),
    )
    replicas: int | None = Field(
        default=None,
        description="Pods of a Deployment or StatefulSet; left out, 1.",
        ge=0,
        le=REPLICAS_MAX,
    )
    services: tuple[ServicePart, ...] = Field(
        default=(),
        description="Its containers: one Main, and Sidecars and Inits.",
        max_length=PARTS_MAX,
        json_schema_extra=as_map("name"),
    )
    openbao: FreeObject | None = Field(
        default=None,
        description="The spec of the OpenBaoCluster; for that kind, and for no other.",
        examples=[{"version": "2.7.2", "replicas": 3, "profile": "Development"}],
    )
    objects: Annotated[tuple[FreeObject, ...], Field(max_length=OBJECTS_MAX)] | None = Field(
        default=None,
        description=(
            "The objects of a service of kind Objects. spec.objectKinds of the Datacenter must "
            "name their kinds."
        ),
    )
    depends_on: tuple[Dependency, ...] = Field(
        default=(),
        description=(
            "Services of the same datacenter that must be Running before this one is made. "
            "openbao:ready are all of kind OpenBaoCluster; whoever names it is told their address, "
            "authority and role names."
        ),
        examples=[["openbao:ready"]],
        max_length=PARTS_MAX,
        json_schema_extra=as_set(),
    )
    labels: Labels = Field(
        default_factory=dict,
        description="Labels of its objects. Those of the operator cannot be overridden.",
        examples=[{"team": "platform"}],
    )
    annotations: Annotations = Field(
        default_factory=dict,
        description="Annotations of its pods.",
        examples=[{"prometheus.io/scrape": "true"}],
    )
    node_selector: Labels = Field(
        default_factory=dict,
        description="Labels that a node must have.",
        examples=[{"kubernetes.io/arch": "amd64"}],
    )
    tolerations: tuple[Toleration, ...] = Field(
        default=(), description="Taints that its pods put up with.", max_length=32
    )
    run_as_user: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        default=None,
        description=(
            "User id of its pods; left out, the image's own, which must not be root. For 0 (root) "
            "spec.nodeAccess of the Datacenter must allow it."
        ),
        examples=[65532],
    )
    service_account_name: SubdomainName | None = Field(
        default=None,
        description="ServiceAccount of its pods, which gets a token; left out, none is mounted.",
        examples=["log-shipper"],
    )
    image_pull_secrets: tuple[LocalReference, ...] = Field(
        default=(),
        description="Secrets with which its images are pulled.",
        max_length=16,
        json_schema_extra=as_map("name"),
    )
    deletion_policy: Literal["Delete", "Orphan"] = Field(
        default="Delete",
        description="Orphan leaves its objects alone when it is no longer wanted.",
    )
    volume_policy: Literal["Retain", "Delete"] = Field(
        default="Retain",
        description="Delete takes the volumes away with it; left out, they are kept.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _read(
        cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Any:
        read_service: Known | None = info.context
        if read_service is None:
            return handler(value)
        try:
            return read_service(value)
        except ValidationError:
            # Once more, so that it is told where in the whole object that is.
            return handler(value)

    @property
    def main(self) -> ServicePart | None:
        """The container that serves; None when there is none, which no rule lets pass."""
        return next((part for part in self.services if part.role == "Main"), None)

    @property
    def wanted_replicas(self) -> int:
        """How many pods it asks for, where that is asked."""
        return 1 if self.replicas is None else self.replicas


BODIES: Final = 2048
"""Different bodies of which something is remembered."""
known_body: Final[Known] = memoize(BootstrapService.model_validate, size=BODIES)
"""For bodies that nobody changes, such as those in a cache where equal ones are one object."""
