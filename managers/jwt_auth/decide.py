"""Decides which keys the login of the operator and its jobs trusts, and how to set it up. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from contracts.api.cluster.job_roles import OPERATOR_ROLE
from contracts.api.cluster.status_login import OperatorLoginStatus
from contracts.api.rules.self_init import JWT_MOUNT
from contracts.conditions.message import clean_message
from contracts.hcl.self_init import OidcBootstrap, SelfInitCall, login_calls
from contracts.records.observed import TokenIssuer

KEYS = "jwt_validation_pubkeys"
OUTDATED = "OperatorLoginOutdated"
REFUSED = "OperatorLoginRefused"
MISSING = "OperatorLoginMissing"
# If an administrator has configured one of these sources of keys, the operator does not write.
OTHER_SOURCES = ("jwks_url", "oidc_discovery_url", "jwks_pairs")
UNCHANGED = ("bound_issuer", "default_role", "jwt_supported_algs")


def digest(issuer: TokenIssuer) -> str:
    """Return a digest of the issuer and its keys, independent of their order."""
    text = "\0".join((issuer.issuer, *sorted(map(str.strip, issuer.public_keys))))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def due(issuer: TokenIssuer | None, previous: OperatorLoginStatus | None) -> bool:
    """Return whether the keys of the API server differ from those that were compared last."""
    if issuer is None or not issuer.public_keys:
        return False
    return previous is None or previous.keys != digest(issuer)


def correction(
    settings: Mapping[str, Any], issuer: TokenIssuer, spec_issuer: str | None
) -> Mapping[str, Any] | None:
    """Return the desired settings of the login; None if they do not differ, or a user set them.

    `settings` are the current ones. `spec_issuer` is the issuer of the spec, if any.
    """
    trusted_keys = settings.get(KEYS)
    if any(settings.get(source) for source in OTHER_SOURCES):
        return None
    if not isinstance(trusted_keys, list) or not trusted_keys:
        # No key is trusted, or the server is not OpenBao.
        return None
    name = spec_issuer or issuer.issuer
    desired = sorted(map(str.strip, issuer.public_keys))
    present = sorted(str(key).strip() for key in trusted_keys)
    if present == desired and settings.get("bound_issuer") == name:
        return None
    unchanged = {key: settings[key] for key in UNCHANGED if settings.get(key)}
    return {**unchanged, "bound_issuer": name, KEYS: sorted(issuer.public_keys)}


def initial_settings(present: Mapping[str, Any], oidc: OidcBootstrap) -> Mapping[str, Any] | None:
    """Return the initial settings of the login; None to keep the current ones.

    As in `correction`, another source of keys is a choice of the user.
    """
    if any(present.get(source) for source in OTHER_SOURCES):
        return None
    unchanged = {key: present[key] for key in UNCHANGED if present.get(key)}
    return {**unchanged, "bound_issuer": oidc.issuer, KEYS: sorted(oidc.public_keys)}


def writes_after_settings(oidc: OidcBootstrap) -> tuple[SelfInitCall, ...]:
    """Return the policies and roles of a login, in the order in which they are written.

    The operator's own role comes last: if the operator can log in, the setup is complete.
    """
    prefixes = ("sys/policies/acl/", f"auth/{JWT_MOUNT}/role/")
    calls = [call for call in login_calls(oidc) if call.path.startswith(prefixes)]
    return tuple(sorted(calls, key=lambda call: call.path == f"{prefixes[1]}{OPERATOR_ROLE}"))


def root_token_missing(secret: str) -> OperatorLoginStatus:
    """Return the status: there is no login, and no token to set it up."""
    message = (
        f"the operator has no login, and Secret {secret} with the root token to set it up does not "
        f"exist: {_put_token(secret)}"
    )
    return _failed("", "RootTokenMissing", message)


def set_up_refused(
    error: str, secret: str, previous: OperatorLoginStatus | None
) -> OperatorLoginStatus:
    """Return the status: OpenBao denied a request with the root token."""
    message = (
        f"OpenBao refuses the setup of the operator's login with the token in Secret {secret}: "
        f"{error}. The operator does not retry it; {_put_token(secret)}"
    )
    return _failed(_keys(previous), REFUSED, message)


def issuer_unknown(secret: str, previous: OperatorLoginStatus | None) -> OperatorLoginStatus:
    """Return the status: without the keys of the API server, no login can be set up."""
    message = (
        "the login of the operator is not set up yet: the API server did not return the RSA or "
        "ECDSA keys of ServiceAccount tokens. Allow the operator to GET "
        "/.well-known/openid-configuration and /openid/v1/jwks. Until then the operator does not "
        f"use the root token in Secret {secret}"
    )
    return _failed(_keys(previous), MISSING, message)


def refused_login_status(secret: str, current: OperatorLoginStatus) -> OperatorLoginStatus:
    """Return the status: a login that worked is refused, and there is no token to set it up."""
    message = f"{current.problem}. Or {_put_token(secret)}"
    return _failed(current.keys, current.reason, message)


def _put_token(secret: str) -> str:
    return (
        f"put a token that may write auth methods and policies into Secret {secret}, key token: "
        "the operator uses it once, to set up the login"
    )


def trusted_status(issuer: TokenIssuer) -> OperatorLoginStatus:
    """Return the status: these keys are trusted."""
    return OperatorLoginStatus(keys=digest(issuer))


def outdated_status(issuer: TokenIssuer, error: str) -> OperatorLoginStatus:
    """Return the status: new keys could not be written to OpenBao."""
    message = (
        "the API server signs ServiceAccount tokens with new keys, and the operator cannot write "
        f"them to OpenBao: {error}. As an administrator, write them to auth/jwt-operator/config: "
        "see docs/first-boot.md"
    )
    return _failed(digest(issuer), OUTDATED, message)


def refused_status(error: str, previous: OperatorLoginStatus | None) -> OperatorLoginStatus:
    """Return the status: OpenBao denies the login. The compared keys stay in the status."""
    if previous is not None and previous.reason == OUTDATED:
        # The previous status has the cause and the next step.
        return previous
    message = (
        f"OpenBao refuses the login of the operator: {error}. The role openbao-operator at "
        "auth/jwt-operator must accept the operator's ServiceAccount and the audience of this "
        "cluster. As an administrator, correct it: see docs/first-boot.md, or docs/migrate.md for "
        "roles of another operator"
    )
    return _failed(_keys(previous), REFUSED, message)


def without_token(error: str, previous: OperatorLoginStatus | None) -> OperatorLoginStatus:
    """Return the status: the API server issues no token to the operator."""
    message = f"{error}. The operator needs the right to create its own serviceaccounts/token"
    return _failed(_keys(previous), MISSING, message)


def after_login(previous: OperatorLoginStatus | None) -> OperatorLoginStatus | None:
    """Return the status after a successful login: without a problem, except outdated keys."""
    if previous is None or previous.reason in ("", OUTDATED):
        return previous
    return OperatorLoginStatus(keys=previous.keys)


def _failed(keys: str, reason: str, message: str) -> OperatorLoginStatus:
    return OperatorLoginStatus(keys=keys, reason=reason, problem=clean_message(message))


def _keys(previous: OperatorLoginStatus | None) -> str:
    return previous.keys if previous else ""
