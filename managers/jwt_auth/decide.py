"""Which keys the login of the operator and its jobs ought to trust. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from contracts.api.cluster.status_login import OperatorLoginStatus
from contracts.conditions.condition import clean_message
from contracts.records.observed import TokenIssuer

KEYS = "jwt_validation_pubkeys"
OUTDATED = "OperatorLoginOutdated"
# What an administrator may have put in the place of fixed keys: then they are not ours to write.
OTHER_SOURCES = ("jwks_url", "oidc_discovery_url", "jwks_pairs")
KEPT = ("bound_issuer", "default_role", "jwt_supported_algs")


def digest(issuer: TokenIssuer) -> str:
    """The keys in one short text, independent of their order."""
    text = "\0".join((issuer.issuer, *sorted(map(str.strip, issuer.public_keys))))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def due(issuer: TokenIssuer | None, previous: OperatorLoginStatus | None) -> bool:
    """Tell whether the API server has keys that OpenBao was not told of yet."""
    if issuer is None or not issuer.public_keys:
        return False
    return previous is None or previous.keys != digest(issuer)


def correction(
    settings: Mapping[str, Any], issuer: TokenIssuer, chosen: str | None
) -> Mapping[str, Any] | None:
    """The settings of the login as they ought to be; None when they are, or are not ours.

    `settings` are the present ones, `chosen` the issuer that the spec names, if it does.
    """
    trusted = settings.get(KEYS)
    if any(settings.get(source) for source in OTHER_SOURCES):
        return None
    if not isinstance(trusted, list) or not trusted:
        # No key is trusted, or what answers is no OpenBao.
        return None
    name = chosen or issuer.issuer
    desired = sorted(map(str.strip, issuer.public_keys))
    present = sorted(str(key).strip() for key in trusted)
    if present == desired and settings.get("bound_issuer") == name:
        return None
    kept = {key: settings[key] for key in KEPT if settings.get(key)}
    return {**kept, "bound_issuer": name, KEYS: sorted(issuer.public_keys)}


def known(issuer: TokenIssuer) -> OperatorLoginStatus:
    """Say that these keys are trusted."""
    return OperatorLoginStatus(keys=digest(issuer))


def outdated(issuer: TokenIssuer, error: str) -> OperatorLoginStatus:
    """Say that OpenBao could not be told of new keys."""
    message = (
        "the API server signs ServiceAccount tokens with other keys than before, and OpenBao could "
        f"not be told: {error}. An administrator writes them to auth/jwt-operator/config; "
        "docs/first-boot.md says how"
    )
    return _failed(digest(issuer), OUTDATED, message)


def refused(error: str, previous: OperatorLoginStatus | None) -> OperatorLoginStatus:
    """Say that OpenBao does not let the operator in; the keys are those that were compared last."""
    if previous is not None and previous.reason == OUTDATED:
        # That says why, and what to do.
        return previous
    message = (
        f"OpenBao refuses the login of the operator: {error}. The role openbao-operator at "
        "auth/jwt-operator has to take the operator's ServiceAccount and the audience of this "
        "cluster; docs/first-boot.md says how an administrator corrects it"
    )
    return _failed(_keys(previous), "OperatorLoginRefused", message)


def without_token(error: str, previous: OperatorLoginStatus | None) -> OperatorLoginStatus:
    """Say that the API server gives the operator nothing to log in with."""
    message = f"{error}. It needs the right to create serviceaccounts/token of itself"
    return _failed(_keys(previous), "OperatorLoginMissing", message)


def lets_in(previous: OperatorLoginStatus | None) -> OperatorLoginStatus | None:
    """Say that a login worked, whatever is known of the keys."""
    if previous is None or previous.reason in ("", OUTDATED):
        return previous
    return OperatorLoginStatus(keys=previous.keys)


def _failed(keys: str, reason: str, message: str) -> OperatorLoginStatus:
    return OperatorLoginStatus(keys=keys, reason=reason, problem=clean_message(message))


def _keys(previous: OperatorLoginStatus | None) -> str:
    return previous.keys if previous else ""
