"""status of an OpenBaoCluster: what the operator observed.

Uses contracts.api.meta. Part of OpenBaoCluster; written by the status pass alone, apart from
status.adminOps. Printer columns read from here, so they show what is and not what is wished.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError

from contracts.api.meta import ApiModel, Condition, Timestamp, as_map

Phase = Literal["Initializing", "Running", "Upgrading", "BackingUp", "Failed"]
_Name = Annotated[str, Field(max_length=253)]


class LastError(ApiModel):
    """The last thing that went wrong in one part of the operator."""

    reason: str = Field(description="Why, in one word.", max_length=128)
    message: str = Field(description="Why, for a person.", max_length=1024)
    at: Timestamp | None = Field(default=None, description="When it was first seen.")


class WorkloadStatus(ApiModel):
    """What keeps the pods and their surroundings from being as the spec asks."""

    last_error: LastError | None = Field(
        default=None, description="The last error; absent if none."
    )


class RaftStatus(ApiModel):
    """The members of the raft cluster, as the leader lists them."""

    voters: int = Field(default=0, description="Number of voters.", ge=0)
    non_voters: int = Field(default=0, description="Number of members without a vote.", ge=0)
    leader: _Name = Field(default="", description="Node id of the leader.")
    cluster_id: str = Field(
        default="",
        alias="clusterID",
        description="Id that OpenBao gave to the cluster; servers with another are not of it.",
        max_length=64,
    )


class AdminOpsStatus(ApiModel):
    """What the operator does inside of OpenBao."""

    last_error: LastError | None = Field(
        default=None, description="The last error; absent if none."
    )
    raft: RaftStatus | None = Field(default=None, description="The raft cluster.")


class ClusterStatus(ApiModel):
    """What the operator observed."""

    observed_generation: int = Field(
        default=0, description="metadata.generation of the spec that this status speaks of.", ge=0
    )
    phase: Phase | None = Field(
        default=None,
        description=(
            "Where the cluster is in its life: Initializing until it served for the first time, "
            "then Running. Health is told by the conditions."
        ),
    )
    active_leader: _Name = Field(default="", description="Pod that leads, empty if none is known.")
    ready: str = Field(
        default="",
        description="Ready and wanted servers.",
        examples=["2/3"],
        pattern=r"^([0-9]+/[0-9]+)?$",
        max_length=16,
    )
    ready_replicas: int = Field(default=0, description="Number of ready servers.", ge=0)
    replicas: int = Field(default=0, description="Number of server pods.", ge=0)
    selector: str = Field(
        default="", description="Selector of the server pods, for kubectl scale.", max_length=1024
    )
    sealed: Literal["true", "false", "unknown"] | None = Field(
        default=None, description="Whether a server is sealed."
    )
    current_version: str = Field(
        default="", description="OpenBao version that runs.", max_length=64
    )
    initialized: bool = Field(default=False, description="OpenBao has been initialized.")
    self_initialized: bool = Field(
        default=False, description="It initialized itself, so there is no root token."
    )
    workload: WorkloadStatus | None = Field(default=None, description="Pods and surroundings.")
    admin_ops: AdminOpsStatus | None = Field(default=None, description="Work inside of OpenBao.")
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Answers about the cluster; Ready sums them up.",
        max_length=32,
        json_schema_extra=as_map("type"),
    )

    @classmethod
    def lenient(cls, value: Any) -> Self:
        """Read a stored status; one that somebody made unreadable counts as none."""
        try:
            return cls.model_validate(value or {})
        except ValidationError:
            return cls()
