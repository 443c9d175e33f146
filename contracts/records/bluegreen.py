"""The input of the decision about a blue/green upgrade in one reconcile. No I/O.

Blue is the former pool of servers, green the pool that takes over. The pool of a cluster before its
first blue/green upgrade has no revision: "".
"""

from __future__ import annotations

import hashlib
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
from contracts.records.bluegreen_phases import ACTIONS, ROLLBACK_CLEANUP, ROLLING_BACK
from contracts.records.upgrade import HookObservation, JobStatus, Release, SnapshotObservation
from contracts.upgrade_requests import UpgradeRequest
from runtime.outcome import Blocked, Wait

Color = Literal["blue", "green"]

_REVISION = 16


def revision_of(release: Release, replicas: int, blue: str = "") -> str:
    """Return the revision of a pool: 16 hexadecimal digits, different from those of blue.

    Blue may have been created for the same release, and may run another release now.
    """
    text = "\n".join((release.version, release.image, str(replicas)))
    revision = hashlib.sha256(text.encode()).hexdigest()[:_REVISION]
    if revision != blue:
        return revision
    return hashlib.sha256(f"{text}\n{blue}".encode()).hexdigest()[:_REVISION]


def next_revision(cluster: OpenBaoCluster) -> str:
    """Return the revision of a new pool for the present spec."""
    status = cluster.status.blue_green
    blue = (status.blue_revision if status else None) or ""
    return revision_of(Release.requested(cluster), cluster.spec.replicas, blue)


@dataclass(frozen=True, slots=True)
class PvcObservation:
    """One data volume of a pool."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class PoolObservation:
    """The observed state of one of the two pools."""

    uid: str = ""
    """UID of its StatefulSet, if this cluster owns it; "" without one."""
    replicas: int = 0
    """spec.replicas of its StatefulSet."""
    pods: int = 0
    """Number of all pods, including terminating ones."""
    ready: int = 0
    """Number of pods that are Ready, unsealed, of the version of the pool, and not terminating."""
    failure: str = ""
    """Why a pod cannot run (CrashLoopBackOff, ErrImagePull, ...), for a message; "" if all can."""
    claims: tuple[PvcObservation, ...] = ()
    """PVCs of this cluster."""
    foreign: tuple[str, ...] = ()
    """PVCs with a name of this pool that an earlier cluster left."""


NO_POOL: Final = PoolObservation()


@dataclass(frozen=True, slots=True)
class Membership:
    """The raft configuration as the leader reports it, counted by pool."""

    leader: Color | None = None
    """None: the leader is in neither pool."""
    blue_voters: int = 0
    blue_peers: int = 0
    """Members with and without a vote."""
    green_voters: int = 0
    green_peers: int = 0


@dataclass(frozen=True, slots=True)
class BlueGreenFacts:
    """The input of one reconcile. `cluster` is the unresolved CR; `now` is UTC."""

    cluster: OpenBaoCluster
    now: datetime
    accepted: Release
    """The release of blue (`status.release`)."""
    blue: PoolObservation = NO_POOL
    green: PoolObservation = NO_POOL
    """The pool of `green_revision`: the revision of the status, else that of the present spec."""
    membership: Membership | None = None
    """None: no server answered, or there is no leader."""
    job: JobStatus | None = None
    """The Job of `job_name`; None: it does not exist."""
    former_job: str = ""
    """Another upgrade Job of this cluster that still runs; "" without one."""
    job_refusal: str = ""
    """Why the API server refused that Job; "" if it accepted it, or before the first attempt."""
    hook_refusal: str = ""
    """Why the hook Job cannot be created; "" if it can, or before the first attempt."""
    retry_allowed: bool = False
    """The refused creation may be retried."""
    hook: HookObservation | None = None
    """The Job of managers.upgrade.bluegreen.validation_hook.job_name; None: it does not exist."""
    snapshot: SnapshotObservation | None = None
    """The OpenBaoBackup of `status.blueGreen.preUpgradeSnapshotJobName`."""
    traffic: str | None = None
    """Revision that the public Service last selected; None: not known."""
    refusal: Blocked | None = None
    """Why the requested upgrade is not possible (managers.upgrade.preflight.checks)."""
    obstacle: Wait | None = None
    """Why the requested upgrade has to wait now."""
    read_replicas_upgraded: bool = True
    """Every read replica has the new release; also True without read replicas."""
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
    def auto_rollback(self) -> AutoRollback:
        """The settings for automatic rollbacks."""
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
        """The release of green, from the start of the upgrade."""
        return Release.green(self.status)

    @property
    def begun(self) -> bool:
        """Whether an upgrade has started and not ended."""
        return bool(self.status.operation_id and self.status.green_revision)

    @property
    def blue_revision(self) -> str:
        """Revision of blue; "" for the pool without a revision."""
        return self.status.blue_revision or ""

    @property
    def green_revision(self) -> str:
        """Revision of green: of the present upgrade, or of one that could start."""
        return self.status.green_revision or self.next_revision

    @property
    def next_revision(self) -> str:
        """Revision of a new pool for the present spec."""
        return next_revision(self.cluster)

    @property
    def green_replicas(self) -> int:
        """Number of servers of green, from the start of the upgrade."""
        return self.status.green_replicas or self.cluster.spec.replicas

    @property
    def blue_replicas(self) -> int:
        """Number of servers of blue, from the start of the upgrade."""
        return self.status.blue_replicas or self.cluster.spec.replicas

    @property
    def keeps_volumes(self) -> bool:
        """Whether the operator keeps the volumes of removed servers."""
        return self.cluster.spec.deletion_policy == "Retain"

    @property
    def lock(self) -> OperationLock | None:
        """The stored operation lock."""
        return self.cluster.status.operation_lock

    @property
    def job_name(self) -> str:
        """Name of the Job of this phase and attempt; "" for a phase without a Job."""
        return job_name(self.cluster)

    @property
    def phase_duration(self) -> timedelta:
        """How long this phase, or its part after the Job, has lasted since the last pause."""
        start = self.status.start_time
        if start is None:
            return timedelta()
        return self.now - counted_from(start, resumed_at(self.cluster, self.now))

    def pending(self, order: UpgradeRequest) -> str:
        """Return the token of a pending request of spec.upgrade.requests; "" without one."""
        return self.cluster.pending_upgrade_requests.get(order, "")


def job_attempt_key(effect: str, job: str) -> str:
    """Return the key under which a refused creation of a Job is recorded."""
    return f"{effect} {job}"


def run_of(status: BlueGreenStatus) -> str:
    """Return a unique id for one attempt of the Job of a phase."""
    words = [status.operation_id or ""]
    if status.phase in (ROLLING_BACK, ROLLBACK_CLEANUP):
        words.append("rollback")
        if status.rollback_attempt:
            words.append(f"retry-{status.rollback_attempt}")
    if status.job_failure_count:
        words.append(f"try-{status.job_failure_count + 1}")
    return "-".join(words)


def job_name(cluster: OpenBaoCluster) -> str:
    """Return the name of the Job of the present phase; "" for a phase without a Job."""
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
