"""Files that a container of a shared service mounts: volumes, configuration files, Secrets.

Uses contracts.api.meta. Part of contracts.datacenter.service_spec.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import ApiModel, StorageSize, SubdomainName
from contracts.datacenter.names import NAME_PATTERN

SERVICE_NAME_MAX = 40
"""Short enough that names of objects rarely need a digest."""

ContainerName = Annotated[
    str, Field(pattern=NAME_PATTERN, min_length=1, max_length=SERVICE_NAME_MAX)
]
AbsolutePath = Annotated[str, Field(pattern=r"^/[^:\x00]+$", min_length=2, max_length=512)]
NodePath = Annotated[
    str,
    # No segment is empty, . or ..: paths are compared, so each directory has one spelling.
    Field(pattern=r"^(/\.?[^/.:\x00][^/:\x00]*)+$", min_length=2, max_length=512),
]


class Volume(ApiModel):
    """A volume of a container: an emptyDir, a PersistentVolumeClaim per pod, or a hostPath."""

    name: ContainerName = Field(
        description="Name of the volume; containers that use the same name share it.",
        examples=["spool"],
    )
    mount_path: AbsolutePath = Field(
        description="Path of the mount in the container.", examples=["/var/spool/shipper"]
    )
    kind: Literal["EmptyDir", "Persistent", "HostPath"] = Field(
        default="EmptyDir",
        description=(
            "EmptyDir lasts as long as the pod. Persistent is a volume for each pod, for kind "
            "StatefulSet only. HostPath is a directory of the node, for kind DaemonSet only "
            "and always read-only."
        ),
    )
    host_path: NodePath | None = Field(
        default=None,
        description=(
            "Directory of the node, for HostPath only: an absolute path without empty, . and .. "
            "segments and without a trailing slash. spec.nodeAccess of the Datacenter must allow "
            "it."
        ),
        examples=["/var/log"],
    )
    size: StorageSize | None = Field(
        default=None,
        description="Size of the volume; required for kind Persistent.",
        examples=["10Gi"],
    )
    storage_class_name: SubdomainName | None = Field(
        default=None,
        description="StorageClass of a Persistent volume; left out, the default class.",
        examples=["fast"],
    )
    read_only: bool = Field(default=False, description="Mount the volume read-only.")


class ConfigFile(ApiModel):
    """A configuration file; a change rolls the pods."""

    path: AbsolutePath = Field(
        description="Path in the container.", examples=["/etc/shipper/shipper.conf"]
    )
    content: str = Field(
        description="Content of the file. Do not put secrets here.",
        examples=["[service]\nflush 5\n"],
        max_length=65536,
    )


class SecretFiles(ApiModel):
    """A Secret mounted as files, one for each key."""

    name: SubdomainName = Field(
        description="Name of a Secret in the namespace of the datacenter.", examples=["shipper-tls"]
    )
    mount_path: AbsolutePath = Field(
        description="Directory of the files.", examples=["/etc/shipper/tls"]
    )
