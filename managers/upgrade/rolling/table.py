"""The table of all that may happen to a rolling upgrade. Pure.

| place | what it means |
|---|---|
| Idle | the servers have the release that was accepted last |
| Preparing | a newer one was asked for and may come; the lock is taken |
| Snapshot | an OpenBaoBackup is made first |
| Rolling | the new release is accepted, and the pods are replaced |
| Failed | it stopped: no pod is touched until somebody asks again, or for another release |

Of the rows of a place the first whose guard has something to say decides (contracts.state_machine).
Its act is done, then its next place is written; a crash between the two repeats the act, which is
safe. That the last pod is new and well is told by managers.upgrade.rolling.progress, which sees
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import UpgradeRequestsStatus, UpgradeStatus
from contracts.conditions.reasons_workload import BUDGET_CLOSED, QUESTION_REFUSED
from contracts.pause import counted_from
from contracts.records.observed import Observed
from contracts.records.upgrade import FREE_LOCK as FREE_LOCK
from contracts.records.upgrade import MAKE_HAND_OVER, SNAPSHOT_TRIES, Release
from contracts.records.upgrade import MAKE_SNAPSHOT as MAKE_SNAPSHOT
from contracts.records.upgrade import TAKE_LOCK as TAKE_LOCK
from contracts.state_machine import Guard, Row, always
from managers.operation_lock.decide import UPGRADE_HOLDER, held_by_another
from managers.upgrade.preflight.checks import Verdict, check

IDLE: Final = "Idle"
PREPARING: Final = "Preparing"
SNAPSHOT: Final = "Snapshot"
ROLLING: Final = "Rolling"
FAILED: Final = "Failed"

STEP_DOWN_DEADLINE: Final = timedelta(seconds=60)
"""How long a leader may go on leading after the Job that asks it was made."""
STEP_DOWN_AGAIN: Final = timedelta(seconds=20)
"""After which a leader that was asked leads because it was elected anew: it sleeps for ten seconds
before it may lead again."""
STEP_DOWN_TRIES: Final = 5
SOON: Final = 0.05
"""Seconds to the next pass when the next place is known."""
RECHECK: Final = 5.0
SNAPSHOT_RECHECK: Final = 2.0
ROLL_RECHECK: Final = 0.5
BUDGET_ASKED: Final = timedelta(minutes=1)
"""A refusal that is older is none any more: a closed budget is asked every 15 seconds at least."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the guards look at. `cluster` is the CR as its user wrote it."""

    cluster: OpenBaoCluster
    observed: Observed
    accepted: Release
    deadline: timedelta

    @property
    def asked(self) -> Release:
        """What the spec asks for."""
        return Release.asked(self.cluster)

    @property
    def upgrade(self) -> UpgradeStatus:
        """What is known of the upgrade that goes on."""
        return self.cluster.status.upgrade or UpgradeStatus(target_version="", from_version="")

    @property
    def target(self) -> Release:
        """What the upgrade that goes on brings the servers to."""
        return Release(self.upgrade.target_version, self.upgrade.target_image or "")

    @property
    def rolled(self) -> bool:
        """Tell whether the target was accepted, so that pods may have it."""
        return self.target == self.accepted

    @property
    def holds_lock(self) -> bool:
        """Tell whether the operation lock is ours."""
        lock = self.cluster.status.operation_lock
        return lock is not None and lock.holder == UPGRADE_HOLDER

    @property
    def other_holder(self) -> str:
        """Name who else has the operation lock; "" if nobody has."""
        return held_by_another(self.cluster.status.operation_lock, UPGRADE_HOLDER)

    @property
    def retry(self) -> str:
        """The order to try again that was not carried out yet; "" if there is none."""
        wanted = self.cluster.spec.upgrade.requests if self.cluster.spec.upgrade else None
        done = self.cluster.status.upgrade_requests or UpgradeRequestsStatus()
        token = (wanted.retry if wanted else None) or ""
        return "" if token == done.last_handled_retry else token

    @property
    def wants_snapshot(self) -> bool:
        """Tell whether a snapshot comes first, and none was made yet."""
        wish = self.cluster.spec.upgrade
        seen = self.observed.upgrade.snapshot
        return bool(wish and wish.pre_upgrade_snapshot) and not (seen and seen.phase == "Completed")

    def verdict(self, *, resuming: bool) -> Verdict:
        """Judge what the spec asks for."""
        return check(self.cluster, self.observed, self.asked, resuming=resuming)


Ask = Guard[Situation]


def place_of(status: ClusterStatus) -> str:
    """Where an upgrade is, told by the status alone."""
    upgrade = status.upgrade
    if upgrade is None:
        return IDLE
    return FAILED if upgrade.failure is not None else upgrade.phase


def _both(first: Callable[[Situation], bool], second: Ask) -> Ask:
    return lambda now: second(now) if first(now) else None


# --- what the spec asks for ---------------------------------------------------------------------


def _as_asked(now: Situation) -> str | None:
    return "" if now.asked == now.accepted else None


def _changed(now: Situation) -> bool:
    return now.asked != now.target


def _refused(now: Situation) -> str | None:
    refusal = now.verdict(resuming=now.upgrade.phase == ROLLING).refusal
    return None if refusal is None else refusal.message


def _obstructed(now: Situation) -> str | None:
    obstacle = now.verdict(resuming=False).obstacle
    return None if obstacle is None else obstacle.message


def _another(now: Situation) -> str | None:
    """Another release than the one under way is asked for, and may come."""
    if not _changed(now) or _refused(now) is not None:
        return None
    return f"{now.asked} is asked for now"


# --- the lock -----------------------------------------------------------------------------------


def _lock_is_held(now: Situation) -> str | None:
    return now.other_holder or None


def _no_lock(now: Situation) -> str | None:
    return None if now.holds_lock else "the operation lock is taken first"


def _own_lock(now: Situation) -> str | None:
    return "" if now.holds_lock else None


def _lock_left(now: Situation) -> str | None:
    """The lock of an upgrade that nothing is known of any more, when none is about to begin."""
    nothing = _as_asked(now) is not None or _refused(now) is not None
    return _own_lock(now) if nothing else None


# --- the snapshot -------------------------------------------------------------------------------


def _wants_snapshot(now: Situation) -> str | None:
    return "a snapshot is taken first" if now.wants_snapshot else None


def _snapshot_hopeless(now: Situation) -> str | None:
    seen = now.observed.upgrade.snapshot
    if seen is None or (now.upgrade.snapshots or 0) < SNAPSHOT_TRIES:
        return None
    if not seen.failed:
        return None
    return f"OpenBaoBackup {seen.name}, try {now.upgrade.snapshots}: {seen.message or seen.phase}"


def _snapshot_failed(now: Situation) -> str | None:
    seen = now.observed.upgrade.snapshot
    if seen is None or not seen.failed:
        return None
    return f"OpenBaoBackup {seen.name} did not end well; another one is made"


def _no_snapshot(now: Situation) -> str | None:
    missing = now.wants_snapshot and now.observed.upgrade.snapshot is None
    return f"OpenBaoBackup {now.upgrade.snapshot} is made" if missing else None


def _snapshot_runs(now: Situation) -> str | None:
    return f"OpenBaoBackup {now.upgrade.snapshot} is on its way" if now.wants_snapshot else None


# --- the pods -----------------------------------------------------------------------------------


def _refused_hand_over(now: Situation) -> str | None:
    """The leader cannot be asked by a Job, and must not go without."""
    for leader in now.observed.leaders:
        tried = now.observed.attempted(MAKE_HAND_OVER, leader.uid)
        if tried is not None and tried.refused:
            return f"no Job can ask {leader.name} to step down: {tried.refused}"
    return None


def _hand_over_failed(now: Situation) -> str | None:
    job = now.observed.upgrade.job
    if job is None or job.state != "Failed" or not _still_leads(now):
        return None
    return f"Job {job.name} failed ({job.message or 'no reason given'}); read its log"


def _hand_over_late(now: Situation) -> str | None:
    job = now.observed.upgrade.job
    if job is None or job.created_at is None or not _still_leads(now):
        return None
    asked = counted_from(job.created_at, now.observed.resumed_at)
    if now.observed.now - asked < STEP_DOWN_DEADLINE or leads_again(now):
        return None
    waited = int(STEP_DOWN_DEADLINE.total_seconds())
    return f"{now.upgrade.pod} leads {waited} s after Job {job.name} asked it to step down"


def leads_again(now: Situation) -> bool:
    """Tell whether a leader made way as it was asked to, came back, and may be asked once more."""
    job = now.observed.upgrade.job
    if job is None or job.state != "Succeeded" or job.created_at is None or not _still_leads(now):
        return False
    late = now.observed.now - job.created_at >= STEP_DOWN_AGAIN
    return late and (now.upgrade.step_downs or 0) < STEP_DOWN_TRIES


def _still_leads(now: Situation) -> bool:
    return any(one.name == now.upgrade.pod for one in now.observed.leaders)


def _late(now: Situation) -> str | None:
    since = now.upgrade.step_started_at
    if since is None or now.observed.now - since < now.deadline:
        return None
    pod = next((one for one in now.observed.servers if one.name == now.upgrade.pod), None)
    told = f"{now.upgrade.pod or 'no pod'} is not back in {now.target} after "
    told += f"{int(now.deadline.total_seconds())} s"
    return told + (f": {pod.waiting}" if pod is not None and pod.waiting else "")


def _unwell_late(now: Situation) -> str | None:
    """All are ready, and nothing goes on: who is ill may be another one than the next to go."""
    told, quorum = _late(now), now.observed.quorum
    if told is None or quorum is None or quorum.trouble:
        return told
    ill = [one.node_id for one in quorum.servers if one.voter and not (one.healthy and one.follows)]
    if not ill:
        return told
    waited = int(now.deadline.total_seconds())
    return f"after {waited} s the leader does not find these well and caught up: {', '.join(ill)}"


def _unready_late(now: Situation) -> str | None:
    return None if _all_ready(now) else _late(now)


def _all_ready(now: Situation) -> bool:
    servers = now.observed.servers
    return bool(servers) and all(pod.ready for pod in servers)


def _may_not_ask(now: Situation) -> str | None:
    """A person has to act, and nobody is ill as far as is known: no time runs meanwhile."""
    quorum = now.observed.quorum
    if quorum is None or not quorum.refused or not _all_ready(now):
        return None
    return quorum.unanswered


def _budget_closed(now: Situation) -> str | None:
    """Somebody else holds the budget, and all are ready: no time runs meanwhile."""
    return (now.observed.refused_eviction(BUDGET_ASKED) or None) if _all_ready(now) else None


def _on_its_way(now: Situation) -> str | None:
    of, done = now.cluster.spec.replicas, len(now.upgrade.completed_pods)
    return f"{now.upgrade.from_version} to {now.target}: {done} of {of} servers are new"


# --- after a failure ----------------------------------------------------------------------------


def _retried(now: Situation) -> str | None:
    return f"retry {now.retry} was asked for" if now.retry else None


def _failed(now: Situation) -> str | None:
    failure = now.upgrade.failure
    return None if failure is None else failure.message


def _wanted(now: Situation) -> bool:
    return bool(now.retry) or _another(now) is not None


ROWS: tuple[Row[Situation], ...] = (
    Row(IDLE, _lock_left, "lock left", act=FREE_LOCK),
    Row(IDLE, _as_asked, "as asked"),
    Row(IDLE, _refused, "refused", blocked=True),
    Row(IDLE, _obstructed, "obstructed", after=RECHECK),
    Row(IDLE, always, "another release asked", PREPARING, TAKE_LOCK, "UpgradeInProgress", SOON),
    #
    Row(PREPARING, _as_asked, "taken back", IDLE, FREE_LOCK, after=SOON),
    Row(PREPARING, _both(_changed, _refused), "refused", IDLE, FREE_LOCK, after=SOON),
    Row(PREPARING, _another, "another release asked", PREPARING, TAKE_LOCK, after=SOON),
    Row(PREPARING, _lock_is_held, "lock held", IDLE, after=SOON),
    Row(PREPARING, _no_lock, "no lock", act=TAKE_LOCK, reason="OperationLockBlocked", after=1.0),
    Row(PREPARING, _obstructed, "obstructed", after=RECHECK),
    Row(PREPARING, _wants_snapshot, "snapshot first", SNAPSHOT, reason="PreUpgradeSnapshot"),
    Row(PREPARING, always, "all well", ROLLING, reason="UpgradeInProgress", after=SOON),
    #
    Row(SNAPSHOT, _as_asked, "taken back", IDLE, FREE_LOCK, after=SOON),
    Row(SNAPSHOT, _another, "another release asked", PREPARING, after=SOON),
    Row(SNAPSHOT, _no_lock, "no lock", PREPARING, after=SOON),
    Row(
        SNAPSHOT,
        _snapshot_hopeless,
        "third snapshot failed",
        FAILED,
        FREE_LOCK,
        "PreUpgradeBackupFailed",
        SOON,
    ),
    Row(SNAPSHOT, _snapshot_failed, "snapshot failed", SNAPSHOT, reason="PreUpgradeSnapshot"),
    Row(
        SNAPSHOT,
        _no_snapshot,
        "no snapshot",
        SNAPSHOT,
        MAKE_SNAPSHOT,
        "PreUpgradeSnapshot",
        SNAPSHOT_RECHECK,
    ),
    Row(
        SNAPSHOT,
        _snapshot_runs,
        "snapshot runs",
        reason="PreUpgradeSnapshot",
        after=SNAPSHOT_RECHECK,
    ),
    Row(SNAPSHOT, _obstructed, "obstructed", after=RECHECK),
    Row(SNAPSHOT, always, "snapshot done", ROLLING, reason="UpgradeInProgress", after=SOON),
    #
    Row(ROLLING, _another, "another release asked", ROLLING, after=SOON),
    Row(ROLLING, _lock_is_held, "lock lost", FAILED, reason="UpgradeFailed", after=SOON),
    Row(ROLLING, _no_lock, "no lock", act=TAKE_LOCK, reason="OperationLockBlocked", after=1.0),
    Row(ROLLING, _hand_over_failed, "Job failed", FAILED, FREE_LOCK, "StepDownFailed", SOON),
    Row(ROLLING, _refused_hand_over, "no Job", FAILED, FREE_LOCK, "StepDownFailed", SOON),
    Row(ROLLING, _hand_over_late, "leads still", FAILED, FREE_LOCK, "StepDownTimeout", SOON),
    Row(ROLLING, _unready_late, "pod not back", FAILED, FREE_LOCK, "PodNotReady", SOON),
    Row(ROLLING, _may_not_ask, "question refused", reason=QUESTION_REFUSED, after=RECHECK),
    Row(ROLLING, _budget_closed, "budget closed", reason=BUDGET_CLOSED, after=RECHECK),
    Row(ROLLING, _unwell_late, "server not well", FAILED, FREE_LOCK, "HealthCheckFailed", SOON),
    Row(ROLLING, _both(_changed, _refused), "refused", blocked=True, after=ROLL_RECHECK),
    Row(ROLLING, _on_its_way, "pods to go", reason="UpgradeInProgress", after=ROLL_RECHECK),
    #
    Row(FAILED, _both(lambda now: not now.rolled, _as_asked), "taken back", IDLE, after=SOON),
    Row(
        FAILED,
        _both(_wanted, _lock_is_held),
        "lock held",
        reason="OperationLockBlocked",
        after=RECHECK,
    ),
    Row(FAILED, _both(lambda now: now.rolled, _another), "another release", ROLLING, TAKE_LOCK),
    Row(FAILED, _another, "another release", PREPARING, TAKE_LOCK, after=SOON),
    Row(FAILED, _both(lambda now: now.rolled, _retried), "retry", ROLLING, TAKE_LOCK, after=SOON),
    Row(FAILED, _retried, "retry", PREPARING, TAKE_LOCK, after=SOON),
    Row(FAILED, _failed, "waits for a person", blocked=True),
)
