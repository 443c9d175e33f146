"""spec.configuration: settings of the server itself.

Uses contracts.api.meta. Part of ClusterSpec; rendered by contracts.hcl.stanzas. Listener address,
raft storage and seal belong to the operator and have no field here.
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
        default=None, description=f"{text} Left out, false.", examples=[False]
    )
    return field


class ListenerSpec(ApiModel):
    """The listener of the API, beside its address and its certificate."""

    tls_disable: bool | None = Field(
        default=None,
        description=(
            "Must be false or absent: probes, raft joins and the operator speak TLS only."
        ),
    )
    proxy_protocol_behavior: (
        Literal["use_always", "allow_authorized", "deny_unauthorized", "allow_any"] | None
    ) = Field(
        default=None,
        description=(
            "Whose PROXY protocol header counts. use_always: anybody's. allow_authorized: "
            "that of proxyProtocolAuthorizedAddrs; others connect as themselves. "
            "deny_unauthorized: others are refused. allow_any: older spelling of "
            "allow_authorized. Left out, no header is read."
        ),
        examples=["allow_authorized"],
    )
    proxy_protocol_authorized_addrs: tuple[_Network, ...] = Field(
        default=(),
        description=(
            "Addresses or ranges of the proxies; needed by all behaviours but use_always."
        ),
        examples=[["192.0.2.0/24"]],
        max_length=32,
        json_schema_extra=as_set(),
    )
    tls_min_version: _TlsVersion | None = Field(
        default=None,
        description="Oldest TLS version that is spoken; left out, the server uses tls12.",
        examples=["tls13"],
    )
    tls_max_version: _TlsVersion | None = Field(
        default=None,
        description=(
            "Newest TLS version that is spoken, not below tlsMinVersion; left out, the server uses "
            "tls13."
        ),
        examples=["tls13"],
    )
    tls_key_exchange_preferences: tuple[_Group, ...] = Field(
        default=(),
        description=(
            "Key exchange groups, the preferred one first. Needs OpenBao 2.7.0; left out, the "
            "server's own choice."
        ),
        examples=[["X25519MLKEM768", "X25519"]],
        max_length=16,
    )
    unauthenticated_generate_root: bool | None = Field(
        default=None,
        description=(
            "Let holders of recovery keys make a root token at sys/generate-root, without a login. "
            "Whoever reaches the listener may begin or cancel such an attempt. Left out or false, "
            "the server refuses. Needs OpenBao 2.5.3; older servers always allow it."
        ),
        examples=[True],
    )


class Autopilot(ApiModel):
    """What raft does with servers that are gone or new. Set through the API of the servers."""

    cleanup_dead_servers: bool | None = Field(
        default=None,
        description="Remove servers that are gone for good. Left out, the operator uses true.",
        examples=[True],
    )
    dead_server_last_contact_threshold: Duration | None = Field(
        default=None,
        description=(
            "A server that was not heard of for this long is gone for good; a Go duration of at "
            "least 1m. Left out, the operator uses 24h."
        ),
        examples=["5m"],
    )
    min_quorum: int | None = Field(
        default=None,
        description=(
            "Servers are only removed while at least this many voters are left. Left out, the "
            "majority of the replicas, and at least 3."
        ),
        examples=[3],
        ge=3,
        le=15,
    )
    server_stabilization_time: Duration | None = Field(
        default=None,
        description=(
            "A new server must be healthy for this long before it votes; a Go duration. Left out, "
            "the operator uses 10s."
        ),
        examples=["10s"],
    )
    last_contact_threshold: Duration | None = Field(
        default=None,
        description=(
            "A server that was not heard of for this long is unhealthy; a Go duration. Left out, "
            "the operator uses 10s."
        ),
        examples=["10s"],
    )
    max_trailing_logs: int | None = Field(
        default=None,
        description=(
            "A server that is more log entries behind than this is unhealthy. Left out, the "
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
            "Scale of the raft timeouts: 1 is quick, 10 is patient, 0 is the server's own choice "
            "(5). Left out, the operator uses 1."
        ),
        examples=[1],
        ge=0,
        le=10,
    )
    autopilot: Autopilot | None = Field(
        default=None, description="Autopilot of raft: lost and new servers."
    )


class Logging(ApiModel):
    """The log of the server."""

    format: Literal["standard", "json"] | None = Field(
        default=None, description="Format of a log line; left out, the server uses standard."
    )
    file: _Path | None = Field(
        default=None,
        description=(
            "File to log to as well, below /openbao/logs or /var/log/openbao (scratch, goes with "
            "the pod), /tmp or the volume of auditFileStorage. Left out, the log goes to stderr."
        ),
    )
    pid_file: _Path | None = Field(
        default=None,
        description="File for the process id; same folders as `file`. Left out, there is none.",
    )
    rotate_duration: Duration | None = Field(
        default=None,
        description="Start a new log file after this time, a Go duration; the server uses 24h.",
        examples=["24h"],
    )
    rotate_bytes: int | None = Field(
        default=None,
        description=(
            "Start a new log file after this many bytes; 0 or left out, size does not matter."
        ),
        examples=[104857600],
        ge=0,
        le=2**53,
    )
    rotate_max_files: int | None = Field(
        default=None,
        description="Old log files to keep; 0 or left out, all of them.",
        examples=[5],
        ge=0,
        le=10_000,
    )


class PluginSettings(ApiModel):
    """How plugins get into the plugin folder."""

    file_uid: int | None = Field(
        default=None,
        alias="fileUID",
        description="User id that must own plugin files; left out, that of the server.",
        examples=[100],
        ge=0,
        le=2**31 - 1,
    )
    file_permissions: str | None = Field(
        default=None,
        description="Mode of plugin files, in octal; left out, the server does not check it.",
        examples=["0755"],
        pattern=r"^[0-7]{3,4}$",
        max_length=4,
    )
    auto_download: bool | None = Field(
        default=None,
        description=(
            "Download the plugins of spec.plugins that name an image. Needs OpenBao 2.5.0; left "
            "out, the operator uses true when a plugin names one."
        ),
        examples=[True],
    )
    auto_register: bool | None = Field(
        default=None,
        description=(
            "Register the plugins of spec.plugins in the catalog. Needs OpenBao 2.5.0; left out, "
            "the operator uses true when there are plugins."
        ),
        examples=[True],
    )
    download_behavior: Literal["fail", "continue", "standard", "direct"] | None = Field(
        default=None,
        description=(
            "What a failed download does: fail ends the start of the server, continue goes on "
            "without the plugin. Needs OpenBao 2.5.0; left out, the server uses fail. Older "
            "spellings: standard for fail, direct for continue."
        ),
        examples=["fail"],
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
        default=None,
        alias="acmeCARoot",
        description=(
            "File with the CA that signs the ACME directory's own certificate, as the pod sees it; "
            "left out, the system's authorities. Read in tls.mode ACME only."
        ),
        examples=["/etc/bao/seal-creds/pki-ca.crt"],
    )
    cache_size: int | None = Field(
        default=None,
        description="Size of the read cache in entries; left out, the server uses 131072.",
        examples=[131072],
        ge=0,
        le=2**53,
    )
    standby_reads: bool | None = Field(
        default=None,
        description=(
            "Let standbys answer reads from their own copy, which may be a moment old. Left out or "
            "false, a standby forwards each read to the leader, so that a client reads what it "
            "wrote. Read replicas always answer reads. Needs OpenBao 2.5.0."
        ),
        examples=[True],
    )
    disable_cache: bool | None = _flag("Read from the disk every time.")
    detect_deadlocks: bool | None = _flag("Detect deadlocks of the server's locks, which is slow.")
    raw_storage_endpoint: bool | None = _flag(
        "Serve sys/raw, which reads and writes the encrypted storage below all policies."
    )
    introspection_endpoint: bool | None = _flag("Serve sys/internal/inspect.")
    unsafe_allow_api_audit_creation: bool | None = Field(
        default=None,
        alias="unsafeAllowAPIAuditCreation",
        description="Let the API create audit devices; self-init requests at sys/audit/ need it.",
    )
    imprecise_lease_role_tracking: bool | None = _flag(
        "Count the leases of a role roughly, which needs less memory."
    )
    allow_audit_log_prefixing: bool | None = _flag(
        "Let audit devices write a prefix of their own in front of each line."
    )
    enable_response_header_hostname: bool | None = _flag("Name the host in every response.")
    enable_response_header_raft_node_id: bool | None = Field(
        default=None,
        alias="enableResponseHeaderRaftNodeID",
        description="Name the raft node in every response. Left out, false.",
        examples=[False],
    )
    listener: ListenerSpec | None = Field(default=None, description="The listener of the API.")
    plugin: PluginSettings | None = Field(
        default=None, description="How plugins get into the plugin folder."
    )
