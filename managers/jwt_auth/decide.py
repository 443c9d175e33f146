"""Which keys the login of the operator and its jobs should trust. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from contracts.api.cluster.status_login import OperatorLoginStatus
from contracts.conditions.condition import clean_message
from contracts.records.observed import TokenIssuer

KEYS = "jwt_validation_pubkeys"
OUTDATED = "OperatorLoginOutdated"
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
        "cluster; docs/first-boot.md says how an administrator corrects it"
    )
    return _failed(_keys(previous), "OperatorLoginRefused", message)


def without_token(error: str, previous: OperatorLoginStatus | None) -> OperatorLoginStatus:
    """Return the status: the API server gives the operator no token."""
    message = f"{error}. It needs the right to create serviceaccounts/token of itself"
    return _failed(_keys(previous), "OperatorLoginMissing", message)


def lets_in(previous: OperatorLoginStatus | None) -> OperatorLoginStatus | None:
    """Return the status: a login worked, with any keys."""
    if previous is None or previous.reason in ("", OUTDATED):
        return previous
    return OperatorLoginStatus(keys=previous.keys)


def _failed(keys: str, reason: str, message: str) -> OperatorLoginStatus:
    return OperatorLoginStatus(keys=keys, reason=reason, problem=clean_message(message))


def _keys(previous: OperatorLoginStatus | None) -> str:
    return previous.keys if previous else ""
