"""Which keys the login of the operator and its jobs should trust, and how it is set up. Pure."""

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
# Key sources that an administrator may have set instead: then the operator does not write.
OTHER_SOURCES = ("jwks_url", "oidc_discovery_url", "jwks_pairs")
KEPT = ("bound_issuer", "default_role", "jwt_supported_algs")


def digest(issuer: TokenIssuer) -> str:
    """Return a digest of the keys, independent of their order."""
    text = "\0".join((issuer.issuer, *sorted(map(str.strip, issuer.public_keys))))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def due(issuer: TokenIssuer | None, previous: OperatorLoginStatus | None) -> bool:
    """Return whether the API server has keys that OpenBao does not have yet."""
    if issuer is None or not issuer.public_keys:
        return False
    return previous is None or previous.keys != digest(issuer)


def correction(
    settings: Mapping[str, Any], issuer: TokenIssuer, chosen: str | None
) -> Mapping[str, Any] | None:
    """Return the desired settings of the login; None when they are equal, or not ours to write.

    `settings` are the present ones, `chosen` the issuer that the spec names, if it does.
    """
    trusted = settings.get(KEYS)
    if any(settings.get(source) for source in OTHER_SOURCES):
        return None
    if not isinstance(trusted, list) or not trusted:
        # No key is trusted, or the server is not OpenBao.
        return None
    name = chosen or issuer.issuer
    desired = sorted(map(str.strip, issuer.public_keys))
    present = sorted(str(key).strip() for key in trusted)
    if present == desired and settings.get("bound_issuer") == name:
        return None
    kept = {key: settings[key] for key in KEPT if settings.get(key)}
    return {**kept, "bound_issuer": name, KEYS: sorted(issuer.public_keys)}


def initial_settings(present: Mapping[str, Any], oidc: OidcBootstrap) -> Mapping[str, Any] | None:
    """Return the settings of a login that is set up; None when the present ones stay.

    Another source of keys is a choice of the user, as for `correction`.
    """
    if any(present.get(source) for source in OTHER_SOURCES):
        return None
    kept = {key: present[key] for key in KEPT if present.get(key)}
    return {**kept, "bound_issuer": oidc.issuer, KEYS: sorted(oidc.public_keys)}


def writes_after_settings(oidc: OidcBootstrap) -> tuple[SelfInitCall, ...]:
    """Return the policies and roles of a login, in the order in which they are written.

    The operator's own role is the last one: as soon as the operator can log in, all of it is there.
    """
    prefixes = ("sys/policies/acl/", f"auth/{JWT_MOUNT}/role/")
    calls = [call for call in login_calls(oidc) if call.path.startswith(prefixes)]
    return tuple(sorted(calls, key=lambda call: call.path == f"{prefixes[1]}{OPERATOR_ROLE}"))


def root_token_missing(secret: str) -> OperatorLoginStatus:
    """Return the status: there never was a login, and no token to set it up."""
    message = (
        f"the operator has no login of its own, and Secret {secret}, whose root token sets it up, "
        f"does not exist: {_put_token(secret)}"
    )
    return _failed("", "RootTokenMissing", message)


def set_up_refused(
    error: str, secret: str, previous: OperatorLoginStatus | None
) -> OperatorLoginStatus:
    """Return the status: OpenBao denied what the operator asked for with the root token."""
    message = (
        f"OpenBao does not let the operator set up its login with the token in Secret {secret}: "
        f"{error}. The operator does not repeat that; {_put_token(secret)}"
    )
    return _failed(_keys(previous), REFUSED, message)


def issuer_unknown(secret: str, previous: OperatorLoginStatus | None) -> OperatorLoginStatus:
    """Return the status: without the keys of the API server no login can be set up."""
    message = (
        "the login of the operator is not set up yet: the API server did not tell by which RSA or "
        "ECDSA keys it signs ServiceAccount tokens. Allow the operator to GET "
        "/.well-known/openid-configuration and /openid/v1/jwks. Until then the root token in "
        f"Secret {secret} is not used"
    )
    return _failed(_keys(previous), MISSING, message)


def not_repeated(secret: str, current: OperatorLoginStatus) -> OperatorLoginStatus:
    """Return the status: a login that worked is refused, and no token is there to set it up."""
    message = f"{current.problem}. Or {_put_token(secret)}"
    return _failed(current.keys, current.reason, message)


def _put_token(secret: str) -> str:
    return (
        f"put a token that may write auth methods and policies into Secret {secret}, key token: "
        "the operator uses it once, to set the login up"
    )


def known(issuer: TokenIssuer) -> OperatorLoginStatus:
    """Return the status: these keys are trusted."""
    return OperatorLoginStatus(keys=digest(issuer))


def outdated(issuer: TokenIssuer, error: str) -> OperatorLoginStatus:
    """Return the status: new keys could not be written to OpenBao."""
    message = (
        "the API server signs ServiceAccount tokens with other keys than before, and OpenBao could "
        f"not be told: {error}. An administrator writes them to auth/jwt-operator/config; "
        "docs/first-boot.md says how"
    )
    return _failed(digest(issuer), OUTDATED, message)


def refused(error: str, previous: OperatorLoginStatus | None) -> OperatorLoginStatus:
    """Return the status: OpenBao denies the login; `keys` are those that were compared last."""
    if previous is not None and previous.reason == OUTDATED:
        # It has the cause already, and what to do.
        return previous
    message = (
        f"OpenBao refuses the login of the operator: {error}. The role openbao-operator at "
        "auth/jwt-operator has to take the operator's ServiceAccount and the audience of this "
        "cluster; docs/first-boot.md says how an administrator corrects it, and docs/migrate.md "
        "what to do about roles of another operator"
    )
    return _failed(_keys(previous), REFUSED, message)


def without_token(error: str, previous: OperatorLoginStatus | None) -> OperatorLoginStatus:
    """Return the status: the API server gives the operator no token."""
    message = f"{error}. It needs the right to create serviceaccounts/token of itself"
    return _failed(_keys(previous), MISSING, message)


def lets_in(previous: OperatorLoginStatus | None) -> OperatorLoginStatus | None:
    """Return the status: a login worked, with any keys."""
    if previous is None or previous.reason in ("", OUTDATED):
        return previous
    return OperatorLoginStatus(keys=previous.keys)


def _failed(keys: str, reason: str, message: str) -> OperatorLoginStatus:
    return OperatorLoginStatus(keys=keys, reason=reason, problem=clean_message(message))


def _keys(previous: OperatorLoginStatus | None) -> str:
    return previous.keys if previous else ""
