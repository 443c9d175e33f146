"""The input of decisions about upgrades: releases, and what is read during an upgrade.

`UpgradeFacts` is part of contracts.records.observed; the decision is
contracts.records.upgrade_decision. No I/O.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import (
    BlueGreenStatus,
    ReleaseStatus,
    UpgradeRequestsStatus,
)
from contracts.jobs.upgrade_actions import STEP_DOWN
from contracts.naming import names

SNAPSHOT_TRIES: Final = 3
"""Snapshots before an upgrade that may fail before it is given up."""

JobState = Literal["Active", "Succeeded", "Failed"]


@dataclass(frozen=True, slots=True)
class Release:
    """What servers run: a version, and the image as the spec names it ("" for the usual one)."""

    version: str
    image: str = ""

    @staticmethod
    def requested(cluster: OpenBaoCluster) -> Release:
        """Return the release that the spec requests."""
        return Release(cluster.spec.version.removeprefix("v"), cluster.spec.image or "")

    @staticmethod
    def accepted(cluster: OpenBaoCluster) -> Release | None:
        """Return the release that was accepted last; None before the first."""
        release = cluster.status.release
        return None if release is None else Release(release.version, release.image or "")

    @staticmethod
    def running(cluster: OpenBaoCluster) -> Release:
        """Return the version that the servers report, without an image; "" while it is unknown."""
        return Release(cluster.status.current_version.removeprefix("v"))

    def status(self) -> ReleaseStatus:
        """Show it in `status.release`."""
        return ReleaseStatus(version=self.version, image=self.image or None)

    def __str__(self) -> str:
        """Name it for a message."""
        return f"{self.version} ({self.image})" if self.image else self.version


def blue_green_under_way(status: BlueGreenStatus | None) -> bool:
    """Report whether a blue/green upgrade is under way, a rollback and break glass included."""
    return status is not None and (status.phase != "Idle" or bool(status.green_revision))


def upgrade_under_way(status: ClusterStatus) -> bool:
    """Report whether an upgrade of either strategy is under way.

    Only the recorded upgrades count: a version that is requested and refused changes no server.
    A rolling upgrade that failed is not under way; it waits for a user without the operation lock.
    """
    rolling = status.upgrade is not None and status.upgrade.failure is None
    return rolling or blue_green_under_way(status.blue_green)


def upgrade_unfinished(status: ClusterStatus) -> bool:
    """Report the same, and also an upgrade that failed: servers of two versions may run."""
    return status.upgrade is not None or blue_green_under_way(status.blue_green)


def acknowledged_requests(
    cluster: OpenBaoCluster, *, except_retry: bool
) -> UpgradeRequestsStatus | None:
    """Return status.upgradeRequests after a reconcile that handled, refused or ignored them all.

    `except_retry`: a retry that waits stays pending. The same object when nothing changes.
    """
    before = cluster.status.upgrade_requests
    changes = {
        f"last_handled_{request}": token
        for request, token in cluster.pending_upgrade_requests.items()
        if not (request == "retry" and except_retry)
    }
    return (before or UpgradeRequestsStatus()).model_copy(update=changes) if changes else before


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A Job of an upgrade at one moment; `message` is that of Kubernetes or of the job."""

    name: str
    state: JobState
    foreign: bool = False
    created_at: datetime | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class StepDownJob:
    """How Jobs ask the leaders of one cluster to step down during one upgrade."""

    cluster: str
    id: str
    """Of the attempt to upgrade: each has Jobs of its own."""
    turn: int = 1
    """Number of the Job that is there, or comes next: a leader may come back and be asked again."""

    def run(self, pod_uid: str) -> str:
        """Name what the Job for one leader does."""
        return f"{self.id}-{pod_uid}-{self.turn}"

    def job(self, pod_uid: str) -> str:
        """Name the Job for one leader."""
        return names.upgrade_job(self.cluster, STEP_DOWN, self.run(pod_uid))


@dataclass(frozen=True, slots=True)
class SnapshotSeen:
    """The OpenBaoBackup that was made before an upgrade, at one moment."""

    name: str
    phase: str
    """As in its status; "" before its first reconcile."""
    message: str = ""
    foreign: bool = False
    """It was not made by this upgrade."""

    @property
    def failed(self) -> bool:
        """Whether it will never be what the upgrade waits for."""
        return self.foreign or self.phase in ("Failed", "Unknown")


@dataclass(frozen=True, slots=True)
class HookSeen:
    """The Job that judges green, at one moment."""

    uid: str
    state: JobState
    suspended: bool = False
    """spec.suspend: none of its pods was ever made."""
    foreign: bool = False
    """Another's, or its annotations name another operation, revision or hook."""
    terminating: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class BlueGreenObservation:
    """What is read during a blue/green upgrade, or before one begins."""

    job: JobStatus | None = None
    """The Job of the phase and try; None: there is none, or it was written down that it is done."""
    former_job: str = ""
    """The Job of the phase before the way back, as long as it works; "" when none does."""
    hook: HookSeen | None = None
    """The Job that judges green; None: there is none."""
    snapshot: SnapshotSeen | None = None
    traffic: str | None = None
    """Revision that the public Service selects; None: not read, or there is no Service."""
    nonce: str = ""
    """Sixteen random bytes in hexadecimal, new each time."""


@dataclass(frozen=True, slots=True)
class UpgradeFacts:
    """What is read only while the spec and the accepted release differ, or pods change."""

    asks_quorum: bool = False
    """The leader has to be asked for its followers, though no pod is about to go."""
    job: JobStatus | None = None
    """The Job that `status.upgrade.stepDownJob` names; None: it names none, or it is gone."""
    handed_over_at: datetime | None = None
    """When a Job was last made that asks a leader to step down."""
    snapshot: SnapshotSeen | None = None
    """The backup that `status.upgrade.snapshot` names; None: it names none, or it is gone."""
    blue_green: BlueGreenObservation | None = None
    """None: the upgrade is not blue/green."""


NO_FACTS = UpgradeFacts()
