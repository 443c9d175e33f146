"""The builds that the servers of a cluster run, by their StatefulSet and their pods. Pure.

Called by managers.cluster.observe.status_evidence, which compares them with the accepted release of
the status.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import semver

from contracts import image_reference
from contracts.records.observed import PodFacts, PoolFacts
from contracts.records.upgrade import Release
from managers.images.policy import image_named
from managers.upgrade import version_matrix

_REFERENCE_MAX: Final = 512
"""Characters: a name has up to 255, a tag 128, a digest 71."""


@dataclass(frozen=True, slots=True)
class Build:
    """Image and version of one server or of a template; "" if unknown."""

    image: str
    version: str

    def is_of(self, release: Release, repository: str) -> bool:
        """Report whether a release renders this image; a verified image also has a digest."""
        expected = image_named(release.version, release.image, repository)
        if self.image == expected:
            return True
        return self.version in ("", release.version) and _same_digest(self.image, expected)


@dataclass(frozen=True, slots=True)
class Builds:
    """The builds of the serving pool."""

    template: Build | None
    """None: there is no StatefulSet, or it has no image."""
    pods: tuple[Build, ...]
    leader_versions: tuple[str, ...]
    """Versions of the pods that report to be the leader."""

    @property
    def versions(self) -> frozenset[str]:
        """Versions of the pods, as far as they are known."""
        return frozenset(pod.version for pod in self.pods) - {""}

    @property
    def newest(self) -> Build | None:
        """The newest build of a pod whose version is known; None when there is none."""
        with_version = [pod for pod in self.pods if pod.version]
        return max(with_version, key=lambda pod: order(pod.version), default=None)

    @property
    def runs(self) -> Build | None:
        """The build that the servers run, or that is being rolled out.

        During a rollout it is the build of the template. A template without pods proves nothing:
        its release was not rolled out, or another writer changed it.
        """
        if self.template is None or (self.pods and not self._is_rolled_out(self.template)):
            return self.newest
        return self.template

    def _is_rolled_out(self, template: Build) -> bool:
        if not self.versions or not template.version:
            return True
        return template.version in self.versions

    def may_be_newer_than(self, version: str) -> bool:
        """Report whether a newer version may have written the data.

        Only a leader writes. If all of several servers are newer, one of them has been the leader.
        """
        if any(is_newer(leader, version) for leader in self.leader_versions):
            return True
        return len(self.pods) > 1 and all(is_newer(pod.version, version) for pod in self.pods)


def builds_of(pool: PoolFacts) -> Builds:
    """Read the builds of a pool."""
    live = pool.stateful_set
    template = None
    if live is not None and live.image:
        versions = {
            _version_of(pod) for pod in pool.pods if pod.template == live.template and pod.ready
        }
        version = tag_of(live.image) or (versions.pop() if len(versions) == 1 else "")
        template = Build(live.image, version)
    return Builds(
        template,
        tuple(Build(pod.image, tag_of(pod.image) or _version_of(pod)) for pod in pool.pods),
        tuple(
            _version_of(pod) for pod in pool.pods if pod.registration.active and not pod.terminating
        ),
    )


def _version_of(pod: PodFacts) -> str:
    version = (pod.registration.version or "").removeprefix("v")
    return version if version_matrix.parse(version) is not None else ""


def tag_of(image: str) -> str:
    """Return the version in the tag of an image; "" for a tag that is no version."""
    return _tag_of(image) if len(image) <= _REFERENCE_MAX else ""


# Pods name few images, and each reconcile parses all of them.
@lru_cache(maxsize=64)
def _tag_of(image: str) -> str:
    try:
        tag = image_reference.parse(image).tag or ""
    except ValueError:
        return ""
    version = tag.removeprefix("v").replace("_", "+")
    return version if version_matrix.parse(version) is not None else ""


def name_of(image: str) -> str:
    """Return an image without tag and digest; "" for an invalid reference."""
    try:
        return image_reference.parse(image).name
    except ValueError:
        return ""


def _same_digest(image: str, expected: str) -> bool:
    """Report whether an image has the content of the expected one, by its digest."""
    try:
        actual, expected_ref = image_reference.parse(image), image_reference.parse(expected)
    except ValueError:
        return False
    if actual.digest is None or actual.name != expected_ref.name:
        return False
    return expected_ref.digest in (None, actual.digest)


def order(version: str) -> semver.Version:
    """Return the sort key of a version; an invalid one comes first."""
    return version_matrix.parse(version) or semver.Version(0)


def is_newer(version: str, than: str) -> bool:
    """Report whether a version is newer than another one; False when one of them is invalid."""
    left, right = version_matrix.parse(version), version_matrix.parse(than)
    return left is not None and right is not None and left > right
