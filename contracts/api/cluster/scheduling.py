"""Scheduling of pods: the fields of core/v1 that the operator copies to pods, with bounds.

Uses contracts.api.meta and contracts.api.cluster.network. Part of ClusterSpec and of
spec.readReplicas.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.cluster.network import LabelSelector
from contracts.api.meta import ApiModel, FreeObject, Labels, SubdomainName

_Key = Annotated[str, Field(max_length=317)]
_LabelKeys = Annotated[tuple[_Key, ...], Field(max_length=16)]
_NodePolicy = Literal["Honor", "Ignore"]


class Toleration(ApiModel):
    """Toleration of a node taint."""

    key: _Key | None = Field(default=None, description="Taint key; if not set, all keys.")
    operator: Literal["Equal", "Exists", "Lt", "Gt"] | None = Field(
        default=None, description="Comparison of the value; if not set, Equal."
    )
    value: Annotated[str, Field(max_length=63)] | None = Field(
        default=None, description="Taint value."
    )
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Taint effect; if not set, all effects."
    )
    toleration_seconds: int | None = Field(
        default=None, description="Seconds to stay after a NoExecute taint; if not set, no limit."
    )


class TopologySpread(ApiModel):
    """Topology spread constraints of the pods."""

    max_skew: int = Field(
        description="Largest difference in the number of pods between two topology domains.",
        ge=1,
        le=1000,
    )
    topology_key: _Key = Field(
        description="Node label that defines a topology domain.",
        examples=["topology.kubernetes.io/zone"],
    )
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = Field(
        description="Handling of a pod that does not satisfy the constraint."
    )
    label_selector: LabelSelector | None = Field(
        default=None, description="Pods that are counted; if not set, those of the same pool."
    )
    min_domains: int | None = Field(
        default=None,
        description="Minimum number of topology domains; if not set, 1.",
        ge=1,
        le=1000,
    )
    match_label_keys: _LabelKeys | None = Field(
        default=None, description="Pod labels whose values are added to the selector."
    )
    node_affinity_policy: _NodePolicy | None = Field(
        default=None,
        description="Whether nodeAffinity and nodeSelector are respected; if not set, Honor.",
    )
    node_taints_policy: _NodePolicy | None = Field(
        default=None, description="Whether node taints are respected; if not set, Ignore."
    )


class Scheduling(ApiModel):
    """Scheduling of pods, as in core/v1."""

    node_selector: Labels | None = Field(
        default=None,
        description="Labels that a node must have.",
        examples=[{"kubernetes.io/arch": "amd64"}],
    )
    tolerations: tuple[Toleration, ...] = Field(
        default=(), description="Tolerations of the pods.", max_length=32
    )
    affinity: FreeObject | None = Field(
        default=None,
        description="Affinity as in core/v1, up to 500 values; if not set, spread over nodes.",
    )
    topology_spread_constraints: tuple[TopologySpread, ...] = Field(
        default=(), description="Topology spread constraints of the pods.", max_length=16
    )
    priority_class_name: SubdomainName | None = Field(
        default=None,
        description="PriorityClass of the pods, which must exist; if not set, the default one.",
        examples=["high-priority"],
    )
