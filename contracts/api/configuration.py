"""spec.configuration: settings of the server itself.

Uses contracts.api.meta. Part of ClusterSpec; rendered by contracts.hcl.render. Listener address,
raft storage and seal belong to the operator and have no field here.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import ApiModel, Duration, FreeObject

_NOT_SERVED = "Accepted, not served by this version."
_Path = Annotated[str, Field(max_length=1024)]


def _flag(text: str) -> bool | None:
    field: bool | None = Field(default=None, description=f"{text} {_NOT_SERVED}")
    return field


class Raft(ApiModel):
    """Timing of raft."""

    performance_multiplier: int | None = Field(
        default=None,
        description=(
            "Scale of the raft timeouts: 1 is quick, 10 is patient, 0 is the server's own choice "
            "(5). Left out, the operator uses 1."
        ),
        examples=[1],
        ge=0,
        le=10,
    )
    autopilot: FreeObject | None = Field(
        default=None, description=f"Clean-up of dead servers. {_NOT_SERVED}"
    )


class Logging(ApiModel):
    """The log of the server."""

    format: Literal["standard", "json"] | None = Field(
        default=None, description="Format of a log line; left out, the server uses standard."
    )
    file: _Path | None = Field(default=None, description=f"File to log to. {_NOT_SERVED}")
    pid_file: _Path | None = Field(default=None, description=f"File of the PID. {_NOT_SERVED}")
    rotate_duration: Duration | None = Field(
        default=None, description=f"Age of a log file. {_NOT_SERVED}"
    )
    rotate_bytes: int | None = Field(
        default=None, description=f"Size of a log file in bytes. {_NOT_SERVED}", ge=0
    )
    rotate_max_files: int | None = Field(
        default=None, description=f"Number of old log files. {_NOT_SERVED}", ge=0
    )


class Configuration(ApiModel):
    """Settings of the server."""

    ui: bool = Field(default=True, description="Serve the web UI.")
    log_level: Literal["trace", "debug", "info", "warn", "err"] = Field(
        default="info",
        description="Level of the log. trace writes the payload of requests into it.",
    )
    logging: Logging | None = Field(default=None, description="The log of the server.")
    raft: Raft | None = Field(default=None, description="Timing of raft.")
    default_lease_ttl: Duration | None = Field(
        default=None,
        alias="defaultLeaseTTL",
        description="Lifetime of a lease, a Go duration; left out, the server uses 768h.",
        examples=["24h"],
    )
    max_lease_ttl: Duration | None = Field(
        default=None,
        alias="maxLeaseTTL",
        description=(
            "Longest lifetime of a lease, a Go duration not below defaultLeaseTTL; left out, the "
            "server uses 768h."
        ),
        examples=["168h"],
    )
    acme_ca_root: _Path | None = Field(
        default=None, alias="acmeCARoot", description=f"CA of the ACME directory. {_NOT_SERVED}"
    )
    cache_size: int | None = Field(
        default=None, description=f"Size of the cache. {_NOT_SERVED}", ge=0
    )
    disable_cache: bool | None = _flag("No cache.")
    detect_deadlocks: bool | None = _flag("Look for deadlocks.")
    raw_storage_endpoint: bool | None = _flag("Serve sys/raw.")
    introspection_endpoint: bool | None = _flag("Serve sys/internal/inspect.")
    unsafe_allow_api_audit_creation: bool | None = Field(
        default=None,
        alias="unsafeAllowAPIAuditCreation",
        description="Let the API create audit devices; self-init requests at sys/audit/ need it.",
    )
    imprecise_lease_role_tracking: bool | None = _flag("Count leases of roles roughly.")
    allow_audit_log_prefixing: bool | None = _flag("Let audit devices add a prefix.")
    enable_response_header_hostname: bool | None = _flag("Name the host in responses.")
    enable_response_header_raft_node_id: bool | None = Field(
        default=None,
        alias="enableResponseHeaderRaftNodeID",
        description=f"Name the raft node in responses. {_NOT_SERVED}",
    )
    listener: FreeObject | None = Field(
        default=None, description=f"Settings of the listener. {_NOT_SERVED}"
    )
    plugin: FreeObject | None = Field(
        default=None, description=f"Settings of plugins. {_NOT_SERVED}"
    )
