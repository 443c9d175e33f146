"""OpenBaoTenant: a namespace that is opened for clusters, and what may be used up in it.

Uses contracts.api.meta. Called by managers.tenancy, by the gate of the controller, and by the CRD
generator.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from contracts.api.api_object import ApiObject
from contracts.api.group import API_VERSION, TENANT_KIND
from contracts.api.meta import (
    ApiModel,
    Condition,
    ObjectMeta,
    Quantities,
    StoredStatus,
    as_map,
    as_set,
)
from contracts.api.violation import InvalidClusterError

NAMESPACE_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
# The largest sensible one has a few dozen.
VALUES_MAX = 500
GRANTS_MAX = 1024

DEFAULT_QUOTA: Mapping[str, str] = {
    "pods": "50",
    "requests.cpu": "20",
    "requests.memory": "64Gi",
    "limits.cpu": "40",
    "limits.memory": "128Gi",
    "count/openbaoclusters.openbao.org": "20",
    "count/openbaobackups.openbao.org": "1000",
    "count/openbaorestores.openbao.org": "100",
    "count/configmaps": "200",
}
"""Room for Jobs, and for the green pool of an upgrade; and no more objects than that,
because the operator keeps each of them in memory. A schedule keeps up to 40 OpenBaoBackups of each
cluster, unless its retention asks for more."""
DEFAULT_LIMITS: Mapping[str, str] = {"cpu": "500m", "memory": "512Mi"}
DEFAULT_REQUESTS: Mapping[str, str] = {"cpu": "100m", "memory": "128Mi"}

NamespaceName = Annotated[str, Field(pattern=NAMESPACE_PATTERN, min_length=1, max_length=63)]
Word = Annotated[str, Field(max_length=253)]
Scope = Literal[
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity"
]


class ScopeRequirement(ApiModel):
    """One condition on the pods that a quota counts, as in a ResourceQuota."""

    scope_name: Literal[Scope, "PriorityClass"] = Field(description="What is asked about a pod.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="How.")
    values: tuple[Word, ...] = Field(
        default=(), description="For In and NotIn.", max_length=64, json_schema_extra=as_set()
    )


class ScopeSelector(ApiModel):
    """Conditions on the pods that a quota counts, as in a ResourceQuota."""

    match_expressions: tuple[ScopeRequirement, ...] = Field(
        default=(), description="All of them hold.", max_length=8
    )


class TenantQuota(ApiModel):
    """What all of the namespace may use up together, as in a ResourceQuota."""

    hard: Quantities = Field(
        default_factory=dict,
        description="Bounds by resource.",
        examples=[{"pods": "80", "limits.memory": "256Gi"}],
    )
    scopes: tuple[Scope, ...] = Field(
        default=(),
        description="Which pods count; left out, all.",
        max_length=8,
        json_schema_extra=as_set(),
    )
    scope_selector: ScopeSelector | None = Field(
        default=None, description="Which pods count, by conditions; left out, all."
    )


class TenantLimit(ApiModel):
    """Bounds and defaults of one kind, as in a LimitRange."""

    type: Literal["Container", "Pod", "PersistentVolumeClaim"] = Field(
        description="What is bounded."
    )
    default: Quantities = Field(default_factory=dict, description="Limits where none are named.")
    default_request: Quantities = Field(
        default_factory=dict, description="Requests where none are named."
    )
    max: Quantities = Field(default_factory=dict, description="The most that may be asked for.")
    min: Quantities = Field(default_factory=dict, description="The least that may be asked for.")
    max_limit_request_ratio: Quantities = Field(
        default_factory=dict, description="How far a limit may lie above its request."
    )


class TenantLimits(ApiModel):
    """Bounds and defaults of what runs in the namespace, as in a LimitRange."""

    limits: tuple[TenantLimit, ...] = Field(
        default=(), description="One entry per kind.", max_length=8
    )


class TenantSpec(ApiModel):
    """Which namespace is opened, and its bounds."""

    target_namespace: NamespaceName = Field(
        description=(
            "The namespace. A tenant outside of the operator's namespace may name its own only. "
            "Never changes."
        ),
        examples=["team-a"],
    )
    quota: TenantQuota | None = Field(
        default=None,
        description=(
            "Instead of 50 pods, requests of 20 CPUs and 64Gi, limits of 40 CPUs and 128Gi, 20 "
            "OpenBaoClusters, 1000 OpenBaoBackups, 100 OpenBaoRestores and 200 ConfigMaps. Leave "
            "room for Jobs and for twice the servers of an upgrade, and keep the counts: the "
            "operator holds these objects in memory."
        ),
    )
    limit_range: TenantLimits | None = Field(
        default=None,
        description=(
            "Instead of limits of 500m and 512Mi and requests of 100m and 128Mi for containers "
            "that name none."
        ),
    )


class Grant(ApiModel):
    """The Secrets of one cluster that the controller may use now."""

    cluster: Word = Field(description="Name of the OpenBaoCluster.")
    secrets: str = Field(
        default="",
        description="Digest of the names of its Secrets, in the order of the operator.",
        max_length=64,
    )


class TenantStatus(StoredStatus):
    """How far the namespace is prepared."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the spec that this status speaks of.", ge=0
    )
    provisioned: bool = Field(default=False, description="Clusters of the namespace are served.")
    last_error: str = Field(
        default="", description="Why they are not; empty if they are.", max_length=1024
    )
    reads: Literal["watch", "poll"] | None = Field(
        default=None,
        description="How the controller may read objects: by list and watch, or one by one.",
    )
    grants: tuple[Grant, ...] = Field(
        default=(),
        description="The clusters whose Secrets the controller may use.",
        max_length=GRANTS_MAX,
        json_schema_extra=as_map("cluster"),
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Provisioned: whether clusters of the namespace are served, and why not.",
        max_length=8,
        json_schema_extra=as_map("type"),
    )

    def granted(self, cluster: str) -> str:
        """The digest that was granted to a cluster; "" when none was."""
        return next((grant.secrets for grant in self.grants if grant.cluster == cluster), "")


class InvalidTenantError(InvalidClusterError):
    """An object that is not an OpenBaoTenant that this version can read."""


class OpenBaoTenant(ApiObject):
    """A namespace that is opened for OpenBao clusters."""

    invalid = InvalidTenantError
    values_max = VALUES_MAX

    api_version: str = API_VERSION
    kind: str = TENANT_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: TenantSpec
    status: Annotated[TenantStatus, BeforeValidator(TenantStatus.lenient)] = Field(
        default_factory=TenantStatus
    )
