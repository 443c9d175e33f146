"""spec.selfInit: what the first server does to itself before anybody can log in.

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
"""Headers of a request, as the server takes them: a list of values per name."""


class FileOptions(ApiModel):
    """Where a file audit device writes."""

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
    """Where an http audit device posts to."""

    uri: str = Field(
        description="URL of the collector.",
        examples=["https://audit.example.com/bao"],
        min_length=1,
        max_length=2048,
    )
    headers: FreeObject | None = Field(
        default=None, description="Headers of each post: a list of values per name."
    )


class SyslogOptions(ApiModel):
    """How a syslog audit device writes."""

    facility: str | None = Field(
        default=None, description="Facility; the server uses AUTH.", max_length=64
    )
    tag: str | None = Field(
        default=None, description="Tag; the server uses openbao.", max_length=64
    )


class SocketOptions(ApiModel):
    """Where a socket audit device writes."""

    address: str | None = Field(
        default=None, description="Address to dial.", examples=["127.0.0.1:9090"], max_length=512
    )
    socket_type: str | None = Field(
        default=None, description="Kind of socket; the server uses tcp.", max_length=16
    )
    write_timeout: Duration | None = Field(
        default=None, description="Deadline of a write, a Go duration; the server uses 2s."
    )


class TypedOptions(ApiModel):
    """The options of an audit device, one block per type of device; it has that of its own."""

    file_options: FileOptions | None = Field(default=None, description="Options of type file.")
    http_options: HttpOptions | None = Field(default=None, description="Options of type http.")
    syslog_options: SyslogOptions | None = Field(
        default=None, description="Options of type syslog."
    )
    socket_options: SocketOptions | None = Field(
        default=None, description="Options of type socket."
    )

    def blocks(self) -> Mapping[str, ApiModel | None]:
        """The blocks by the type that they belong to."""
        return {
            "file": self.file_options,
            "http": self.http_options,
            "syslog": self.syslog_options,
            "socket": self.socket_options,
        }

    def as_text(self) -> dict[str, str]:
        """The options as the server takes them: names of its own, all of it text."""
        if self.http_options is not None:
            headers = thaw(self.http_options.headers)
            posted = {"uri": self.http_options.uri}
            return posted | ({"headers": json.dumps(headers, sort_keys=True)} if headers else {})
        block = next(filter(None, self.blocks().values()), None)
        return {name: value for name, value in block or () if value is not None}


class AuditDevice(TypedOptions):
    """Payload of a request at sys/audit/*."""

    type: AuditDeviceType = Field(description="Kind of device.")
    description: _Text | None = Field(default=None, description="Text for people.")


class AuthMethod(ApiModel):
    """Payload of a request at sys/auth/*."""

    type: str = Field(
        description="Kind of auth method.", examples=["kubernetes"], pattern=_TYPE, max_length=64
    )
    description: _Text | None = Field(default=None, description="Text for people.")
    config: Options | None = Field(
        default=None,
        description="Tuning of the mount, such as default_lease_ttl.",
        examples=[{"default_lease_ttl": "1h"}],
    )


class SecretEngine(ApiModel):
    """Payload of a request at sys/mounts/*."""

    type: str = Field(
        description="Kind of secret engine.", examples=["kv"], pattern=_TYPE, max_length=64
    )
    description: _Text | None = Field(default=None, description="Text for people.")
    options: Options | None = Field(
        default=None, description="Options of the mount.", examples=[{"version": "2"}]
    )


class PolicyRequest(ApiModel):
    """Payload of a request at sys/policies/*."""

    policy: str = Field(
        description="Text of the policy, HCL or JSON.",
        examples=['path "secret/data/app/*" { capabilities = ["read"] }'],
        min_length=1,
        max_length=16384,
    )


class SelfInitRequest(ApiModel):
    """One API request that the first server sends to itself, in the order of the list."""

    name: str = Field(
        description="Name of the request, once per list. operator-bootstrap is taken.",
        examples=["enable_kv"],
        pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$",
        min_length=1,
        max_length=64,
    )
    operation: Operation = Field(description="What the request does at its path.")
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
            "Go on when this request fails. Without it a failed request ends the first boot, and "
            "the cluster has to be created again."
        ),
    )
    data: FreeObject | None = Field(
        default=None,
        description=(
            "Free payload, for paths without a typed one. Put no secrets here: it is stored in a "
            "ConfigMap. Fields that are null are left out."
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
            "that the server computes. Needs OpenBao 2.6."
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


def _subjects(whose: str) -> tuple[str, ...]:
    field: tuple[str, ...] = Field(
        default=(),
        description=f"More ServiceAccounts that may take the role of {whose}.",
        examples=[["system:serviceaccount:openbao-tools:runner"]],
        max_length=32,
        json_schema_extra=as_set(),
    )
    return field


class AdditionalSubjects(ApiModel):
    """Subjects of ServiceAccount tokens, system:serviceaccount:<namespace>:<name>, by role."""

    operator: tuple[_Subject, ...] = _subjects("the operator")
    backup: tuple[_Subject, ...] = _subjects("backup jobs")
    restore: tuple[_Subject, ...] = _subjects("restore jobs")
    upgrade: tuple[_Subject, ...] = _subjects("upgrade jobs")


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
    """How the operator itself logs in after the first boot."""

    enabled: bool = Field(
        description=(
            "Create the auth method jwt-operator with a role and a policy for the operator, bound "
            "to its ServiceAccount. It serves the operator; give your users a login of their own "
            "in requests, or nobody but the operator can ever log in."
        )
    )
    audience: str | None = Field(
        default=None,
        description=(
            "Changes nothing: each cluster has an audience of its own, <audience of the "
            "installation>/<namespace>/<name>. May be that, or the audience of the installation "
            "alone (openbao-internal by default); any other is refused."
        ),
        examples=["openbao-internal"],
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]*$",
        max_length=253,
    )
    issuer: str | None = Field(
        default=None,
        description=(
            "Issuer of ServiceAccount tokens, an https URL without user, query or fragment. "
            "Left out, it is discovered from the API server."
        ),
        examples=["https://kubernetes.default.svc.cluster.local"],
        min_length=9,
        max_length=512,
    )
    policy_approver_ref: PolicyApprover | None = Field(
        default=None,
        description=(
            "Who may approve changes of the operator's own policies. Accepted, and without effect: "
            "this version writes them in the first boot and never changes them."
        ),
    )
    additional_subjects: AdditionalSubjects | None = Field(
        default=None,
        description="More subjects that may take the roles that the operator makes.",
    )


class SelfInit(ApiModel):
    """Declarative initialization of the first server; the root token never leaves it."""

    enabled: bool = Field(
        description=(
            "Let the first server initialize itself with the requests below. When false, the "
            "operator initializes it and keeps the root token in the Secret <name>-root-token."
        )
    )
    oidc: SelfInitOidc | None = Field(
        default=None, description="Login of the operator. Needs enabled: true."
    )
    requests: tuple[SelfInitRequest, ...] = Field(
        default=(),
        description=(
            "Requests of the first boot, run once and in this order. Later changes have no effect."
        ),
        max_length=64,
        json_schema_extra=as_map("name"),
    )
