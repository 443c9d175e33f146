"""What the checks before an upgrade look at, and what they may answer. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import semver

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.upgrade import Strategy
from contracts.records.observed import Observed
from contracts.records.upgrade import Release
from managers.upgrade import version_matrix
from runtime.outcome import Blocked, Wait

# Not every obstacle tells when it ends.
RECHECK: Final = 5.0


@dataclass(frozen=True, slots=True)
class Warnings:
    """What does not stop an upgrade and ought to be known."""

    messages: tuple[str, ...]


Answer = Blocked | Wait | Warnings | None
"""Blocked: a person must act. Wait: it passes by itself. None: all is well."""


@dataclass(frozen=True, slots=True)
class PreflightInput:
    """What the checks look at. `base`: the version that the new one is compared with."""

    cluster: OpenBaoCluster
    observed: Observed
    target: Release
    base: str
    resuming: bool

    @property
    def size(self) -> int:
        """How many voters the cluster asks for."""
        return self.cluster.spec.replicas

    @property
    def majority(self) -> int:
        """How many voters must be there for anything to be written."""
        return self.size // 2 + 1

    @property
    def strategy(self) -> Strategy:
        """How the versions change."""
        upgrade = self.cluster.spec.upgrade
        return upgrade.strategy if upgrade else "RollingUpdate"

    def versions(self) -> tuple[semver.Version, semver.Version] | None:
        """Read what is there and what is asked for; None when one of them is no version."""
        before, after = version_matrix.parse(self.base), version_matrix.parse(self.target.version)
        return None if before is None or after is None else (before, after)


def wait(reason: str, message: str) -> Wait:
    """Answer that something passes by itself."""
    return Wait(reason, message, RECHECK)
