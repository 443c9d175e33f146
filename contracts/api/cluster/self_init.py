"""spec.selfInit: the requests with which the first server configures itself.

Uses contracts.api.meta. Part of ClusterSpec; rendered by contracts.hcl.render.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PlainSerializer, WithJsonSchema

from contracts.api.meta import (
    ApiModel,
    Duration,
    FreeObject,
    FreeValue,
    Options,
    SubdomainName,
    as_map,
    as_set,
    freeze,
    thaw,
)

AuditDeviceType = Literal["file", "syslog", "socket", "http"]
Operation = Literal["create", "read", "update", "delete", "list", "patch"]

_PATH = r"^[A-Za-z0-9_]([^\s\x00-\x1f\x7f]*)$"
_TYPE = r"^[A-Za-z0-9]([A-Za-z0-9_-]*)$"
_Text = Annotated[str, Field(max_length=1024)]
_HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", max_length=128)]
_HeaderValues = Annotated[tuple[Annotated[str, Field(max_length=4096)], ...], Field(max_length=16)]
Headers = Annotated[
    Mapping[_HeaderName, _HeaderValues],
    Field(max_length=16),
    AfterValidator(freeze),
    PlainSerializer(thaw),
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": 16,
            "additionalProperties": {
                "type": "array",
                "maxItems": 16,
                "items": {"type": "string", "maxLength": 4096},
            },
        }
    ),
]
"""Headers of a request: a list of values per name, as the server requires."""


class FileOptions(ApiModel):
    """Options of a file audit device."""

    file_path: str = Field(
        description="File to write to, or stdout, or discard.",
        examples=["stdout"],
        min_length=1,
        max_length=1024,
    )
    mode: str | None = Field(
        default=None,
        description="File mode in octal; the server uses 0600.",
        examples=["0600"],
        pattern=r"^[0-7]{3,4}$",
        max_length=4,
    )


class HttpOptions(ApiModel):
    """Options of an http audit device."""

    uri: str = Field(
        description="URL of the collector.",
        examples=["https://audit.example.com/bao"],
        min_length=1,
        max_length=2048,
    )
    headers: FreeObject | None = Field(
        default=None, description="Headers of each request: a list of values per name."
    )


class SyslogOptions(ApiModel):
    """Options of a syslog audit device."""

    facility: str | None = Field(
        default=None, description="Facility; the server uses AUTH.", max_length=64
    )
    tag: str | None = Field(
        default=None, description="Tag; the server uses openbao.", max_length=64
    )


class SocketOptions(ApiModel):
    """Options of a socket audit device."""

    address: str | None = Field(
        default=None, description="Address to dial.", examples=["127.0.0.1:9090"], max_length=512
    )
    socket_type: str | None = Field(
        default=None, description="Type of the socket; the server uses tcp.", max_length=16
    )
    write_timeout: Duration | None = Field(
        default=None, description="Deadline of a write, a Go duration; the server uses 2s."
    )


class TypedOptions(ApiModel):
    """Options of an audit device, one block per type; only the block of its type may be set."""

    file_options: FileOptions | None = Field(default=None, description="Options of type file.")
    http_options: HttpOptions | None = Field(default=None, description="Options of type http.")
    syslog_options: SyslogOptions | None = Field(
        default=None, description="Options of type syslog."
    )
    socket_options: SocketOptions | None = Field(
        default=None, description="Options of type socket."
    )

    def blocks(self) -> Mapping[str, ApiModel | None]:
        """Return the blocks by their type."""
        return {
            "file": self.file_options,
            "http": self.http_options,
            "syslog": self.syslog_options,
            "socket": self.socket_options,
        }

    def as_text(self) -> dict[str, str]:
        """Return the options with the server's names, all values as strings."""
        if self.http_options is not None:
            headers = thaw(self.http_options.headers)
            posted = {"uri": self.http_options.uri}
            return posted | ({"headers": json.dumps(headers, sort_keys=True)} if headers else {})
        block = next(filter(None, self.blocks().values()), None)
        return {name: value for name, value in block or () if value is not None}


class AuditDevice(TypedOptions):
    """Payload of a request to sys/audit/*."""

    type: AuditDeviceType = Field(description="Type of the audit device.")
    description: _Text | None = Field(default=None, description="Description for users.")


class AuthMethod(ApiModel):
    """Payload of a request to sys/auth/*."""

    type: str = Field(
        description="Type of the auth method.",
        examples=["kubernetes"],
        pattern=_TYPE,
        max_length=64,
    )
    description: _Text | None = Field(default=None, description="Description for users.")
    config: Options | None = Field(
        default=None,
        description="Tuning of the mount, such as default_lease_ttl.",
        examples=[{"default_lease_ttl": "1h"}],
    )


class SecretEngine(ApiModel):
    """Payload of a request to sys/mounts/*."""

    type: str = Field(
        description="Type of the secrets engine.", examples=["kv"], pattern=_TYPE, max_length=64
    )
    description: _Text | None = Field(default=None, description="Description for users.")
    options: Options | None = Field(
        default=None, description="Options of the mount.", examples=[{"version": "2"}]
    )


class PolicyRequest(ApiModel):
    """Payload of a request to sys/policies/*."""

    policy: str = Field(
        description="Text of the policy, HCL or JSON.",
        examples=['path "secret/data/app/*" { capabilities = ["read"] }'],
        min_length=1,
        max_length=16384,
    )


class SelfInitRequest(ApiModel):
    """API request that the first server sends to itself, in the order of the list."""

    name: str = Field(
        description="Unique name of the request. operator-bootstrap is reserved.",
        examples=["enable_kv"],
        pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$",
        min_length=1,
        max_length=64,
    )
    operation: Operation = Field(description="Operation of the request.")
    path: str = Field(
        description="API path without the leading /v1/.",
        examples=["sys/mounts/secret"],
        pattern=_PATH,
        min_length=1,
        max_length=256,
    )
    allow_failure: bool = Field(
        default=False,
        description=(
            "Continue if this request fails. If false, a failed request ends the first boot, and "
            "the cluster must be created again."
        ),
    )
    data: FreeObject | None = Field(
        default=None,
        description=(
            "Payload without a schema, for paths without a typed payload. Put no secrets here: it "
            "is stored in a ConfigMap. Fields that are null are omitted."
        ),
        examples=[{"ttl": "1h"}],
    )
    audit_device: AuditDevice | None = Field(
        default=None, description="Payload for paths under sys/audit/."
    )
    auth_method: AuthMethod | None = Field(
        default=None, description="Payload for paths under sys/auth/."
    )
    secret_engine: SecretEngine | None = Field(
        default=None, description="Payload for paths under sys/mounts/."
    )
    policy: PolicyRequest | None = Field(
        default=None, description="Payload for paths under sys/policies/."
    )
    headers: Headers | None = Field(
        default=None,
        description=(
            "Headers of the request: a list of values per name. Needs OpenBao 2.6. Put no secrets "
            "here: it is stored in a ConfigMap."
        ),
        examples=[{"X-Request-Id": ["first-boot"]}],
    )
    when: FreeValue | None = Field(
        default=None,
        description=(
            "Whether the request is sent: true, false, or an object with eval_source and eval_type "
            "that the server evaluates. Needs OpenBao 2.6."
        ),
        examples=[True],
    )


_Subject = Annotated[
    str,
    Field(
        pattern=r"^system:serviceaccount:[a-z0-9]([-a-z0-9]*[a-z0-9])?:"
        r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        max_length=340,
    ),
]


def _subjects(owner: str) -> tuple[str, ...]:
    field: tuple[str, ...] = Field(
        default=(),
        description=f"Additional ServiceAccounts that may use the role of {owner}.",
        examples=[["system:serviceaccount:openbao-tools:runner"]],
        max_length=32,
        json_schema_extra=as_set(),
    )
    return field


class AdditionalSubjects(ApiModel):
    """Subjects of ServiceAccount tokens, system:serviceaccount:<namespace>:<name>, by role."""

    operator: tuple[_Subject, ...] = _subjects("the operator")
    backup: tuple[_Subject, ...] = _subjects("backup Jobs")
    restore: tuple[_Subject, ...] = _subjects("restore Jobs")
    upgrade: tuple[_Subject, ...] = _subjects("upgrade Jobs")


class PolicyApprover(ApiModel):
    """A ServiceAccount."""

    namespace: str = Field(
        description="Namespace of the ServiceAccount.",
        examples=["security"],
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        min_length=1,
        max_length=63,
    )
    name: SubdomainName = Field(
        description="Name of the ServiceAccount.", examples=["policy-approver"]
    )


class SelfInitOidc(ApiModel):
    """Login of the operator after the first boot."""

    enabled: bool = Field(
        description=(
            "Create the auth method jwt-operator with a role and a policy for the operator, bound "
            "to its ServiceAccount. It is only for the operator: add a login for users to "
            "requests, because without one no user can log in."
        )
    )
    audience: str | None = Field(
        default=None,
        description=(
            "No effect: each cluster has its own audience, <audience of the "
            "installation>/<namespace>/<name>. May be that audience, or the audience of the "
            "installation (openbao-internal by default); any other is rejected."
        ),
        examples=["openbao-internal"],
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]*$",
        max_length=253,
    )
    issuer: str | None = Field(
        default=None,
        description=(
            "Issuer of ServiceAccount tokens, an https URL without user, query or fragment. "
            "If not set, it is discovered from the API server."
        ),
        examples=["https://kubernetes.default.svc.cluster.local"],
        min_length=9,
        max_length=512,
    )
    policy_approver_ref: PolicyApprover | None = Field(
        default=None,
        description=(
            "ServiceAccount that may approve changes of the operator's policies. Not supported: "
            "this version writes them during the first boot and never changes them."
        ),
    )
    additional_subjects: AdditionalSubjects | None = Field(
        default=None,
        description="Additional subjects that may use the roles that the operator creates.",
    )


class SelfInit(ApiModel):
    """Declarative initialization of the first server, without a stored root token."""

    enabled: bool = Field(
        description=(
            "Let the first server initialize itself with the requests below. If false, the "
            "operator initializes it and stores the root token in the Secret <name>-root-token."
        )
    )
    oidc: SelfInitOidc | None = Field(
        default=None, description="Login of the operator. Needs enabled: true."
    )
    requests: tuple[SelfInitRequest, ...] = Field(
        default=(),
        description=(
            "Requests of the first boot, sent once and in this order. Later changes have no effect."
        ),
        max_length=64,
        json_schema_extra=as_map("name"),
    )
