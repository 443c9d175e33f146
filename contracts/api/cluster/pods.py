"""The parts of the spec about pods: metadata, resources, restarts, maintenance.

Uses contracts.api.meta. Part of ClusterSpec.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import Annotations, ApiModel, Labels, Quantities, as_map

DeletionPolicy = Literal["Retain", "DeletePVCs", "DeleteAll"]
Profile = Literal["Hardened", "Development"]

Token = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A text that requests an operation when it changes, such as a date or a number."""

Image = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9\[][A-Za-z0-9._:/@\[\]-]*$", min_length=1, max_length=512)
]
"""A reference to a container image, by tag or digest."""


PodName = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
"""Name of a pod."""


class PodMetadata(ApiModel):
    """Additional metadata of the server pods. Keys of the operator take precedence."""

    labels: Labels | None = Field(default=None, description="Labels.", examples=[{"team": "a"}])
    annotations: Annotations | None = Field(default=None, description="Annotations.")


class ResourceClaim(ApiModel):
    """A claim of dynamic resource allocation."""

    name: str = Field(description="Name of the claim.", min_length=1, max_length=63)
    request: str | None = Field(default=None, description="Request in the claim.", max_length=63)


class Resources(ApiModel):
    """Requests and limits of the server container."""

    requests: Quantities | None = Field(
        default=None,
        description="Requests of each server.",
        examples=[{"cpu": "250m", "memory": "256Mi"}],
    )
    limits: Quantities | None = Field(
        default=None, description="Limits of each server.", examples=[{"memory": "1Gi"}]
    )
    claims: tuple[ResourceClaim, ...] | None = Field(
        default=None,
        description="Claims of dynamic resource allocation.",
        max_length=16,
        json_schema_extra=as_map("name"),
    )


class InitContainer(ApiModel):
    """Config renderer of other operators. No effect: no configuration is rendered in the pod."""

    enabled: bool = Field(
        default=True,
        description="No effect: the server reads its node id and addresses from the environment.",
    )
    image: Image | None = Field(
        default=None,
        description="No effect.",
    )


class Maintenance(ApiModel):
    """Maintenance mode, and a deprecated alias of runtime."""

    enabled: bool = Field(
        default=False,
        description=(
            "Maintenance of the cluster: StatefulSets and pods have the annotation "
            "openbao.org/maintenance, and no pod is replaced or removed until this is false. "
            "Repairs continue."
        ),
    )
    restart_at: Token | None = Field(
        default=None,
        description="Deprecated alias of runtime.restartAt, which takes precedence.",
    )


class Runtime(ApiModel):
    """Requests to the running cluster."""

    restart_at: Token | None = Field(
        default=None,
        description="Restart the servers one at a time whenever this text changes.",
        examples=["2026-01-31T12:00:00Z"],
    )
