"""Where pods run: the parts of core/v1 that the API passes on, bounded.

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
    """A taint of nodes that the pods put up with."""

    key: _Key | None = Field(default=None, description="Taint key; left out, all keys.")
    operator: Literal["Equal", "Exists", "Lt", "Gt"] | None = Field(
        default=None, description="How the value is compared; left out, Equal."
    )
    value: Annotated[str, Field(max_length=63)] | None = Field(
        default=None, description="Taint value."
    )
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Taint effect; left out, all effects."
    )
    toleration_seconds: int | None = Field(
        default=None, description="Seconds to stay after a NoExecute taint; left out, for ever."
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
        description="What to do with a pod that cannot be placed evenly."
    )
    label_selector: LabelSelector | None = Field(
        default=None, description="Pods that are counted; left out, those of the same pool."
    )
    min_domains: int | None = Field(
        default=None, description="Least number of topology domains; left out, 1.", ge=1, le=1000
    )
    match_label_keys: _LabelKeys | None = Field(
        default=None, description="Pod labels whose values are added to the selector."
    )
    node_affinity_policy: _NodePolicy | None = Field(
        default=None, description="Whether node selection counts; left out, Honor."
    )
    node_taints_policy: _NodePolicy | None = Field(
        default=None, description="Whether node taints count; left out, Ignore."
    )


class Scheduling(ApiModel):
    """Where pods run, as in core/v1."""

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
        description="Affinity as in core/v1, up to 500 values; left out, spread over nodes.",
    )
    topology_spread_constraints: tuple[TopologySpread, ...] = Field(
        default=(), description="Topology spread constraints of the pods.", max_length=16
    )
    priority_class_name: SubdomainName | None = Field(
        default=None,
        description="PriorityClass of the pods, which must exist; left out, the default one.",
        examples=["high-priority"],
    )
