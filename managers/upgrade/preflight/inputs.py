"""Inputs and answers of the preflight checks. No I/O."""

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

# Not every obstacle triggers an event when it ends.
RECHECK: Final = 5.0


@dataclass(frozen=True, slots=True)
class Warnings:
    """Messages that do not stop an upgrade."""

    messages: tuple[str, ...]


Answer = Blocked | Wait | Warnings | None
"""Blocked: a user must act. Wait: it resolves without user action. None: the check passed."""


@dataclass(frozen=True, slots=True)
class PreflightInput:
    """Inputs of the checks. `base`: the version to compare the new one with."""

    cluster: OpenBaoCluster
    observed: Observed
    target: Release
    base: str
    resuming: bool

    @property
    def size(self) -> int:
        """Number of voters in the spec."""
        return self.cluster.spec.replicas

    @property
    def majority(self) -> int:
        """Number of voters that a write needs."""
        return self.size // 2 + 1

    @property
    def strategy(self) -> Strategy:
        """The upgrade strategy."""
        upgrade = self.cluster.spec.upgrade
        return upgrade.strategy if upgrade else "RollingUpdate"

    @property
    def is_blue_green(self) -> bool:
        """Whether a second pool of servers takes over."""
        return self.strategy == "BlueGreen"

    def versions(self) -> tuple[semver.Version, semver.Version] | None:
        """Return the base and the requested version; None when either is not a valid version."""
        before, after = version_matrix.parse(self.base), version_matrix.parse(self.target.version)
        return None if before is None or after is None else (before, after)


def wait(reason: str, message: str) -> Wait:
    """Return an obstacle that resolves without user action."""
    return Wait(reason, message, RECHECK)
