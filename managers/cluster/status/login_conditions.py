"""The conditions about logins. Pure; called by managers.cluster.status.conditions.

The servers are not read for this: the effect of a self-init request is inferred from its path, so
UserAccessBootstrap warns and never blocks anything.
"""

from __future__ import annotations

import re

from contracts.api.cluster.self_init import SelfInitRequest
from contracts.api.cluster.spec import ClusterSpec
from contracts.api.cluster.status_login import OperatorLoginStatus, RecoveryKeysStatus
from contracts.api.rules.self_init import JWT_MOUNT
from contracts.conditions.condition import ConditionUpdate
from contracts.naming import names
from runtime.memo import memoize

_MOUNT = re.compile(r"sys/auth/(?P<mount>.+?)/?")
_WRITES = ("create", "update", "patch")


def root_access(secret: str, *, exists: bool, initialized: bool) -> ConditionUpdate:
    """Report whether a root token gives access to a cluster that the operator initializes."""
    kind = "UserAccessBootstrap"
    if exists:
        return ConditionUpdate(
            kind, "True", "RootTokenStored", f"Secret {secret} holds a root token"
        )
    if not initialized:
        message = f"The first boot creates the root token and stores it in Secret {secret}"
        return ConditionUpdate(kind, "False", "NotInitialized", message)
    message = (
        f"Secret {secret} does not exist: the operator cannot tell whether users have other logins"
    )
    return ConditionUpdate(kind, "Unknown", "RootTokenMissing", message)


@memoize
def user_access(spec: ClusterSpec) -> ConditionUpdate:
    """Report whether a user can log in after the self-init of a cluster."""
    kind = "UserAccessBootstrap"
    mount = user_login(spec)
    if mount:
        return ConditionUpdate(
            kind, "True", "UserLoginFound", f"spec.selfInit.requests set up logins at auth/{mount}/"
        )
    if spec.recovery_keys and spec.recovery_keys.initial:
        message = "no request sets up a login for users: only the recovery keys give access"
        return ConditionUpdate(kind, "True", "RecoveryKeysOnly", message)
    return ConditionUpdate(
        kind,
        "False",
        "NoUserLogin",
        "spec.selfInit.requests: no auth method is enabled (sys/auth/<mount>) and has a user or a "
        "role (auth/<mount>/...), so after the first boot only the operator can ever log in. Add "
        "both requests before you create the cluster. Recreate a cluster that exists, unless users "
        "have a login that the operator cannot detect",
    )


def user_login(spec: ClusterSpec) -> str:
    """Name the first auth mount with a user or a role in the requests; "" when there is none."""
    requests = spec.self_init.requests if spec.self_init else ()
    writes = [request for request in requests if request.operation in _WRITES]
    mounts = [match["mount"] for match in map(_mount_of, writes) if match is not None]
    if spec.wants_operator_login:
        mounts.append(JWT_MOUNT)
    for mount in mounts:
        for request in writes:
            subpath = request.path.removeprefix(f"auth/{mount}/")
            # Settings alone grant no login.
            if subpath != request.path and subpath != "config":
                return mount
    return ""


def _mount_of(request: SelfInitRequest) -> re.Match[str] | None:
    return _MOUNT.fullmatch(request.path)


def recovery_keys(
    spec: ClusterSpec, status: RecoveryKeysStatus | None, *, cluster: str, initialized: bool
) -> ConditionUpdate | None:
    """Report whether the initial recovery keys are available to their recipients.

    None when the spec requests none.
    """
    kind = "RecoveryKeysReady"
    if spec.recovery_keys is None or spec.recovery_keys.initial is None:
        return None
    if not initialized:
        return ConditionUpdate(
            kind, "False", "NotInitialized", "The first boot creates the recovery keys"
        )
    if status is None:
        return ConditionUpdate(kind, "False", "Reconciling", "The shares are not fetched yet")
    if status.stored:
        secret = names.recovery_shares_secret(cluster)
        message = (
            f"Secret {secret} holds one encrypted share per recipient: distribute the shares, "
            "verify that they can be decrypted, then delete the Secret"
        )
        return ConditionUpdate(kind, "True", "RecoveryKeysStored", message)
    return ConditionUpdate(kind, "False", status.reason or "Reconciling", status.message)


def operator_login(
    spec: ClusterSpec, status: OperatorLoginStatus | None, *, initialized: bool
) -> ConditionUpdate:
    """Report whether OpenBao trusts the tokens that the operator and its jobs log in with."""
    kind = "OperatorLoginReady"
    if spec.self_initializes and not spec.wants_operator_login:
        message = "spec.selfInit.oidc.enabled is not true: the operator only watches this cluster"
        return ConditionUpdate(kind, "False", "OperatorLoginMissing", message)
    if not initialized:
        by = "first boot sets" if spec.self_initializes else "operator sets"
        return ConditionUpdate(kind, "False", "NotInitialized", f"The {by} up the login")
    if status is None and not spec.self_initializes:
        message = "The operator sets up the login with the root token when a leader responds"
        return ConditionUpdate(kind, "False", "Reconciling", message)
    if status is None:
        return ConditionUpdate(
            kind, "Unknown", "Unknown", "The keys of the login are not compared yet"
        )
    if status.problem:
        # An earlier version stored no reason: it had only this one.
        return ConditionUpdate(
            kind, "False", status.reason or "OperatorLoginOutdated", status.problem
        )
    if status.shared_audience:
        message = (
            "The roles at auth/jwt-operator accept only the audience that all clusters share. Add "
            "the audience of this cluster: see docs/migrate.md"
        )
        return ConditionUpdate(kind, "True", "OperatorLoginTrusted", message)
    return ConditionUpdate(kind, "True", "OperatorLoginTrusted")
