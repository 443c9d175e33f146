"""spec.storage: the data volume of each server.

Uses contracts.api.meta. Part of ClusterSpec.
"""

from pydantic import Field

from contracts.api.meta import ApiModel, StorageSize, SubdomainName


class StorageSpec(ApiModel):
    """The data volume of each server."""

    size: StorageSize = Field(
        description="Size of each volume in bytes, as a quantity. It can grow, but not shrink.",
        examples=["10Gi"],
    )
    storage_class_name: SubdomainName | None = Field(
        default=None,
        description=(
            "StorageClass of the volumes; if not set, the default class. Cannot be set, changed or "
            "removed later."
        ),
        examples=["fast-ssd"],
    )
