"""The body of one shared service: its containers, their files, and its dependencies.

Uses contracts.api.meta, contracts.api.cluster and contracts.datacenter.container_files. Part of
Datacenter, BootstrapServiceSet and BootstrapWorkload, and what a hook returns. There is no field
for a namespace or a privilege, so none can be requested; contracts.datacenter.rules.all_rules has
the rules across fields, and contracts.datacenter.grants the fields that require a permission.
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
    SERVICE_NAME_MAX,
    ConfigFile,
    ContainerName,
    SecretFiles,
    Volume,
)
from contracts.datacenter.names import NAME_PATTERN
from runtime.memo import memoize

Kind = Literal["Deployment", "StatefulSet", "DaemonSet", "OpenBaoCluster", "Objects"]
OBJECTS_KIND: Final = "Objects"
"""The kind of a service that consists of objects of other kinds, and has no pods."""
Role = Literal["Main", "Sidecar", "Init"]

CONTAINERS_MAX = 16
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


class SecretKeyRef(ApiModel):
    """One key of a Secret in the namespace of the datacenter."""

    name: SubdomainName = Field(description="Name of the Secret.", examples=["shipper-login"])
    key: DataKey = Field(description="Key in the Secret.", examples=["password"])


class EnvVar(ApiModel):
    """An environment variable: a value, or a key of a Secret."""

    name: str = Field(
        description="Name of the variable.",
        examples=["LOG_LEVEL"],
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        min_length=1,
        max_length=253,
    )
    value: str | None = Field(
        default=None,
        description="Value of the variable. Excludes secret.",
        examples=["info"],
        max_length=4096,
    )
    secret: SecretKeyRef | None = Field(
        default=None, description="Secret that holds the value. Excludes value."
    )


class ServicePort(ApiModel):
    """A port that a container listens on."""

    name: PortName = Field(description="Name of the port.", examples=["http"])
    port: PortNumber = Field(description="Port number in the container.", examples=[8080])
    service_port: PortNumber | None = Field(
        default=None,
        description="Port number of the Service; left out, the same as port.",
        examples=[80],
    )
    protocol: Literal["TCP", "UDP"] = Field(default="TCP", description="Protocol of the port.")


class HealthCheck(ApiModel):
    """The probe of a container: one of HTTP, TCP and command."""

    http_path: str | None = Field(
        default=None,
        description="HTTP path at `port`; a status of 200 to 399 means healthy.",
        examples=["/healthz"],
        pattern=r"^/",
        max_length=512,
    )
    port: PortNumber | None = Field(
        default=None,
        description="Port of httpPath; without httpPath, a TCP connection means healthy.",
        examples=[8080],
    )
    command: tuple[_Word, ...] = Field(
        default=(),
        description="Command in the container; exit status 0 means healthy.",
        examples=[["cat", "/run/shipper/ready"]],
        max_length=64,
    )
    initial_delay_seconds: int = Field(
        default=0, description="Seconds before the first check.", ge=0, le=3600
    )
    period_seconds: int = Field(
        default=10, description="Seconds between two checks.", ge=1, le=3600
    )
    timeout_seconds: int = Field(
        default=1, description="Seconds after which a check times out.", ge=1, le=600
    )
    failure_threshold: int = Field(
        default=3,
        description="Number of consecutive failures after which the check fails.",
        ge=1,
        le=100,
    )
    restart: bool = Field(
        default=False,
        description="Restart a container whose check fails; otherwise it only gets no traffic.",
    )


class ContainerResources(ApiModel):
    """Resource requests and limits of a container."""

    requests: Quantities = Field(
        default_factory=dict,
        description="Resources reserved for the container.",
        examples=[{"cpu": "50m"}],
    )
    limits: Quantities = Field(
        default_factory=dict,
        description="Upper limit of the resources of the container.",
        examples=[{"memory": "64Mi"}],
    )


class ServiceContainer(ApiModel):
    """One container of a service."""

    name: ContainerName = Field(description="Name of the container.", examples=["shipper"])
    role: Role = Field(
        default="Main",
        description="The one Main container serves; Init containers complete before it starts;"
        " Sidecar containers run next to it.",
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
    depends_on: tuple[ContainerName, ...] = Field(
        default=(),
        description="Init and Sidecar containers that start before this one.",
        examples=[["fetch-rules"]],
        max_length=CONTAINERS_MAX,
        json_schema_extra=as_set(),
    )
    env: tuple[EnvVar, ...] = Field(
        default=(),
        description="Environment variables, each with a value or a key of a Secret.",
        max_length=128,
        json_schema_extra=as_map("name"),
    )
    ports: tuple[ServicePort, ...] = Field(
        default=(),
        description="Ports that the container listens on.",
        max_length=32,
        json_schema_extra=as_map("name"),
    )
    volumes: tuple[Volume, ...] = Field(
        default=(),
        description="Volumes of the container.",
        max_length=32,
        json_schema_extra=as_map("name"),
    )
    config_files: tuple[ConfigFile, ...] = Field(
        default=(),
        description="Configuration files. A change rolls the pods.",
        max_length=32,
        json_schema_extra=as_map("path"),
    )
    secrets: tuple[SecretFiles, ...] = Field(
        default=(),
        description="Secrets that are mounted as files, one file for each key.",
        max_length=32,
        json_schema_extra=as_map("mountPath"),
    )
    health_check: HealthCheck | None = Field(
        default=None,
        description="Health check of the container; left out, a running container is healthy.",
    )
    resources: ContainerResources | None = Field(
        default=None, description="Requests and limits; left out, none."
    )


ServiceParser = Callable[[Any], "BootstrapService"]
"""Parses the body of a service, or returns a cached one. Raises ValidationError."""


class BootstrapService(ApiModel):
    """One shared service of a datacenter."""

    name: ServiceName = Field(
        description="Name of the service, unique in the datacenter across all sources.",
        examples=["log-shipper"],
    )
    kind: Kind = Field(
        default="Deployment",
        description=(
            "Kind that runs the service. OpenBaoCluster gives the datacenter its own cluster; "
            "Objects are objects of other kinds."
        ),
    )
    replicas: int | None = Field(
        default=None,
        description="Number of pods of a Deployment or StatefulSet; left out, 1.",
        ge=0,
        le=REPLICAS_MAX,
    )
    services: tuple[ServiceContainer, ...] = Field(
        default=(),
        description="Containers: one Main, and any number of Sidecar and Init containers.",
        max_length=CONTAINERS_MAX,
        json_schema_extra=as_map("name"),
    )
    openbao: FreeObject | None = Field(
        default=None,
        description="Spec of the OpenBaoCluster; for kind OpenBaoCluster only.",
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
            "Services of the same datacenter that must be Running before this one is created. "
            "openbao:ready stands for all services of kind OpenBaoCluster; a service that names it "
            "receives their addresses, CA and role names."
        ),
        examples=[["openbao:ready"]],
        max_length=CONTAINERS_MAX,
        json_schema_extra=as_set(),
    )
    labels: Labels = Field(
        default_factory=dict,
        description="Labels of the objects. Labels of the operator cannot be overridden.",
        examples=[{"team": "platform"}],
    )
    annotations: Annotations = Field(
        default_factory=dict,
        description="Annotations of the pods.",
        examples=[{"prometheus.io/scrape": "true"}],
    )
    node_selector: Labels = Field(
        default_factory=dict,
        description="Labels that a node must have.",
        examples=[{"kubernetes.io/arch": "amd64"}],
    )
    tolerations: tuple[Toleration, ...] = Field(
        default=(), description="Tolerations of the pods.", max_length=32
    )
    run_as_user: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        default=None,
        description=(
            "User id of the pods; left out, that of the image, which must not be root. User 0 "
            "(root) must be allowed by spec.nodeAccess of the Datacenter."
        ),
        examples=[65532],
    )
    service_account_name: SubdomainName | None = Field(
        default=None,
        description="ServiceAccount of the pods, whose token is mounted; left out, no token is"
        " mounted.",
        examples=["log-shipper"],
    )
    image_pull_secrets: tuple[LocalReference, ...] = Field(
        default=(),
        description="Secrets to pull the images with.",
        max_length=16,
        json_schema_extra=as_map("name"),
    )
    deletion_policy: Literal["Delete", "Orphan"] = Field(
        default="Delete",
        description="What happens to the objects when the service is removed. Orphan keeps them.",
    )
    volume_policy: Literal["Retain", "Delete"] = Field(
        default="Retain",
        description="What happens to the volumes when the service is deleted.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _read(
        cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Any:
        read_service: ServiceParser | None = info.context
        if read_service is None:
            return handler(value)
        try:
            return read_service(value)
        except ValidationError:
            # Validate again: this error has the path within the whole object.
            return handler(value)

    @property
    def main(self) -> ServiceContainer | None:
        """The Main container; None without one, which the rules reject."""
        return next((part for part in self.services if part.role == "Main"), None)

    @property
    def desired_replicas(self) -> int:
        """The desired number of pods of a kind with replicas."""
        return 1 if self.replicas is None else self.replicas


BODY_CACHE_SIZE: Final = 2048
"""Maximum number of bodies in each cache."""
parse_cached: Final[ServiceParser] = memoize(BootstrapService.model_validate, size=BODY_CACHE_SIZE)
"""For immutable bodies, such as those of an informer cache, where equal ones are shared."""
