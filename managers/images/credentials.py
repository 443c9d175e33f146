"""Reads registry logins from pull secrets. Pure. The logins are neither stored nor printed.

Formats: Kubernetes Secrets of type kubernetes.io/dockerconfigjson and kubernetes.io/dockercfg.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from contracts.image_reference import DOCKER_HUB, DOCKER_HUB_ALIASES, ImageReference
from runtime.types import Object, key_of

_CONFIG_JSON = ".dockerconfigjson"
_CONFIG = ".dockercfg"
# The comparison of an entry with the registry blocks the event loop, and its time grows with the
# length of the pattern. A host has up to 253 characters, and a pattern usually has one star.
LOGINS_MAX = 256
HOST_CHARACTERS_MAX = 260
STARS_MAX = 4


class PullSecretError(ValueError):
    """A pull secret exceeds a limit. The message quotes no content of the secret."""


@dataclass(frozen=True, slots=True)
class RegistryLogin:
    """User and password for a registry. Not printed by repr."""

    user: str = field(repr=False)
    password: str = field(repr=False)

    def basic(self) -> str:
        """Return the value of an Authorization header (RFC 7617)."""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


def login_for(reference: ImageReference, secrets: Iterable[Object]) -> RegistryLogin | None:
    """Return the login for an image from the first Secret that has one; None if none has.

    In a Secret the entry with the longest path takes precedence. A Secret with invalid content has
    no logins. Raises PullSecretError.
    """
    for secret in secrets:
        entries = sorted(_entries(secret).items(), key=lambda item: -len(item[0]))
        for registry, entry in entries:
            login = _login(entry) if _covers(registry, reference) else None
            if login is not None:
                return login
    return None


def _entries(secret: Object) -> Mapping[str, Any]:
    data = secret.get("data") or {}
    try:
        if _CONFIG_JSON in data:
            config = orjson.loads(base64.b64decode(data[_CONFIG_JSON]))
            entries = config.get("auths") if isinstance(config, dict) else None
        else:
            entries = orjson.loads(base64.b64decode(data.get(_CONFIG, "")))
    except (ValueError, TypeError):
        return {}
    if not isinstance(entries, dict):
        return {}
    if len(entries) > LOGINS_MAX:
        raise PullSecretError(
            f"Secret {key_of(secret)}: it has {len(entries)} logins, and the operator reads up to "
            f"{LOGINS_MAX}: keep only the logins that are needed"
        )
    return entries


def _covers(registry: str, reference: ImageReference) -> bool:
    """Return whether an entry is for this registry, and for this repository if it names a path."""
    address = registry.partition("://")[2] or registry
    host, _, path = address.strip("/").partition("/")
    if path in ("v1", "v2"):
        path = ""
    if host in DOCKER_HUB_ALIASES:
        host = DOCKER_HUB
    if host.count(".") != reference.registry.count("."):
        return False
    if not _is_host(host, reference.registry):
        return False
    return not path or f"{reference.repository}/".startswith(f"{path}/")


def _is_host(pattern: str, registry: str) -> bool:
    if len(pattern) > HOST_CHARACTERS_MAX or pattern.count("*") > STARS_MAX:
        return False
    if "*" not in pattern and "?" not in pattern:
        return pattern == registry
    return fnmatch.fnmatchcase(registry, pattern.replace("[", "[[]"))


def _login(entry: Any) -> RegistryLogin | None:
    if not isinstance(entry, dict):
        return None
    user, password = entry.get("username"), entry.get("password")
    if isinstance(user, str) and isinstance(password, str) and user:
        return RegistryLogin(user, password)
    try:
        text = base64.b64decode(entry.get("auth") or "", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, TypeError, ValueError):
        return None
    user, colon, password = text.partition(":")
    return RegistryLogin(user, password) if colon and user else None
