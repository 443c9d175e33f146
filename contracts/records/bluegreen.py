"""The input of the decision about a blue/green upgrade in one reconcile. No I/O.

Blue is the former pool of servers, green the one that takes over. The pool of a cluster that was
never upgraded in this way has no revision: "".
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import OperationLock
from contracts.api.cluster.status_upgrade import BlueGreenStatus
from contracts.api.cluster.upgrade import AutoRollback, BlueGreen, PrePromotionHook
from contracts.jobs import upgrade_actions
from contracts.naming import names
from contracts.naming.revisions import server_pod
from contracts.pause import counted_from, resumed_at
from contracts.records.upgrade import HookSeen, JobStatus, Release, SnapshotSeen
from contracts.upgrade_requests import UpgradeRequest
from runtime.outcome import Blocked, Wait

Colour = Literal["blue", "green"]

IDLE: Final = "Idle"
DEPLOYING: Final = "DeployingGreen"
JOINING: Final = "JoiningMesh"
SYNCING: Final = "Syncing"
PROMOTING: Final = "Promoting"
DEMOTING: Final = "DemotingBlue"
CLEANUP: Final = "Cleanup"
RESTORING: Final = "RestoringReadReplicas"
ROLLING_BACK: Final = "RollingBack"
ROLLBACK_CLEANUP: Final = "RollbackCleanup"

ACTIONS: Final[Mapping[str, str]] = {
    JOINING: upgrade_actions.JOIN,
    SYNCING: upgrade_actions.WAIT,
    PROMOTING: upgrade_actions.PROMOTE,
    DEMOTING: upgrade_actions.DEMOTE,
    CLEANUP: upgrade_actions.REMOVE_BLUE,
    ROLLING_BACK: upgrade_actions.REPAIR,
    ROLLBACK_CLEANUP: upgrade_actions.REMOVE_GREEN,
}
"""What the Job of each phase does; the other phases have none."""

ON_GREEN: Final = (DEMOTING, CLEANUP)
"""Phases in which clients are sent to green; in the one after these, green is called blue."""

_REVISION = 16


def revision_of(release: Release, replicas: int, blue: str = "") -> str:
    """Return the revision of a pool: 16 hexadecimal digits, different from those of blue.

    Blue may have been created for the same release, and run another one by now.
    """
    text = "\n".join((release.version, release.image, str(replicas)))
    revision = hashlib.sha256(text.encode()).hexdigest()[:_REVISION]
    if revision != blue:
        return revision
    return hashlib.sha256(f"{text}\n{blue}".encode()).hexdigest()[:_REVISION]


def next_revision(cluster: OpenBaoCluster) -> str:
    """Return the revision of a pool that would be created for the present spec."""
    status = cluster.status.blue_green
    blue = (status.blue_revision if status else None) or ""
    return revision_of(Release.requested(cluster), cluster.spec.replicas, blue)


@dataclass(frozen=True, slots=True)
class ClaimSeen:
    """One data volume of a pool."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class PoolObservation:
    """One of the two pools at one moment."""

    uid: str = ""
    """Of its StatefulSet, if that is ours; "" when there is none."""
    replicas: int = 0
    """What its StatefulSet asks for."""
    pods: int = 0
    """All that are there, those that are ending included."""
    ready: int = 0
    """Those that are Ready, unsealed, of the version of their pool, and not ending."""
    trouble: str = ""
    """Why one cannot run (CrashLoopBackOff, ErrImagePull, ...), for a person; "" when all can."""
    claims: tuple[ClaimSeen, ...] = ()
    """Of this cluster."""
    foreign: tuple[str, ...] = ()
    """Volumes of that name that an earlier cluster left."""


NO_POOL: Final = PoolObservation()


@dataclass(frozen=True, slots=True)
class Membership:
    """The raft configuration as the leader reports it, counted by pool."""

    leader: Colour | None = None
    """None: a server of neither pool leads."""
    blue_voters: int = 0
    blue_peers: int = 0
    """With and without a vote."""
    green_voters: int = 0
    green_peers: int = 0


@dataclass(frozen=True, slots=True)
class BlueGreenFacts:
    """The input of one reconcile. `cluster` is the CR as its user wrote it; `now` is UTC."""

    cluster: OpenBaoCluster
    now: datetime
    accepted: Release
    """What blue runs (`status.release`)."""
    blue: PoolObservation = NO_POOL
    green: PoolObservation = NO_POOL
    """Of `green_revision`: that of the status, or the one which the spec would have."""
    membership: Membership | None = None
    """None: no server could be asked, or none leads."""
    job: JobStatus | None = None
    """The Job of `job_name`; None: there is none."""
    former_job: str = ""
    """Another Job of an upgrade of this cluster that has not ended; "" when there is none."""
    job_refused: str = ""
    """Why the API server did not take that Job; "" when it did, or was not asked."""
    hook_refused: str = ""
    """Why there can be no Job for the hook; "" when there can, or before the first try."""
    offers_again: bool = False
    """What was refused is worth another try."""
    hook: HookSeen | None = None
    """The Job of managers.upgrade.bluegreen.validation_hook.job_name; None: there is none."""
    snapshot: SnapshotSeen | None = None
    """The OpenBaoBackup of `status.blueGreen.preUpgradeSnapshotJobName`."""
    traffic: str | None = None
    """Revision that the public Service selects, as last read; None: not known."""
    refusal: Blocked | None = None
    """Why what the spec asks for can never come (managers.upgrade.preflight.checks)."""
    obstacle: Wait | None = None
    """What is in its way just now."""
    reads_settled: bool = True
    """Every read replica has the new release; True without any."""
    nonce: str = ""
    """Sixteen random bytes in hexadecimal, new in each reconcile; for a new break glass."""

    @property
    def status(self) -> BlueGreenStatus:
        """The stored status of the upgrade."""
        return self.cluster.status.blue_green or BlueGreenStatus()

    @property
    def settings(self) -> BlueGreen:
        """The settings of the strategy."""
        upgrade = self.cluster.spec.upgrade
        return (upgrade.blue_green if upgrade else None) or BlueGreen()

    @property
    def by_itself(self) -> AutoRollback:
        """When it rolls back automatically."""
        return self.settings.auto_rollback or AutoRollback()

    @property
    def hook_settings(self) -> PrePromotionHook | None:
        """The hook that the spec names."""
        return self.settings.verification.pre_promotion_hook if self.settings.verification else None

    @property
    def requested(self) -> Release:
        """The release that the spec requests."""
        return Release.requested(self.cluster)

    @property
    def target(self) -> Release:
        """What green runs, as it was when the upgrade began."""
        return Release(self.status.green_version or "", self.status.green_image or "")

    @property
    def begun(self) -> bool:
        """Whether an upgrade was begun and has not ended."""
        return bool(self.status.operation_id and self.status.green_revision)

    @property
    def blue_revision(self) -> str:
        """Revision of blue; "" for a pool without one."""
        return self.status.blue_revision or ""

    @property
    def green_revision(self) -> str:
        """Revision of green: of the upgrade that goes on, or of the one that might begin."""
        return self.status.green_revision or self.next_revision

    @property
    def next_revision(self) -> str:
        """Revision of what the spec asks for."""
        return next_revision(self.cluster)

    @property
    def green_replicas(self) -> int:
        """How many servers green has, as it was when the upgrade began."""
        return self.status.green_replicas or self.cluster.spec.replicas

    @property
    def blue_replicas(self) -> int:
        """How many servers blue has, as it was when the upgrade began."""
        return self.status.blue_replicas or self.cluster.spec.replicas

    @property
    def keeps_volumes(self) -> bool:
        """Whether the volumes of removed servers are kept."""
        return self.cluster.spec.deletion_policy == "Retain"

    @property
    def lock(self) -> OperationLock | None:
        """The operation lock as last written."""
        return self.cluster.status.operation_lock

    @property
    def job_name(self) -> str:
        """Name of the Job of this phase and try; "" where there is none."""
        return job_name(self.cluster)

    @property
    def waited(self) -> timedelta:
        """How long this phase, or what comes after its Job, has lasted since the last pause."""
        began = self.status.start_time
        if began is None:
            return timedelta()
        return self.now - counted_from(began, resumed_at(self.cluster, self.now))

    def pending(self, order: UpgradeRequest) -> str:
        """Return the order of spec.upgrade.requests that was not handled yet; "" for none."""
        return self.cluster.pending_upgrade_requests.get(order, "")


def offered(effect: str, job: str) -> str:
    """Name the try to make a Job, by which a refusal is remembered."""
    return f"{effect} {job}"


def run_of(status: BlueGreenStatus) -> str:
    """Name one try of the Job of a phase: no other upgrade and no other try has it."""
    words = [status.operation_id or ""]
    if status.phase in (ROLLING_BACK, ROLLBACK_CLEANUP):
        words.append("rollback")
        if status.rollback_attempt:
            words.append(f"retry-{status.rollback_attempt}")
    if status.job_failure_count:
        words.append(f"try-{status.job_failure_count + 1}")
    return "-".join(words)


def job_name(cluster: OpenBaoCluster) -> str:
    """Name the Job of the phase that a cluster is in; "" where there is none."""
    status = cluster.status.blue_green
    if status is None or status.phase not in ACTIONS:
        return ""
    return names.upgrade_job(cluster.metadata.name, ACTIONS[status.phase], run_of(status))


def order_of(facts: BlueGreenFacts) -> upgrade_actions.Order:
    """Return the order of the Job of the phase; raises KeyError for a phase without one."""
    cluster = facts.cluster.metadata.name

    def pods(revision: str, replicas: int) -> tuple[str, ...]:
        return tuple(server_pod(cluster, revision, ordinal) for ordinal in range(replicas))

    return upgrade_actions.Order(
        ACTIONS[facts.status.phase],
        run_of(facts.status),
        blue=pods(facts.blue_revision, facts.blue_replicas),
        green=pods(facts.green_revision, facts.green_replicas),
    )
