"""spec.audit and spec.auditFileStorage: audit devices of the server, and a volume for their files.

Uses contracts.api.meta and the options of the same devices in contracts.api.cluster.self_init. Part
of ClusterSpec; rendered by contracts.hcl.stanzas.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from contracts.api.cluster.self_init import AuditDeviceType, TypedOptions
from contracts.api.meta import ApiModel, FreeObject, StorageSize, SubdomainName
from contracts.naming.mount_paths import AUDIT

_COMMON = ("elide_list_responses", "format", "hmac_accessor", "log_raw", "prefix")
ACCEPTED_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "file": (*_COMMON, "file_path", "mode"),
        "http": (*_COMMON, "headers", "uri"),
        "socket": (*_COMMON, "address", "socket_type", "write_timeout"),
        "syslog": (*_COMMON, "facility", "tag"),
    }
)
"""What a device of a type reads (OpenBao 2.4.0, builtin/audit; http: its documentation in 2.5). The
server passes over every other key in silence. `path` is another spelling of `file_path` there and
left out, so that a file has one place where it is named."""


class Audit(TypedOptions):
    """An audit device: every request and every answer is written to it before it counts."""

    type: AuditDeviceType = Field(
        description="Kind of device. http needs OpenBao 2.5.0.", examples=["file"]
    )
    path: str = Field(
        description="Name of the device, once per list.",
        examples=["stdout"],
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*$",
        min_length=1,
        max_length=128,
    )
    description: str | None = Field(
        default=None, description="Text for people.", examples=["all requests"], max_length=1024
    )
    options: FreeObject | None = Field(
        default=None,
        description=(
            "More options in the server's own spelling: text, numbers and booleans. All types take "
            "elide_list_responses, format, hmac_accessor, log_raw and prefix. The typed options "
            "win."
        ),
        examples=[{"log_raw": "false"}],
    )


class AuditFileStorage(ApiModel):
    """A volume that all servers share for the files of audit devices."""

    mode: Literal["ManagedPVC", "ExistingPVC"] = Field(
        description=(
            "ManagedPVC: the operator makes a PersistentVolumeClaim, which outlives the cluster "
            "unless deletionPolicy says otherwise. ExistingPVC: it uses one of yours and never "
            "changes it. Either must be ReadWriteMany when there are several replicas."
        ),
        examples=["ManagedPVC"],
    )
    existing_claim_name: SubdomainName | None = Field(
        default=None,
        description="The PersistentVolumeClaim, in mode ExistingPVC.",
        examples=["bao-audit"],
    )
    size: StorageSize | None = Field(
        default=None,
        description="Size of the claim in bytes, as a quantity, in mode ManagedPVC.",
        examples=["10Gi"],
    )
    storage_class_name: SubdomainName | None = Field(
        default=None,
        description="StorageClass of the claim in mode ManagedPVC; left out, the default class.",
        examples=["shared-files"],
    )
    mount_path: str = Field(
        default=AUDIT,
        description="Directory in the pods. Files of audit devices must be below it.",
        pattern=r"^/[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$",
        max_length=256,
    )
