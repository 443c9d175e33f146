"""spec.configuration: settings of the server.

Uses contracts.api.meta. Part of ClusterSpec; rendered by contracts.hcl.stanzas. The operator sets
the listener address, the raft storage and the seal, so they have no field here.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import ApiModel, Duration, as_set

_Path = Annotated[str, Field(max_length=1024)]
_TlsVersion = Literal["tls12", "tls13"]
_Network = Annotated[str, Field(pattern=r"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$", max_length=49)]
_Group = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$", max_length=32)]


def _flag(text: str) -> bool | None:
    field: bool | None = Field(
        default=None, description=f"{text} If not set, false.", examples=[False]
    )
    return field


class ListenerSpec(ApiModel):
    """Listener of the API, without its address and its certificate."""

    tls_disable: bool | None = Field(
        default=None,
        description="Must be false or absent: probes, raft joins and the operator use only TLS.",
    )
    proxy_protocol_behavior: (
        Literal["use_always", "allow_authorized", "deny_unauthorized", "allow_any"] | None
    ) = Field(
        default=None,
        description=(
            "Clients whose PROXY protocol header is accepted. use_always: all clients. "
            "allow_authorized: those in proxyProtocolAuthorizedAddrs; the header of other clients "
            "is ignored. deny_unauthorized: other clients are rejected. allow_any: deprecated "
            "alias of allow_authorized. If not set, no header is read."
        ),
        examples=["allow_authorized"],
    )
    proxy_protocol_authorized_addrs: tuple[_Network, ...] = Field(
        default=(),
        description=(
            "Addresses or ranges of the proxies; required by all behaviors except use_always."
        ),
        examples=[["192.0.2.0/24"]],
        max_length=32,
        json_schema_extra=as_set(),
    )
    tls_min_version: _TlsVersion | None = Field(
        default=None,
        description="Oldest TLS version; if not set, the server uses tls12.",
        examples=["tls13"],
    )
    tls_max_version: _TlsVersion | None = Field(
        default=None,
        description=(
            "Newest TLS version, not below tlsMinVersion; if not set, the server uses tls13."
        ),
        examples=["tls13"],
    )
    tls_key_exchange_preferences: tuple[_Group, ...] = Field(
        default=(),
        description=(
            "Key exchange groups, in the order of preference. Needs OpenBao 2.7.0; if not set, the "
            "server chooses."
        ),
        examples=[["X25519MLKEM768", "X25519"]],
        max_length=16,
    )
    unauthenticated_generate_root: bool | None = Field(
        default=None,
        description=(
            "Let holders of recovery keys generate a root token at sys/generate-root without a "
            "login. Every client of the listener can start or cancel an attempt. If not set or "
            "false, the server rejects it. Needs OpenBao 2.5.3; older servers always allow it."
        ),
        examples=[True],
    )


class Autopilot(ApiModel):
    """Handling of dead and new servers by raft. Set through the API of the servers."""

    cleanup_dead_servers: bool | None = Field(
        default=None,
        description="Remove dead servers. If not set, the operator uses true.",
        examples=[True],
    )
    dead_server_last_contact_threshold: Duration | None = Field(
        default=None,
        description=(
            "Time without contact after which a server is dead, a Go duration of at least 1m. If "
            "not set, the operator uses 24h."
        ),
        examples=["5m"],
    )
    min_quorum: int | None = Field(
        default=None,
        description=(
            "Minimum number of voters that must remain when servers are removed. If not set, the "
            "majority of the replicas, and at least 3."
        ),
        examples=[3],
        ge=3,
        le=15,
    )
    server_stabilization_time: Duration | None = Field(
        default=None,
        description=(
            "Time for which a new server must be healthy before it becomes a voter, a Go duration. "
            "If not set, the operator uses 10s, and 2s until all servers of a new cluster vote."
        ),
        examples=["10s"],
    )
    last_contact_threshold: Duration | None = Field(
        default=None,
        description=(
            "Time without contact after which a server is unhealthy, a Go duration. If not set, "
            "the operator uses 10s."
        ),
        examples=["10s"],
    )
    max_trailing_logs: int | None = Field(
        default=None,
        description=(
            "Number of missing log entries after which a server is unhealthy. If not set, the "
            "operator uses 1000."
        ),
        examples=[1000],
        ge=1,
        le=10_000_000,
    )


class Raft(ApiModel):
    """Timing of raft."""

    performance_multiplier: int | None = Field(
        default=None,
        description=(
            "Scale of the raft timeouts: 1 is fastest, 10 is slowest, 0 is the default of the "
            "server (5). If not set, the operator uses 1."
        ),
        examples=[1],
        ge=0,
        le=10,
    )
    autopilot: Autopilot | None = Field(
        default=None, description="Autopilot of raft: dead and new servers."
    )


class Logging(ApiModel):
    """The log of the server."""

    format: Literal["standard", "json"] | None = Field(
        default=None, description="Format of a log line; if not set, the server uses standard."
    )
    file: _Path | None = Field(
        default=None,
        description=(
            "Additional log file, below /openbao/logs or /var/log/openbao (ephemeral, deleted with "
            "the pod), /tmp or the volume of auditFileStorage. If not set, the log is written only "
            "to stderr."
        ),
    )
    pid_file: _Path | None = Field(
        default=None,
        description="File for the process id; same directories as `file`. If not set, none.",
    )
    rotate_duration: Duration | None = Field(
        default=None,
        description="Start a new log file after this time, a Go duration; the server uses 24h.",
        examples=["24h"],
    )
    rotate_bytes: int | None = Field(
        default=None,
        description="Start a new log file after this number of bytes; 0 or not set: no limit.",
        examples=[104857600],
        ge=0,
        le=2**53,
    )
    rotate_max_files: int | None = Field(
        default=None,
        description="Number of old log files to keep; 0 or not set: all.",
        examples=[5],
        ge=0,
        le=10_000,
    )


class PluginSettings(ApiModel):
    """Settings of the plugin directory."""

    file_uid: int | None = Field(
        default=None,
        alias="fileUID",
        description="User id that must own plugin files; if not set, that of the server.",
        examples=[100],
        ge=0,
        le=2**31 - 1,
    )
    file_permissions: str | None = Field(
        default=None,
        description="Mode of plugin files, in octal; if not set, the server does not check it.",
        examples=["0755"],
        pattern=r"^[0-7]{3,4}$",
        max_length=4,
    )
    auto_download: bool | None = Field(
        default=None,
        description=(
            "Download the plugins of spec.plugins with an image. Needs OpenBao 2.5.0; if not set, "
            "the operator uses true if a plugin has an image."
        ),
        examples=[True],
    )
    auto_register: bool | None = Field(
        default=None,
        description=(
            "Register the plugins of spec.plugins in the catalog. Needs OpenBao 2.5.0; if not set, "
            "the operator uses true if there are plugins."
        ),
        examples=[True],
    )
    download_behavior: Literal["fail", "continue", "standard", "direct"] | None = Field(
        default=None,
        description=(
            "Handling of a failed download: with fail the server does not start, with continue it "
            "starts without the plugin. Needs OpenBao 2.5.0; if not set, the server uses fail. "
            "Deprecated aliases: standard for fail, direct for continue."
        ),
        examples=["fail"],
    )


class Configuration(ApiModel):
    """Settings of the server."""

    ui: bool = Field(default=True, description="Serve the web UI.")
    log_level: Literal["trace", "debug", "info", "warn", "err"] = Field(
        default="info",
        description="Log level. trace logs the payload of requests.",
    )
    logging: Logging | None = Field(default=None, description="The log of the server.")
    raft: Raft | None = Field(default=None, description="Timing of raft.")
    default_lease_ttl: Duration | None = Field(
        default=None,
        alias="defaultLeaseTTL",
        description="Default lifetime of a lease, a Go duration; if not set, the server uses 768h.",
        examples=["24h"],
    )
    max_lease_ttl: Duration | None = Field(
        default=None,
        alias="maxLeaseTTL",
        description=(
            "Maximum lifetime of a lease, a Go duration not below defaultLeaseTTL; if not set, the "
            "server uses 768h."
        ),
        examples=["168h"],
    )
    acme_ca_root: _Path | None = Field(
        default=None,
        alias="acmeCARoot",
        description=(
            "File in the pod with the CA that signs the certificate of the ACME directory; if not "
            "set, the system CAs. Used only with tls.mode ACME."
        ),
        examples=["/etc/bao/seal-creds/pki-ca.crt"],
    )
    cache_size: int | None = Field(
        default=None,
        description="Size of the read cache in entries; if not set, the server uses 131072.",
        examples=[131072],
        ge=0,
        le=2**53,
    )
    standby_reads: bool | None = Field(
        default=None,
        description=(
            "Let standbys answer reads from their own copy, which may be stale. If not set or "
            "false, a standby forwards each read to the leader, so that a client reads its own "
            "writes. Read replicas always answer reads. Needs OpenBao 2.5.0."
        ),
        examples=[True],
    )
    disable_cache: bool | None = _flag("Disable the read cache.")
    detect_deadlocks: bool | None = _flag("Detect deadlocks of the server's locks, which is slow.")
    raw_storage_endpoint: bool | None = _flag(
        "Serve sys/raw, which reads and writes the encrypted storage directly."
    )
    introspection_endpoint: bool | None = _flag("Serve sys/internal/inspect.")
    unsafe_allow_api_audit_creation: bool | None = Field(
        default=None,
        alias="unsafeAllowAPIAuditCreation",
        description="Let the API create audit devices; self-init requests to sys/audit/ need it.",
    )
    imprecise_lease_role_tracking: bool | None = _flag(
        "Count the leases of a role imprecisely, which needs less memory."
    )
    allow_audit_log_prefixing: bool | None = _flag(
        "Let audit devices write a prefix before each line."
    )
    enable_response_header_hostname: bool | None = _flag(
        "Add a header with the host name to every response."
    )
    enable_response_header_raft_node_id: bool | None = Field(
        default=None,
        alias="enableResponseHeaderRaftNodeID",
        description="Add a header with the raft node id to every response. If not set, false.",
        examples=[False],
    )
    listener: ListenerSpec | None = Field(default=None, description="Listener of the API.")
    plugin: PluginSettings | None = Field(
        default=None, description="Settings of the plugin directory."
    )
