"""Parses image references as container runtimes do. Pure; uses the standard library.

The grammar is that of the OCI distribution project (registry/repository:tag@digest) with its
defaults: no registry means Docker Hub, and a single word there means `library/<word>`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DOCKER_HUB = "docker.io"
# The host that serves the registry protocol of Docker Hub.
DOCKER_HUB_HOST = "registry-1.docker.io"
# Names of Docker Hub in logins and in signatures.
DOCKER_HUB_ALIASES = ("docker.io", "index.docker.io", "registry-1.docker.io")

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:.]+\])(?::[0-9]{{1,5}})?")
_WORD = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_WORD}(?:/{_WORD})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# Limit of the distribution project for registry and repository together.
_NAME_MAX = 255
_NO_DOT = r"[a-z0-9]+(?:(?:_|__|-+)[a-z0-9]+)*"
_REST = rf"(?::{_TAG.pattern})?(?:@{_DIGEST.pattern})?$"
GRAMMAR = rf"^(?:(?:{_HOST.pattern}|{_NO_DOT})/{_PATH.pattern}|{_WORD}){_REST}"
"""The grammar of `parse` as one pattern of the RE2 syntax, without the length limit of the name."""
LENGTH = rf"^[^@]{{1,{_NAME_MAX}}}(?::{_TAG.pattern})?(?:@.*)?$"
"""The length limit of the name, as a pattern."""


@dataclass(frozen=True, slots=True)
class ImageReference:
    """One reference; `name` is the original part before tag and digest."""

    name: str
    registry: str
    """Host and optional port; `docker.io` for a reference without a registry."""
    repository: str
    tag: str | None
    digest: str | None
    """`sha256:` and 64 hexadecimal digits."""

    @property
    def host(self) -> str:
        """Host and port that serve the registry protocol."""
        return DOCKER_HUB_HOST if self.registry == DOCKER_HUB else self.registry

    @property
    def identity(self) -> str:
        """Registry and repository, equal for all spellings of the same repository."""
        return f"{self.registry}/{self.repository}"

    def pinned(self, digest: str) -> str:
        """Return the reference by digest, whose content a registry cannot change."""
        return f"{self.name}@{digest}"


def parse(text: str) -> ImageReference:
    """Parse an untrusted text as a reference. Raises ValueError, which names the invalid part.

    Without tag and digest both are None: `latest` is not a default here.
    """
    name, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise ValueError("the digest is not sha256: and 64 lower-case hexadecimal digits")
    tag = None
    head, colon, tail = name.rpartition(":")
    # A colon before the last slash belongs to the port of the registry.
    if colon and "/" not in tail and not name.endswith("]"):
        name, tag = head, tail
        if not _TAG.fullmatch(tail):
            raise ValueError("the tag is not 1 to 128 letters, digits, dots, dashes, underscores")
    registry, repository = _split(name)
    if not _HOST.fullmatch(registry):
        raise ValueError("the registry is not a host name or an address, with or without a port")
    if not _PATH.fullmatch(repository) or len(name) > _NAME_MAX:
        raise ValueError("the repository is not lower-case words between slashes")
    return ImageReference(name, registry, repository, tag, digest or None)


def _split(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    is_host = bool(slash) and (
        "." in first or ":" in first or first == "localhost" or first != first.lower()
    )
    registry, repository = (first, rest) if is_host else (DOCKER_HUB, name)
    if registry in DOCKER_HUB_ALIASES:
        registry = DOCKER_HUB
        if "/" not in repository:
            repository = f"library/{repository}"
    return registry, repository


def tag_fits(reference: ImageReference, version: str) -> bool:
    """Return whether the tag matches a version; also True without a tag. A leading v is ignored.

    A tag cannot contain the plus sign of build metadata: an underscore or a dash replaces it.
    """
    if reference.tag is None:
        return True
    expected = version.removeprefix("v")
    return reference.tag.removeprefix("v") in {
        expected,
        expected.replace("+", "_"),
        expected.replace("+", "-"),
    }


def mismatch(image: str | None, version: str) -> str:
    """Return the message for a user's image whose tag does not match a version; "" if it does.

    Upgrade checks use the version: an image with another version would skip them. The rules of the
    API check the syntax of the reference.
    """
    if not image:
        return ""
    try:
        fits = tag_fits(parse(image), version)
    except ValueError:
        return ""
    if fits:
        return ""
    expected = version.removeprefix("v")
    return (
        f"spec.image: the tag of {image} does not match spec.version {expected}; change one of "
        "them, or use the image by its digest without a tag"
    )
