"""OpenBaoCluster: its spec, and how an object of the API server is read.

Uses the other modules of contracts.api. Called by the reconcilers, which read the object, by the
plan and status steps, and by the CRD generator.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from contracts.api.api_object import ApiObject
from contracts.api.cluster.audit import Audit, AuditFileStorage
from contracts.api.cluster.backup import Backup, RestoreLogin
from contracts.api.cluster.configuration import Configuration
from contracts.api.cluster.exposure import Gateway, Ingress
from contracts.api.cluster.image_verification import ImageVerification
from contracts.api.cluster.network import Network, ServiceAccountSpec, ServiceSpec
from contracts.api.cluster.observability import Observability
from contracts.api.cluster.plugins import Plugin
from contracts.api.cluster.pod_security import PodSecurityContext, WorkloadHardening
from contracts.api.cluster.pods import (
    DeletionPolicy,
    Image,
    InitContainer,
    Maintenance,
    PodMetadata,
    PodName,
    Profile,
    Resources,
    Runtime,
)
from contracts.api.cluster.read_replicas import ReadReplicas
from contracts.api.cluster.recovery import RecoveryKeys
from contracts.api.cluster.scheduling import Scheduling
from contracts.api.cluster.seal import Unseal
from contracts.api.cluster.self_init import SelfInit
from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_login import OperatorLoginStatus
from contracts.api.cluster.status_upgrade import UpgradeRequestsStatus
from contracts.api.cluster.storage import StorageSpec
from contracts.api.cluster.telemetry import Telemetry
from contracts.api.cluster.tls import Tls
from contracts.api.cluster.upgrade import Upgrade
from contracts.api.group import API_VERSION, CLUSTER_KIND
from contracts.api.meta import ApiModel, ObjectMeta, SecretReference, as_map, as_set
from contracts.api.violation import Violation
from contracts.server_features import VERSION_MAX, VERSION_PATTERN
from contracts.upgrade_requests import UPGRADE_REQUESTS, UpgradeRequest
from runtime.limits.nesting import too_deep, too_many

# Maximum depth of a spec: that of the deepest part of the API, and some levels for free data. The
# API server stores ten thousand levels, at which recursive code fails.
LEVELS_MAX = 64
LEVELS_SHOWN = 5
# The largest realistic spec has a few thousand values. Reading and validating a value takes about
# 50 function calls.
VALUES_MAX = 10_000
VOTERS_MAX = 15
_NOT_SUPPORTED = "Accepted, but not supported by this version."


class ClusterSpec(ApiModel):
    """Desired state of the cluster."""

    version: str = Field(
        description=(
            "OpenBao version to run, a semantic version; the static seal needs 2.4.0 or newer."
        ),
        examples=["2.7.2"],
        pattern=VERSION_PATTERN,
        min_length=5,
        max_length=VERSION_MAX,
    )
    image: Image | None = Field(
        default=None,
        description="Image of the servers; if not set, the operator's default for the version.",
        examples=["registry.example.com/openbao/openbao:2.7.2"],
    )
    image_pull_secrets: tuple[SecretReference, ...] = Field(
        default=(),
        description="Secrets with the credentials to pull the image.",
        max_length=16,
        json_schema_extra=as_map("name"),
    )
    image_verification: ImageVerification | None = Field(
        default=None,
        description="Signatures that the server image must have. Pods run the digest that was "
        "verified.",
    )
    operator_image_verification: ImageVerification | None = Field(
        default=None,
        description=(
            "Signatures that the operator image must have before server pods use it. "
            "Independent of imageVerification."
        ),
    )
    replicas: int = Field(
        default=3,
        description=(
            "Number of servers, all of them voters. Use an odd number: 3 tolerate the loss of one "
            "server, 5 the loss of two."
        ),
        ge=1,
        le=VOTERS_MAX,
    )
    profile: Profile | None = Field(
        default=None,
        description=(
            "Security profile. Development accepts every valid spec; Hardened rejects settings "
            "that are unsafe for production. If not set, the condition ProductionReady is False."
        ),
    )
    service_account: ServiceAccountSpec | None = Field(
        default=None, description="ServiceAccount of the pods."
    )
    pod_metadata: PodMetadata | None = Field(
        default=None, description="Additional metadata of the server pods."
    )
    resources: Resources | None = Field(
        default=None, description="Requests and limits of the server container."
    )
    scheduling: Scheduling | None = Field(
        default=None,
        description="Scheduling of the servers; if not set, spread over nodes and zones.",
    )
    security_context: PodSecurityContext | None = Field(
        default=None,
        description="Security context of the server pods. A field that is set replaces that of"
        " the operator.",
    )
    workload_hardening: WorkloadHardening | None = Field(
        default=None, description="Additional hardening of the pods, on nodes that support it."
    )
    tls: Tls = Field(default_factory=Tls, description="Certificates of the servers.")
    self_init: SelfInit | None = Field(
        default=None, description="Self-initialization of the first server."
    )
    unseal: Unseal = Field(
        default_factory=Unseal, description="Seal, which unseals the servers after a start."
    )
    storage: StorageSpec = Field(description="Data volume of each server.")
    service: ServiceSpec | None = Field(
        default=None, description="Service <name>-public, which clients use."
    )
    network: Network = Field(default_factory=Network, description="NetworkPolicy of the servers.")
    configuration: Configuration = Field(
        default_factory=Configuration, description="Settings of the server."
    )
    audit: tuple[Audit, ...] = Field(
        default=(),
        description=(
            "Audit devices. The servers write each request and response to them. A device that"
            " is removed from the list is disabled."
        ),
        max_length=16,
        json_schema_extra=as_map("path"),
    )
    audit_file_storage: AuditFileStorage | None = Field(
        default=None, description="Volume that all servers share for the files of audit devices."
    )
    plugins: tuple[Plugin, ...] = Field(
        default=(),
        description="Plugins of the server, each with either an image or a command.",
        max_length=32,
    )
    telemetry: Telemetry | None = Field(
        default=None, description="Destinations and names of the servers' metrics."
    )
    observability: Observability | None = Field(
        default=None, description="Metrics of the servers and their scrape objects."
    )
    paused: bool = Field(
        default=False,
        description="Stop all changes. The status is still updated, and a deletion still runs.",
    )
    hibernate: bool = Field(
        default=False,
        description=(
            "Stop all servers and keep volumes, keys and all other objects. If false, the servers "
            "start again with their data."
        ),
    )
    fenced_pods: tuple[PodName, ...] = Field(
        default=(),
        description=(
            "Server pods that must not run. Their volumes are kept for an inspection. Must be "
            "less than half of the servers; a leader steps down first."
        ),
        examples=[["first-2"]],
        max_length=15,
        json_schema_extra=as_set(),
    )
    deletion_policy: DeletionPolicy = Field(
        default="Retain",
        description=(
            "What is deleted with the cluster. Retain keeps volumes, unseal key and root "
            "token. DeletePVCs and DeleteAll delete them. Backups are always kept."
        ),
    )
    runtime: Runtime | None = Field(default=None, description="Requests to the running cluster.")
    maintenance: Maintenance | None = Field(
        default=None, description="Maintenance mode, and a deprecated alias of runtime."
    )
    init_container: InitContainer | None = Field(
        default=None,
        description="No effect: no configuration is rendered in the pod.",
    )

    read_replicas: ReadReplicas | None = Field(
        default=None,
        description=(
            "Servers without a vote: additional copies of the data, and from OpenBao 2.5.0 on "
            "additional servers that answer reads."
        ),
    )

    backup: Backup | None = Field(
        default=None,
        description="Scheduled snapshots; if not set, snapshots are taken only on request.",
    )
    break_glass_ack: str | None = Field(
        default=None,
        description="Acknowledges break glass: the nonce of status.breakGlass.",
        max_length=256,
    )

    # --- accepted so that manifests for other operators of this API can be applied
    controller_jwt_mode: Literal["Shared", "Target"] | None = Field(
        default=None,
        alias="controllerJWTMode",
        description="Audience of the operator's tokens. Target is not supported.",
    )
    gateway: Gateway | None = Field(
        default=None, description="Route of the Gateway API to the public Service."
    )
    ingress: Ingress | None = Field(default=None, description="Ingress for the public Service.")
    reconcile_policies: bool | None = Field(
        default=None, description=f"Repair the operator's policies. {_NOT_SUPPORTED}"
    )
    recovery_keys: RecoveryKeys | None = Field(default=None, description="Recovery keys.")
    restore: RestoreLogin | None = Field(
        default=None, description="Login of restore Jobs; if not set, the operator's role."
    )
    upgrade: Upgrade | None = Field(default=None, description="Upgrades.")

    @property
    def servers(self) -> int:
        """Desired number of servers, voters and read replicas."""
        return self.replicas + (self.read_replicas.replicas if self.read_replicas else 0)

    @property
    def self_initializes(self) -> bool:
        """Whether requests of the spec create the first logins; otherwise there is a root token."""
        return self.self_init is not None and self.self_init.enabled

    @property
    def in_maintenance(self) -> bool:
        """Whether a user works on the cluster, so that the operator postpones disruptions."""
        return self.maintenance is not None and self.maintenance.enabled

    @property
    def wants_operator_login(self) -> bool:
        """Whether the first boot creates a login for the operator."""
        return (
            self.self_init is not None
            and self.self_init.enabled
            and self.self_init.oidc is not None
            and self.self_init.oidc.enabled
        )


class OpenBaoCluster(ApiObject):
    """An OpenBao cluster."""

    api_version: str = API_VERSION
    kind: str = CLUSTER_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: ClusterSpec
    status: Annotated[ClusterStatus, BeforeValidator(ClusterStatus.lenient)] = Field(
        default_factory=ClusterStatus
    )

    @property
    def has_operator_login(self) -> bool:
        """Whether the operator has a login, or can still create it.

        A cluster without self-init has none if the root token of its first boot created none.
        """
        if self.spec.self_initializes:
            return self.spec.wants_operator_login
        login = self.operator_login_status
        return login is None or bool(login.keys) or not login.reason

    @property
    def has_job_roles(self) -> bool:
        """Whether OpenBao has the roles of Jobs, created by the first boot or after it."""
        if self.spec.self_initializes:
            return self.spec.wants_operator_login
        login = self.operator_login_status
        return login is not None and bool(login.keys)

    @property
    def operator_login_status(self) -> OperatorLoginStatus | None:
        """The login status that the adminops reconciler writes; None before its first check."""
        return self.status.admin_ops.operator_login if self.status.admin_ops else None

    @property
    def pending_upgrade_requests(self) -> dict[UpgradeRequest, str]:
        """The tokens of spec.upgrade.requests that are not handled yet."""
        requests = self.spec.upgrade.requests if self.spec.upgrade else None
        if requests is None:
            return {}
        handled = self.status.upgrade_requests or UpgradeRequestsStatus()
        return {
            request: token
            for request in UPGRADE_REQUESTS
            if (token := getattr(requests, request))
            and token != getattr(handled, f"last_handled_{request}")
        }

    @classmethod
    def size_violation(cls, spec: Any) -> Violation | None:
        """Return the violation of a spec that is too large or too deep; None if it can be read."""
        # First the number of values: the check of the depth needs memory in proportion to it.
        if too_many(spec, VALUES_MAX):
            message = f"must hold at most {VALUES_MAX} values; write the rest when the cluster runs"
            return Violation("spec", "", "size", message)
        path = too_deep(spec, LEVELS_MAX)
        if path is None:
            return None
        field = ".".join(["spec", *path.split(".")[1:LEVELS_SHOWN]])
        message = f"must not be nested deeper than {LEVELS_MAX} levels; make it flatter"
        return Violation(field, "", "depth", message)
