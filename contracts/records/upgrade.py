"""The input of decisions about upgrades: releases, and the facts that are read for an upgrade.

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
"""Number of failed snapshots before an upgrade after which the upgrade fails."""

JobState = Literal["Active", "Succeeded", "Failed"]


@dataclass(frozen=True, slots=True)
class Release:
    """The release of servers: a version, and the image of the spec ("" for the default image)."""

    version: str
    image: str = ""

    @staticmethod
    def requested(cluster: OpenBaoCluster) -> Release:
        """Return the release that the spec requests."""
        return Release(cluster.spec.version.removeprefix("v"), cluster.spec.image or "")

    @staticmethod
    def accepted(cluster: OpenBaoCluster) -> Release | None:
        """Return the last accepted release; None before the first one."""
        release = cluster.status.release
        return None if release is None else Release(release.version, release.image or "")

    @staticmethod
    def running(cluster: OpenBaoCluster) -> Release:
        """Return the version that the servers report, without an image; "" while it is unknown."""
        return Release(cluster.status.current_version.removeprefix("v"))

    @staticmethod
    def green(status: BlueGreenStatus) -> Release:
        """Return the release of green; its version is "" before the upgrade begins."""
        return Release(status.green_version or "", status.green_image or "")

    def status(self) -> ReleaseStatus:
        """Return the release for `status.release`."""
        return ReleaseStatus(version=self.version, image=self.image or None)

    def __str__(self) -> str:
        """Return the release for a message."""
        return f"{self.version} ({self.image})" if self.image else self.version


def blue_green_under_way(status: BlueGreenStatus | None) -> bool:
    """Return whether a blue/green upgrade is under way, including rollback and break glass."""
    return status is not None and (status.phase != "Idle" or bool(status.green_revision))


def upgrade_under_way(status: ClusterStatus) -> bool:
    """Return whether an upgrade of either strategy is under way.

    Only recorded upgrades count: a requested version that was refused changes no server. A failed
    rolling upgrade is not under way; it waits for a user without the operation lock.
    """
    rolling = status.upgrade is not None and status.upgrade.failure is None
    return rolling or blue_green_under_way(status.blue_green)


def upgrade_unfinished(status: ClusterStatus) -> bool:
    """Return whether an upgrade is under way or has failed: servers of two versions may run."""
    return status.upgrade is not None or blue_green_under_way(status.blue_green)


def acknowledged_requests(
    cluster: OpenBaoCluster, *, except_retry: bool
) -> UpgradeRequestsStatus | None:
    """Return status.upgradeRequests after a reconcile that handled, refused or ignored them all.

    `except_retry`: a waiting retry stays pending. Returns the same object if nothing changes.
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
    """The observed state of an upgrade Job; `message` is from Kubernetes or from the job."""

    name: str
    state: JobState
    foreign: bool = False
    created_at: datetime | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class StepDownJob:
    """The Jobs that ask the leaders of one cluster to step down during one upgrade."""

    cluster: str
    id: str
    """Id of the upgrade attempt: each attempt has its own Jobs."""
    number: int = 1
    """Number of the present or next Job: a server may become leader again and get another Job."""

    def run(self, pod_uid: str) -> str:
        """Return the id of the run of the Job for one leader."""
        return f"{self.id}-{pod_uid}-{self.number}"

    def job(self, pod_uid: str) -> str:
        """Return the name of the Job for one leader."""
        return names.upgrade_job(self.cluster, STEP_DOWN, self.run(pod_uid))


@dataclass(frozen=True, slots=True)
class SnapshotObservation:
    """The observed state of the OpenBaoBackup before an upgrade."""

    name: str
    phase: str
    """As in its status; "" before its first reconcile."""
    message: str = ""
    foreign: bool = False
    """This upgrade did not create it."""

    @property
    def failed(self) -> bool:
        """Whether it can no longer become the backup that the upgrade needs."""
        return self.foreign or self.phase in ("Failed", "Unknown")


@dataclass(frozen=True, slots=True)
class HookObservation:
    """The observed state of the validation hook Job."""

    uid: str
    state: JobState
    suspended: bool = False
    """spec.suspend: none of its pods was ever created."""
    foreign: bool = False
    """It has another owner, or its annotations name another operation, revision or hook."""
    terminating: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class BlueGreenObservation:
    """Facts that are read during a blue/green upgrade, or before it starts."""

    job: JobStatus | None = None
    """The Job of the phase and attempt; None: it does not exist, or the status records its end."""
    former_job: str = ""
    """The Job of the phase before the rollback, while it runs; "" if none runs."""
    hook: HookObservation | None = None
    """The validation hook Job; None: it does not exist."""
    snapshot: SnapshotObservation | None = None
    traffic: str | None = None
    """Revision that the public Service selects; None: not read, or no Service exists."""
    nonce: str = ""
    """Sixteen random bytes in hexadecimal, new in each reconcile."""


@dataclass(frozen=True, slots=True)
class UpgradeFacts:
    """Facts that are read only while the spec and the accepted release differ, or pods change."""

    needs_quorum: bool = False
    """The quorum must be read from the leader, although no pod is about to be replaced."""
    job: JobStatus | None = None
    """The Job that `status.upgrade.stepDownJob` names; None: no name, or no such Job."""
    step_down_requested_at: datetime | None = None
    """When the last step-down Job was created."""
    snapshot: SnapshotObservation | None = None
    """The backup that `status.upgrade.snapshot` names; None: no name, or no such backup."""
    blue_green: BlueGreenObservation | None = None
    """None: the upgrade is not blue/green."""


NO_FACTS = UpgradeFacts()
