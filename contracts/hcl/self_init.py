"""The requests of the first boot, as blocks for the self-init template.

Uses the API model of a request. Called by contracts.hcl.render.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.api.meta import thaw
from contracts.api.rules_request import BOOTSTRAP_BLOCK
from contracts.api.rules_selfinit import JWT_MOUNT
from contracts.api.selfinit import AuditDevice, Request

OPERATOR_ROLE = "openbao-operator"
ROOT_TOKEN_BLOCK = "operator-root-token"  # noqa: S105 - the name of a block
TOKEN_TTL = "1h"  # noqa: S105 - a duration

# What the operator does inside of OpenBao, and nothing else.
_OPERATOR_PATHS = (
    ("sys/health", ("read",)),
    ("sys/step-down", ("sudo", "update")),
    ("sys/storage/raft/configuration", ("read",)),
    ("sys/storage/raft/remove-peer", ("update",)),
    ("sys/storage/raft/autopilot/configuration", ("read", "update")),
    ("sys/storage/raft/autopilot/state", ("read",)),
)


@dataclass(frozen=True, slots=True)
class OidcBootstrap:
    """How the operator logs in: a JWT of its ServiceAccount, checked with fixed public keys.

    `public_keys` are PEM texts of the keys that sign ServiceAccount tokens, `subject` is
    system:serviceaccount:<namespace>:<name>.
    """

    audience: str
    issuer: str
    public_keys: tuple[str, ...]
    subject: str
    role: str = OPERATOR_ROLE
    policy: str = OPERATOR_ROLE


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the template wants it; `data` None is a request without a payload."""

    name: str
    operation: str
    path: str
    data: Mapping[str, Any] | None = None
    allow_failure: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One `initialize` block."""

    name: str
    requests: tuple[Call, ...]


def operator_policy() -> str:
    """The policy of the operator's own role, as HCL."""
    return "\n".join(
        f'path "{path}" {{\n  capabilities = {json.dumps(list(capabilities))}\n}}'
        for path, capabilities in _OPERATOR_PATHS
    )


def blocks(
    oidc: OidcBootstrap | None, requests: tuple[Request, ...], root_token_file: str | None
) -> Iterator[Block]:
    """The blocks in the order in which the server runs them: the operator's login comes first."""
    if oidc is not None:
        yield Block(BOOTSTRAP_BLOCK, _bootstrap(oidc))
    for request in requests:
        call = Call(
            name=f"{request.name}-request",
            operation=request.operation,
            path=request.path,
            data=payload(request),
            allow_failure=request.allow_failure,
        )
        yield Block(request.name, (call,))
    if root_token_file is not None:
        yield Block(ROOT_TOKEN_BLOCK, (_root_token(root_token_file),))


def _root_token(file: str) -> Call:
    """Register a root token that was drawn and stored before the server started.

    `id` may be chosen by a root token alone, which the requests of the first boot carry. The
    server reads the file itself: the token is in no ConfigMap.
    """
    chosen = {"eval_type": "string", "eval_source": "file", "path": file}
    data = {"id": chosen, "policies": ["root"], "no_parent": True, "display_name": "root"}
    return Call("register-root-token", "update", "auth/token/create", data)


def _bootstrap(oidc: OidcBootstrap) -> tuple[Call, ...]:
    settings = {
        "bound_issuer": oidc.issuer,
        # Sorted: the order in which the API server lists its keys says nothing.
        "jwt_validation_pubkeys": sorted(oidc.public_keys),
    }
    role = {
        "role_type": "jwt",
        "user_claim": "sub",
        "bound_audiences": [oidc.audience],
        "bound_subject": oidc.subject,
        "token_policies": [oidc.policy],
        "token_ttl": TOKEN_TTL,
    }
    return (
        Call("enable-jwt", "update", f"sys/auth/{JWT_MOUNT}", {"type": "jwt"}),
        Call("configure-jwt", "update", f"auth/{JWT_MOUNT}/config", settings),
        Call(
            "operator-policy",
            "update",
            f"sys/policies/acl/{oidc.policy}",
            {"policy": operator_policy()},
        ),
        Call("operator-role", "update", f"auth/{JWT_MOUNT}/role/{oidc.role}", role),
    )


def payload(request: Request) -> Mapping[str, Any] | None:
    """What the request sends, whichever of its fields holds it; None when it sends nothing."""
    if request.audit_device is not None:
        return _audit(request.audit_device)
    for typed in (request.auth_method, request.secret_engine, request.policy):
        if typed is not None:
            return typed.to_object()
    if request.data is None:
        return None
    data: Mapping[str, Any] = thaw(request.data)
    return data


def _audit(device: AuditDevice) -> Mapping[str, Any]:
    options: dict[str, str] = {}
    if device.file_options:
        options = {
            "file_path": device.file_options.file_path,
            "mode": device.file_options.mode or "",
        }
    elif device.http_options:
        headers = thaw(device.http_options.headers)
        options = {
            "uri": device.http_options.uri,
            "headers": json.dumps(headers, sort_keys=True) if headers else "",
        }
    elif device.syslog_options:
        options = {
            "facility": device.syslog_options.facility or "",
            "tag": device.syslog_options.tag or "",
        }
    elif device.socket_options:
        options = {
            "address": device.socket_options.address or "",
            "socket_type": device.socket_options.socket_type or "",
            "write_timeout": device.socket_options.write_timeout or "",
        }
    given = {key: value for key, value in options.items() if value}
    return {"type": device.type, "description": device.description, "options": given}
