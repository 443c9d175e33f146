"""The guards of the table of rolling upgrades: why a transition holds, or None. Pure."""

from __future__ import annotations

from collections.abc import Callable

from contracts.pause import counted_from
from contracts.records.upgrade import (
    MAKE_HAND_OVER,
    SNAPSHOT_TRIES,
)
from managers.upgrade.rolling.facts import (
    BUDGET_ASKED,
    ROLLING,
    STEP_DOWN_AGAIN,
    STEP_DOWN_DEADLINE,
    STEP_DOWN_TRIES,
    Ask,
    RollingFacts,
)


def both(first: Callable[[RollingFacts], bool], second: Ask) -> Ask:
    return lambda now: second(now) if first(now) else None


# --- what the spec asks for ---------------------------------------------------------------------


def as_asked(now: RollingFacts) -> str | None:
    return "" if now.asked == now.accepted else None


def changed(now: RollingFacts) -> bool:
    return now.asked != now.target


def refused(now: RollingFacts) -> str | None:
    refusal = now.verdict(resuming=now.upgrade.phase == ROLLING).refusal
    return None if refusal is None else refusal.message


def obstructed(now: RollingFacts) -> str | None:
    obstacle = now.verdict(resuming=False).obstacle
    return None if obstacle is None else obstacle.message


def another(now: RollingFacts) -> str | None:
    """Another release than the one under way is asked for, and may come."""
    if not changed(now) or refused(now) is not None:
        return None
    return f"{now.asked} is asked for now"


# --- the lock -----------------------------------------------------------------------------------


def lock_is_held(now: RollingFacts) -> str | None:
    return now.other_holder or None


def no_lock(now: RollingFacts) -> str | None:
    return None if now.holds_lock else "the operation lock is taken first"


def own_lock(now: RollingFacts) -> str | None:
    return "" if now.holds_lock else None


def lock_left(now: RollingFacts) -> str | None:
    """The lock of an upgrade that nothing is known of any more, when none is about to begin."""
    nothing = as_asked(now) is not None or refused(now) is not None
    return own_lock(now) if nothing else None


# --- the snapshot -------------------------------------------------------------------------------


def wants_snapshot(now: RollingFacts) -> str | None:
    return "a snapshot is taken first" if now.wants_snapshot else None


def snapshot_hopeless(now: RollingFacts) -> str | None:
    seen = now.observed.upgrade.snapshot
    if seen is None or (now.upgrade.snapshots or 0) < SNAPSHOT_TRIES:
        return None
    if not seen.failed:
        return None
    return f"OpenBaoBackup {seen.name}, try {now.upgrade.snapshots}: {seen.message or seen.phase}"


def snapshot_failed(now: RollingFacts) -> str | None:
    seen = now.observed.upgrade.snapshot
    if seen is None or not seen.failed:
        return None
    return f"OpenBaoBackup {seen.name} did not end well; another one is made"


def no_snapshot(now: RollingFacts) -> str | None:
    missing = now.wants_snapshot and now.observed.upgrade.snapshot is None
    return f"OpenBaoBackup {now.upgrade.snapshot} is made" if missing else None


def snapshot_runs(now: RollingFacts) -> str | None:
    return f"OpenBaoBackup {now.upgrade.snapshot} is on its way" if now.wants_snapshot else None


# --- the pods -----------------------------------------------------------------------------------


def refused_hand_over(now: RollingFacts) -> str | None:
    """The leader cannot be asked by a Job, and must not go without."""
    for leader in now.observed.leaders:
        tried = now.observed.attempted(MAKE_HAND_OVER, leader.uid)
        if tried is not None and tried.refused:
            return f"no Job can ask {leader.name} to step down: {tried.refused}"
    return None


def hand_over_failed(now: RollingFacts) -> str | None:
    job = now.observed.upgrade.job
    if job is None or job.state != "Failed" or not still_leads(now):
        return None
    return f"Job {job.name} failed ({job.message or 'no reason given'}); read its log"


def hand_over_late(now: RollingFacts) -> str | None:
    job = now.observed.upgrade.job
    if job is None or job.created_at is None or not still_leads(now):
        return None
    asked = counted_from(job.created_at, now.observed.resumed_at)
    if now.observed.now - asked < STEP_DOWN_DEADLINE or leads_again(now):
        return None
    waited = int(STEP_DOWN_DEADLINE.total_seconds())
    return f"{now.upgrade.pod} leads {waited} s after Job {job.name} asked it to step down"


def leads_again(now: RollingFacts) -> bool:
    """Tell whether a leader made way as it was asked to, came back, and may be asked once more."""
    job = now.observed.upgrade.job
    if job is None or job.state != "Succeeded" or job.created_at is None or not still_leads(now):
        return False
    late = now.observed.now - job.created_at >= STEP_DOWN_AGAIN
    return late and (now.upgrade.step_downs or 0) < STEP_DOWN_TRIES


def still_leads(now: RollingFacts) -> bool:
    return any(one.name == now.upgrade.pod for one in now.observed.leaders)


def late(now: RollingFacts) -> str | None:
    since = now.upgrade.step_started_at
    if since is None or now.observed.now - since < now.deadline:
        return None
    pod = next((one for one in now.observed.servers if one.name == now.upgrade.pod), None)
    told = f"{now.upgrade.pod or 'no pod'} is not back in {now.target} after "
    told += f"{int(now.deadline.total_seconds())} s"
    return told + (f": {pod.waiting}" if pod is not None and pod.waiting else "")


def unwell_late(now: RollingFacts) -> str | None:
    """All are ready, and nothing goes on: who is ill may be another one than the next to go."""
    told, quorum = late(now), now.observed.quorum
    if told is None or quorum is None or quorum.trouble:
        return told
    ill = [one.node_id for one in quorum.servers if one.voter and not (one.healthy and one.follows)]
    if not ill:
        return told
    waited = int(now.deadline.total_seconds())
    return f"after {waited} s the leader does not find these well and caught up: {', '.join(ill)}"


def unready_late(now: RollingFacts) -> str | None:
    return None if all_ready(now) else late(now)


def all_ready(now: RollingFacts) -> bool:
    servers = now.observed.servers
    return bool(servers) and all(pod.ready for pod in servers)


def may_not_ask(now: RollingFacts) -> str | None:
    """A person has to act, and nobody is ill as far as is known: no time runs meanwhile."""
    quorum = now.observed.quorum
    if quorum is None or not quorum.refused or not all_ready(now):
        return None
    return quorum.unanswered


def budget_closed(now: RollingFacts) -> str | None:
    """Somebody else holds the budget, and all are ready: no time runs meanwhile."""
    return (now.observed.refused_eviction(BUDGET_ASKED) or None) if all_ready(now) else None


def on_its_way(now: RollingFacts) -> str | None:
    of, done = now.cluster.spec.replicas, len(now.upgrade.completed_pods)
    return f"{now.upgrade.from_version} to {now.target}: {done} of {of} servers are new"


# --- after a failure ----------------------------------------------------------------------------


def retried(now: RollingFacts) -> str | None:
    return f"retry {now.retry} was asked for" if now.retry else None


def failed(now: RollingFacts) -> str | None:
    failure = now.upgrade.failure
    return None if failure is None else failure.message


def wanted(now: RollingFacts) -> bool:
    return bool(now.retry) or another(now) is not None
