"""Which keys the login of the operator and its jobs ought to trust. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from contracts.api.status_login import OperatorLoginStatus
from contracts.conditions import clean_message
from contracts.observed import TokenIssuer

KEYS = "jwt_validation_pubkeys"
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
    if any(settings.get(source) for source in OTHER_SOURCES) or not settings.get(KEYS):
        return None
    name = chosen or issuer.issuer
    wanted = sorted(map(str.strip, issuer.public_keys))
    present = sorted(str(key).strip() for key in settings[KEYS])
    if present == wanted and settings.get("bound_issuer") == name:
        return None
    kept = {key: settings[key] for key in KEPT if settings.get(key)}
    return {**kept, "bound_issuer": name, KEYS: sorted(issuer.public_keys)}


def known(issuer: TokenIssuer) -> OperatorLoginStatus:
    """Say that these keys are trusted."""
    return OperatorLoginStatus(keys=digest(issuer))


def refused(issuer: TokenIssuer, error: str) -> OperatorLoginStatus:
    """Say that OpenBao could not be told; that is tried again when the keys change again."""
    message = (
        "the API server signs ServiceAccount tokens with other keys than before, and OpenBao could "
        f"not be told: {error}. An administrator writes them to auth/jwt-operator/config; "
        "docs/first-boot.md says how"
    )
    return OperatorLoginStatus(keys=digest(issuer), problem=clean_message(message))
