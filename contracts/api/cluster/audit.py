"""spec.audit and spec.auditFileStorage: audit devices of the server, and a volume for their files.

Uses contracts.api.meta, and the options in contracts.api.cluster.self_init. Part of ClusterSpec;
rendered by contracts.hcl.stanzas.
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
"""Options by type of device (OpenBao 2.4.0, builtin/audit; http: its documentation in 2.5). The
server silently ignores all other keys. `path`, the server's alias of `file_path`, is not accepted,
so that only one option sets the file."""


class Audit(TypedOptions):
    """Audit device, to which the server writes each request and response before it answers."""

    type: AuditDeviceType = Field(
        description="Type of the device. http needs OpenBao 2.5.0.", examples=["file"]
    )
    path: str = Field(
        description="Unique name of the device.",
        examples=["stdout"],
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*$",
        min_length=1,
        max_length=128,
    )
    description: str | None = Field(
        default=None,
        description="Description for users.",
        examples=["all requests"],
        max_length=1024,
    )
    options: FreeObject | None = Field(
        default=None,
        description=(
            "Additional options with the server's names: text, numbers and booleans. All types "
            "accept elide_list_responses, format, hmac_accessor, log_raw and prefix. The typed "
            "options take precedence."
        ),
        examples=[{"log_raw": "false"}],
    )


class AuditFileStorage(ApiModel):
    """Volume that all servers share for the files of audit devices."""

    mode: Literal["ManagedPVC", "ExistingPVC"] = Field(
        description=(
            "ManagedPVC: the operator creates a PersistentVolumeClaim, which is deleted with the "
            "cluster only if deletionPolicy says so. ExistingPVC: the operator uses your own "
            "PersistentVolumeClaim and never changes it. Both must be ReadWriteMany if there are "
            "several replicas."
        ),
        examples=["ManagedPVC"],
    )
    existing_claim_name: SubdomainName | None = Field(
        default=None,
        description="Name of the PersistentVolumeClaim, in mode ExistingPVC.",
        examples=["bao-audit"],
    )
    size: StorageSize | None = Field(
        default=None,
        description="Size of the claim in bytes, as a quantity, in mode ManagedPVC.",
        examples=["10Gi"],
    )
    storage_class_name: SubdomainName | None = Field(
        default=None,
        description="StorageClass of the claim in mode ManagedPVC; if not set, the default class.",
        examples=["shared-files"],
    )
    mount_path: str = Field(
        default=AUDIT,
        description="Directory in the pods. Files of audit devices must be below it.",
        pattern=r"^/[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$",
        max_length=256,
    )
