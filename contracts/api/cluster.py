"""OpenBaoCluster, whole, and the way in from an object of the API server.

Uses the other modules of contracts.api. Called by observe (parse), resolve, the status pass and the
CRD generator.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError

from contracts.api.cluster_status import ClusterStatus
from contracts.api.configuration import Configuration
from contracts.api.group import API_VERSION, CLUSTER_KIND
from contracts.api.lifecycle import (
    DeletionPolicy,
    InitContainer,
    Maintenance,
    PodMetadata,
    Profile,
    Resources,
    Runtime,
)
from contracts.api.meta import ApiModel, FreeObject, LocalReference, ObjectMeta, as_map
from contracts.api.network import Network, Service, ServiceAccountWishes
from contracts.api.seal import Unseal
from contracts.api.selfinit import SelfInit
from contracts.api.storage import Storage
from contracts.api.tls import Tls
from contracts.api.violation import InvalidClusterError, Violation, shown

VERSION_PATTERN = (
    r"^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$"
)
_NOT_SERVED = "Accepted, not served by this version."


def _later(text: str) -> FreeObject | None:
    field: FreeObject | None = Field(default=None, description=f"{text} {_NOT_SERVED}")
    return field


class ClusterSpec(ApiModel):
    """What the cluster should be."""

    version: str = Field(
        description=(
            "OpenBao version to run, a semantic version; the static seal needs 2.4.0 or newer."
        ),
        examples=["2.4.0"],
        pattern=VERSION_PATTERN,
        min_length=5,
        max_length=64,
    )
    image: str | None = Field(
        default=None,
        description="Image of the servers; left out, the operator's own choice for the version.",
        examples=["registry.example.com/openbao/openbao:2.4.0"],
        pattern=r"^[A-Za-z0-9\[][A-Za-z0-9._:/@\[\]-]*$",
        max_length=512,
    )
    image_pull_secrets: tuple[LocalReference, ...] = Field(
        default=(),
        description="Secrets to pull the image with.",
        max_length=16,
        json_schema_extra=as_map("name"),
    )
    replicas: int = Field(
        default=3,
        description=(
            "Number of servers, all of them voters. An odd number; 3 survive the loss of one, 5 "
            "the loss of two."
        ),
        ge=1,
        le=15,
    )
    profile: Profile | None = Field(
        default=None,
        description=(
            "Security posture. Development takes whatever runs; Hardened refuses what is not fit "
            "for production. Left out, the condition ProductionReady is False."
        ),
    )
    service_account: ServiceAccountWishes | None = Field(
        default=None, description="The ServiceAccount of the pods."
    )
    pod_metadata: PodMetadata | None = Field(
        default=None, description="More metadata of the server pods."
    )
    resources: Resources | None = Field(
        default=None, description="Requests and limits of the server container."
    )
    tls: Tls = Field(default_factory=Tls, description="Certificates of the servers.")
    self_init: SelfInit | None = Field(
        default=None, description="What the first server does to itself before anybody logs in."
    )
    unseal: Unseal = Field(
        default_factory=Unseal, description="What opens the servers after a start."
    )
    storage: Storage = Field(description="The data volume of each server.")
    service: Service | None = Field(
        default=None, description="The Service <name>-public that clients use."
    )
    network: Network = Field(
        default_factory=Network, description="What the NetworkPolicy of the servers lets through."
    )
    configuration: Configuration = Field(
        default_factory=Configuration, description="Settings of the server."
    )
    paused: bool = Field(
        default=False,
        description="Change nothing. Status goes on, and deletion is still carried out.",
    )
    deletion_policy: DeletionPolicy = Field(
        default="Retain",
        description=(
            "What goes with the cluster when it is deleted. Retain: volumes, unseal key and root "
            "token stay. DeletePVCs and DeleteAll: they go. Backups always stay."
        ),
    )
    runtime: Runtime | None = Field(default=None, description="Requests to the running cluster.")
    maintenance: Maintenance | None = Field(
        default=None, description="Older spelling of runtime, and the maintenance mark."
    )
    init_container: InitContainer | None = Field(
        default=None,
        description="Accepted and not needed: no configuration is rendered in the pod.",
    )

    # --- accepted so that manifests of other operators of this API apply; see not_served
    audit: tuple[FreeObject, ...] = Field(
        default=(), description=f"Audit devices. {_NOT_SERVED}", max_length=16
    )
    audit_file_storage: FreeObject | None = _later("Volume of file audit devices.")
    backup: FreeObject | None = _later("Scheduled snapshots.")
    break_glass_ack: str | None = Field(
        default=None, description=f"Answer to a safe mode. {_NOT_SERVED}", max_length=256
    )
    controller_jwt_mode: Literal["Shared", "Target"] | None = Field(
        default=None,
        alias="controllerJWTMode",
        description="Audience of the operator's tokens. Shared is served, Target is only accepted.",
    )
    gateway: FreeObject | None = _later("Routes of the Gateway API.")
    image_verification: FreeObject | None = _later("Signature check of the server image.")
    ingress: FreeObject | None = _later("An Ingress.")
    observability: FreeObject | None = _later("Metrics of the servers.")
    operator_image_verification: FreeObject | None = _later("Signature check of helper images.")
    plugins: tuple[FreeObject, ...] = Field(
        default=(), description=f"Plugins of the server. {_NOT_SERVED}", max_length=32
    )
    read_replicas: FreeObject | None = _later("Servers without a vote.")
    reconcile_policies: bool | None = Field(
        default=None, description=f"Repair the operator's own policies. {_NOT_SERVED}"
    )
    recovery_keys: FreeObject | None = _later("First recovery keys.")
    restore: FreeObject | None = _later("Login of restore jobs.")
    security_context: FreeObject | None = _later("Pod security context of the servers.")
    telemetry: FreeObject | None = _later("Telemetry of the servers.")
    upgrade: FreeObject | None = _later("How versions change.")
    workload_hardening: FreeObject | None = _later("More confinement of the pods.")

    @property
    def self_initializes(self) -> bool:
        """The user's own requests set up the first logins; else a root token is left."""
        return self.self_init is not None and self.self_init.enabled

    @property
    def wants_operator_login(self) -> bool:
        """The first boot sets up a login for the operator."""
        return (
            self.self_init is not None
            and self.self_init.enabled
            and self.self_init.oidc is not None
            and self.self_init.oidc.enabled
        )


class OpenBaoCluster(ApiModel):
    """An OpenBao cluster."""

    api_version: str = API_VERSION
    kind: str = CLUSTER_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: ClusterSpec
    status: Annotated[ClusterStatus, BeforeValidator(ClusterStatus.lenient)] = Field(
        default_factory=ClusterStatus
    )

    @classmethod
    def from_object(cls, obj: Mapping[str, Any]) -> Self:
        """Read an object of the API server; raises InvalidClusterError, a Violation per field."""
        try:
            return cls.model_validate(obj)
        except ValidationError as error:
            raise InvalidClusterError([_violation(part) for part in error.errors()]) from None


def _violation(part: Any) -> Violation:
    field = ""
    for step in part["loc"]:
        field += f"[{step}]" if isinstance(step, int) else f".{step}"
    value = "" if part["type"] == "missing" else shown(part["input"])
    return Violation(field.lstrip("."), value, "schema", part["msg"])
