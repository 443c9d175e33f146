"""The requests of the first boot, as blocks for the self-init template.

Uses the API model of a request. Called by contracts.hcl.render, and by managers.jwt_auth for the
requests of the login.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.api.cluster.recovery import InitialRecoveryKeys
from contracts.api.cluster.self_init import AuditDevice, SelfInitRequest
from contracts.api.meta import thaw
from contracts.api.rules.self_init import JWT_MOUNT
from contracts.api.rules.self_init_requests import BOOTSTRAP_BLOCK, RECOVERY_BLOCK
from contracts.hcl.roles import TOKEN_TTL, AuthRole

ROOT_TOKEN_BLOCK = "operator-root-token"  # noqa: S105 - the name of a block
AUTOPILOT_BLOCK = "configure-autopilot"
AUTOPILOT_PATH = "sys/storage/raft/autopilot/configuration"
# With fewer voters the server refuses the cleanup, and no voter may fail.
AUTOPILOT_QUORUM = 3

# The initial settings of a cluster; the operator sets them again once it can log in.
_AUTOPILOT = {
    "cleanup_dead_servers": True,
    "dead_server_last_contact_threshold": "24h",
    "min_quorum": AUTOPILOT_QUORUM,
    "server_stabilization_time": "10s",
}
# Until the second server votes, the loss of the first one is the loss of the cluster. Without a
# login nobody would increase the time afterwards.
_AUTOPILOT_WITH_LOGIN = {**_AUTOPILOT, "server_stabilization_time": "2s"}

# Servers from 2.6.0 on send an empty list as null; the result of an expression stays a list.
_EMPTY_LIST = {"eval_source": "cel", "eval_type": "any", "expression": "[]"}


@dataclass(frozen=True, slots=True)
class OidcBootstrap:
    """The login of the operator and its jobs: with a JWT, verified with fixed public keys.

    `public_keys` are PEM texts of the keys that sign ServiceAccount tokens.
    """

    audience: str
    issuer: str
    public_keys: tuple[str, ...]
    roles: tuple[AuthRole, ...]


@dataclass(frozen=True, slots=True)
class FirstBoot:
    """All requests with which the first server configures itself.

    `oidc` None: the operator has no login. `root_token_file` is the file of the root token to
    register in the first pod, None if the user's requests set up the logins. `autopilot`: remove
    dead servers, unless the user's requests configure it. `lists_as_null`: the server sends an
    empty list as null.
    """

    oidc: OidcBootstrap | None = None
    requests: tuple[SelfInitRequest, ...] = ()
    autopilot: bool = False
    recovery_keys: InitialRecoveryKeys | None = None
    root_token_file: str | None = None
    lists_as_null: bool = False


@dataclass(frozen=True, slots=True)
class SelfInitCall:
    """One request for the template; `data` None is a request without a payload."""

    name: str
    operation: str
    path: str
    data: Mapping[str, Any] | None = None
    allow_failure: bool = False
    headers: Mapping[str, Any] | None = None
    when: Any = None


@dataclass(frozen=True, slots=True)
class Block:
    """One `initialize` block."""

    name: str
    requests: tuple[SelfInitCall, ...]


def blocks(boot: FirstBoot) -> Iterator[Block]:
    """Yield the blocks in their order of execution, with the operator's login first."""
    if boot.oidc is not None:
        yield Block(BOOTSTRAP_BLOCK, login_calls(boot.oidc))
    for request in boot.requests:
        yield Block(request.name, (_users(request, lists_as_null=boot.lists_as_null),))
    if boot.autopilot and not any(map(_sets_autopilot, boot.requests)):
        login = boot.oidc is not None or boot.root_token_file is not None
        settings = _AUTOPILOT_WITH_LOGIN if login else _AUTOPILOT
        call = SelfInitCall(f"{AUTOPILOT_BLOCK}-request", "update", AUTOPILOT_PATH, settings)
        yield Block(AUTOPILOT_BLOCK, (call,))
    if boot.recovery_keys is not None:
        yield Block(RECOVERY_BLOCK, (_recovery_keys(boot.recovery_keys),))
    if boot.root_token_file is not None:
        yield Block(ROOT_TOKEN_BLOCK, (_root_token(boot.root_token_file),))


def _users(request: SelfInitRequest, *, lists_as_null: bool) -> SelfInitCall:
    data = payload(request)
    return SelfInitCall(
        name=f"{request.name}-request",
        operation=request.operation,
        path=request.path,
        data=_with_empty_lists(data) if lists_as_null else data,
        allow_failure=request.allow_failure,
        headers=thaw(request.headers) or None,
        # True is the default; servers before 2.6.0 do not support `when`.
        when=None if request.when is True else thaw(request.when),
    )


def _with_empty_lists(value: Any) -> Any:
    """Return the data with an expression for each empty list, except inside of expressions."""
    match value:
        case []:
            return _EMPTY_LIST
        case list():
            return [_with_empty_lists(item) for item in value]
        case {"eval_source": _}:
            return value
        case dict():
            return {key: _with_empty_lists(item) for key, item in value.items()}
    return value


def _sets_autopilot(request: SelfInitRequest) -> bool:
    return request.name == AUTOPILOT_BLOCK or request.path == AUTOPILOT_PATH


def _recovery_keys(keys: InitialRecoveryKeys) -> SelfInitCall:
    """Generate recovery keys and store them in the server, encrypted for their recipients.

    After self-init there are no recovery keys, so the first rotation requires none (OpenBao 2.4.0,
    vault/rotate.go). The answer is dropped: a user who may read the backup gets the shares.
    """
    data = {
        "secret_shares": keys.shares,
        "secret_threshold": keys.threshold,
        "pgp_keys": ["".join(recipient.pgp_public_key.split()) for recipient in keys.recipients],
        "backup": True,
    }
    return SelfInitCall("make-recovery-keys", "update", "sys/rotate/recovery/init", data)


def _root_token(file: str) -> SelfInitCall:
    """Register a root token that was generated and stored before the server started.

    Only a root token may choose `id`; the requests of the first boot have one. The server reads the
    file itself, so the token is in no ConfigMap.
    """
    token = {"eval_type": "string", "eval_source": "file", "path": file}
    data = {"id": token, "policies": ["root"], "no_parent": True, "display_name": "root"}
    return SelfInitCall("register-root-token", "update", "auth/token/create", data)


def login_calls(oidc: OidcBootstrap) -> tuple[SelfInitCall, ...]:
    """Return the requests for the login: auth method, its settings, then policy and role of each.

    managers.jwt_auth sends the same requests to a cluster whose first boot did not have them.
    """
    settings = {
        "bound_issuer": oidc.issuer,
        # Sorted, because the order of the keys at the API server may change.
        "jwt_validation_pubkeys": sorted(oidc.public_keys),
    }
    calls = [
        SelfInitCall("enable-jwt", "update", f"sys/auth/{JWT_MOUNT}", {"type": "jwt"}),
        SelfInitCall("configure-jwt", "update", f"auth/{JWT_MOUNT}/config", settings),
    ]
    for role in oidc.roles:
        # The user may choose the name of a role, but not that of its policy.
        name = role.policy.removeprefix("openbao-")
        policy = {"policy": role.policy_text()}
        path = f"auth/{JWT_MOUNT}/role/{role.name}"
        calls += [
            SelfInitCall(f"{name}-policy", "update", f"sys/policies/acl/{role.policy}", policy),
            SelfInitCall(f"{name}-role", "update", path, _role(role, oidc.audience)),
        ]
    return tuple(calls)


def _role(role: AuthRole, audience: str) -> Mapping[str, Any]:
    subjects: Mapping[str, Any] = {"bound_subject": role.subjects[0]}
    if len(role.subjects) > 1:
        subjects = {"bound_claims": {"sub": list(role.subjects)}}
    return {
        "role_type": "jwt",
        "user_claim": "sub",
        "bound_audiences": [audience],
        **subjects,
        "token_policies": [role.policy],
        "token_ttl": TOKEN_TTL,
    }


def payload(request: SelfInitRequest) -> Mapping[str, Any] | None:
    """Return the payload of a request, from the field that contains it; None without a payload."""
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
    options = {key: value for key, value in device.as_text().items() if value}
    return {"type": device.type, "description": device.description, "options": options}
