"""OpenBaoTenant: a namespace for clusters, and its quota.

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
# The largest realistic spec has a few dozen values.
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
"""Room for Jobs and for the green pool of an upgrade. The counts are bounded because the operator
keeps each of these objects in memory. A schedule keeps up to 40 OpenBaoBackups of each cluster,
unless its retention sets more."""
DEFAULT_LIMITS: Mapping[str, str] = {"cpu": "500m", "memory": "512Mi"}
DEFAULT_REQUESTS: Mapping[str, str] = {"cpu": "100m", "memory": "128Mi"}

NamespaceName = Annotated[str, Field(pattern=NAMESPACE_PATTERN, min_length=1, max_length=63)]
Word = Annotated[str, Field(max_length=253)]
Scope = Literal[
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity"
]


class ScopeRequirement(ApiModel):
    """One condition on the pods that a quota counts, as in a ResourceQuota."""

    scope_name: Literal[Scope, "PriorityClass"] = Field(description="Name of the scope.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(
        description="Operator of the expression."
    )
    values: tuple[Word, ...] = Field(
        default=(),
        description="Values for In and NotIn.",
        max_length=64,
        json_schema_extra=as_set(),
    )


class ScopeSelector(ApiModel):
    """Conditions on the pods that a quota counts, as in a ResourceQuota."""

    match_expressions: tuple[ScopeRequirement, ...] = Field(
        default=(), description="Expressions; all must hold.", max_length=8
    )


class TenantQuota(ApiModel):
    """Quota of the namespace, as in a ResourceQuota."""

    hard: Quantities = Field(
        default_factory=dict,
        description="Quota by resource.",
        examples=[{"pods": "80", "limits.memory": "256Gi"}],
    )
    scopes: tuple[Scope, ...] = Field(
        default=(),
        description="Pods that count, by scopes; if not set, all pods.",
        max_length=8,
        json_schema_extra=as_set(),
    )
    scope_selector: ScopeSelector | None = Field(
        default=None, description="Pods that count, by scope expressions; if not set, all pods."
    )


class TenantLimit(ApiModel):
    """Bounds and defaults of one kind, as in a LimitRange."""

    type: Literal["Container", "Pod", "PersistentVolumeClaim"] = Field(
        description="Type of the limit."
    )
    default: Quantities = Field(default_factory=dict, description="Default limits.")
    default_request: Quantities = Field(default_factory=dict, description="Default requests.")
    max: Quantities = Field(default_factory=dict, description="Maximum.")
    min: Quantities = Field(default_factory=dict, description="Minimum.")
    max_limit_request_ratio: Quantities = Field(
        default_factory=dict, description="Largest ratio of limit to request."
    )


class TenantLimits(ApiModel):
    """Bounds and defaults in the namespace, as in a LimitRange."""

    limits: tuple[TenantLimit, ...] = Field(
        default=(), description="One entry per kind.", max_length=8
    )


class TenantSpec(ApiModel):
    """Namespace of the tenant, its quota and limits."""

    target_namespace: NamespaceName = Field(
        description=(
            "The namespace. A tenant outside of the operator's namespace may name only its own "
            "namespace. Immutable."
        ),
        examples=["team-a"],
    )
    quota: TenantQuota | None = Field(
        default=None,
        description=(
            "Replaces the default quota: 50 pods, requests of 20 CPUs and 64Gi, limits of 40 CPUs "
            "and 128Gi, 20 OpenBaoClusters, 1000 OpenBaoBackups, 100 OpenBaoRestores and 200 "
            "ConfigMaps. Leave room for Jobs and for twice the servers during an upgrade, and keep "
            "the counts: the operator keeps these objects in memory."
        ),
    )
    limit_range: TenantLimits | None = Field(
        default=None,
        description=(
            "Replaces the default limits of 500m and 512Mi and the default requests of 100m and "
            "128Mi of containers."
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
    """Observed state of the tenant."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the observed spec.", ge=0
    )
    provisioned: bool = Field(
        default=False, description="Whether the operator serves clusters of the namespace."
    )
    last_error: str = Field(
        default="", description="Last error; empty without one.", max_length=1024
    )
    reads: Literal["watch", "poll"] | None = Field(
        default=None,
        description="How the controller may read objects: with list and watch, or by name.",
    )
    grants: tuple[Grant, ...] = Field(
        default=(),
        description="Clusters whose Secrets the controller may use.",
        max_length=GRANTS_MAX,
        json_schema_extra=as_map("cluster"),
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Conditions. Provisioned is True when the operator serves clusters of the "
        "namespace.",
        max_length=8,
        json_schema_extra=as_map("type"),
    )

    def granted(self, cluster: str) -> str:
        """Return the digest of the Secrets that a cluster was granted; "" if it has no grant."""
        return next((grant.secrets for grant in self.grants if grant.cluster == cluster), "")


class InvalidTenantError(InvalidClusterError):
    """The object is not an OpenBaoTenant that this version can read."""


class OpenBaoTenant(ApiObject):
    """A namespace in which the operator serves OpenBao clusters."""

    invalid = InvalidTenantError
    values_max = VALUES_MAX

    api_version: str = API_VERSION
    kind: str = TENANT_KIND
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: TenantSpec
    status: Annotated[TenantStatus, BeforeValidator(TenantStatus.lenient)] = Field(
        default_factory=TenantStatus
    )
