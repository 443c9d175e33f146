"""The guards of the table of rolling upgrades: the message of a transition, or None. Pure."""

from __future__ import annotations

from collections.abc import Callable

from contracts.pause import counted_from
from contracts.records.effects import MakeStepDownJob
from contracts.records.upgrade import SNAPSHOT_TRIES
from contracts.state_machine import APPLIES, GuardMessage
from managers.upgrade.rolling.facts import (
    BUDGET_REFUSAL_MAX_AGE,
    ROLLING,
    STEP_DOWN_AGAIN,
    STEP_DOWN_DEADLINE,
    STEP_DOWN_TRIES,
    RollingFacts,
    RollingGuard,
)


def both(condition: Callable[[RollingFacts], bool], guard: RollingGuard) -> RollingGuard:
    return lambda facts: guard(facts) if condition(facts) else None


# --- the requested release ----------------------------------------------------------------------


def up_to_date(facts: RollingFacts) -> GuardMessage | None:
    return APPLIES if facts.requested == facts.accepted else None


def requests_another_release(facts: RollingFacts) -> bool:
    return facts.requested != facts.target


def refusal(facts: RollingFacts) -> GuardMessage | None:
    blocked = facts.verdict(resuming=facts.upgrade.phase == ROLLING).refusal
    return None if blocked is None else GuardMessage(blocked.message)


def obstacle(facts: RollingFacts) -> GuardMessage | None:
    wait = facts.verdict(resuming=False).obstacle
    return None if wait is None else GuardMessage(wait.message)


def new_target(facts: RollingFacts) -> GuardMessage | None:
    """The spec requests a valid release other than the target of this upgrade."""
    if not requests_another_release(facts) or refusal(facts) is not None:
        return None
    return GuardMessage(f"the spec now requests {facts.requested}")


# --- the lock -----------------------------------------------------------------------------------


def lock_held_by_another(facts: RollingFacts) -> GuardMessage | None:
    return GuardMessage(facts.other_holder) or None


def no_lock(facts: RollingFacts) -> GuardMessage | None:
    return None if facts.holds_lock else GuardMessage("waiting for the operation lock")


# --- the snapshot -------------------------------------------------------------------------------


def wants_snapshot(facts: RollingFacts) -> GuardMessage | None:
    return GuardMessage("a snapshot is taken first") if facts.wants_snapshot else None


def last_snapshot_failed(facts: RollingFacts) -> GuardMessage | None:
    snapshot = facts.observed.upgrade.snapshot
    if snapshot is None or (facts.upgrade.snapshots or 0) < SNAPSHOT_TRIES:
        return None
    if not snapshot.failed:
        return None
    return GuardMessage(
        f"OpenBaoBackup {snapshot.name}, attempt {facts.upgrade.snapshots}: "
        f"{snapshot.message or snapshot.phase}"
    )


def snapshot_failed(facts: RollingFacts) -> GuardMessage | None:
    snapshot = facts.observed.upgrade.snapshot
    if snapshot is None or not snapshot.failed:
        return None
    return GuardMessage(f"OpenBaoBackup {snapshot.name} failed; the operator creates another one")


def no_snapshot(facts: RollingFacts) -> GuardMessage | None:
    missing = facts.wants_snapshot and facts.observed.upgrade.snapshot is None
    return GuardMessage(f"creating OpenBaoBackup {facts.upgrade.snapshot}") if missing else None


def snapshot_runs(facts: RollingFacts) -> GuardMessage | None:
    return (
        GuardMessage(f"waiting for OpenBaoBackup {facts.upgrade.snapshot}")
        if facts.wants_snapshot
        else None
    )


# --- the pods -----------------------------------------------------------------------------------


def step_down_job_impossible(facts: RollingFacts) -> GuardMessage | None:
    """No Job can step down the leader, so its pod must not be replaced."""
    for leader in facts.observed.leaders:
        attempt = facts.observed.last_attempt(MakeStepDownJob.name, leader.uid)
        if attempt is not None and attempt.refusal:
            return GuardMessage(f"no Job can ask {leader.name} to step down: {attempt.refusal}")
    return None


def step_down_job_failed(facts: RollingFacts) -> GuardMessage | None:
    job = facts.observed.upgrade.job
    if job is None or job.state != "Failed" or not still_leads(facts):
        return None
    return GuardMessage(f"Job {job.name} failed ({job.message or 'no reason given'}); read its log")


def step_down_late(facts: RollingFacts) -> GuardMessage | None:
    job = facts.observed.upgrade.job
    if job is None or job.created_at is None or not still_leads(facts):
        return None
    started = counted_from(job.created_at, facts.observed.resumed_at)
    if facts.observed.now - started < STEP_DOWN_DEADLINE or leads_again(facts):
        return None
    waited = int(STEP_DOWN_DEADLINE.total_seconds())
    return GuardMessage(
        f"{facts.upgrade.pod} still leads {waited} s after Job {job.name} asked it to step down"
    )


def leads_again(facts: RollingFacts) -> bool:
    """Report whether a leader stepped down, was elected again, and may step down once more."""
    job = facts.observed.upgrade.job
    if job is None or job.state != "Succeeded" or job.created_at is None or not still_leads(facts):
        return False
    overdue = facts.observed.now - job.created_at >= STEP_DOWN_AGAIN
    return overdue and (facts.upgrade.step_downs or 0) < STEP_DOWN_TRIES


def still_leads(facts: RollingFacts) -> bool:
    return any(leader.name == facts.upgrade.pod for leader in facts.observed.leaders)


def pod_late(facts: RollingFacts) -> GuardMessage | None:
    since = facts.upgrade.step_started_at
    if since is None or facts.observed.now - since < facts.deadline:
        return None
    servers = facts.observed.servers
    pod = next((server for server in servers if server.name == facts.upgrade.pod), None)
    message = f"{facts.upgrade.pod or 'no pod'} is not ready with {facts.target} after "
    message += f"{int(facts.deadline.total_seconds())} s"
    return GuardMessage(message + (f": {pod.waiting}" if pod is not None and pod.waiting else ""))


def server_unhealthy_late(facts: RollingFacts) -> GuardMessage | None:
    """All servers are ready without progress: the unhealthy one need not be the next one."""
    message, quorum = pod_late(facts), facts.observed.quorum
    if message is None or quorum is None or quorum.error:
        return message
    unhealthy = [
        server.node_id
        for server in quorum.servers
        if server.voter and not (server.healthy and server.follows)
    ]
    if not unhealthy:
        return message
    waited = int(facts.deadline.total_seconds())
    return GuardMessage(
        f"after {waited} s the leader reports these as unhealthy or behind: {', '.join(unhealthy)}"
    )


def pod_unready_late(facts: RollingFacts) -> GuardMessage | None:
    return None if all_ready(facts) else pod_late(facts)


def all_ready(facts: RollingFacts) -> bool:
    servers = facts.observed.servers
    return bool(servers) and all(pod.ready for pod in servers)


def user_hold(reason: str) -> RollingGuard:
    """Return a guard that applies while a setting of the user holds the rollout."""

    def guard(facts: RollingFacts) -> GuardMessage | None:
        wait = facts.verdict(resuming=True).obstacle
        return GuardMessage(wait.message) if wait is not None and wait.reason == reason else None

    return guard


def members_unreadable(facts: RollingFacts) -> GuardMessage | None:
    """A user must act, and no server is known to be unhealthy: the deadline is suspended."""
    quorum = facts.observed.quorum
    if quorum is None or not quorum.refused_path or not all_ready(facts):
        return None
    return GuardMessage(quorum.error_message)


def budget_closed(facts: RollingFacts) -> GuardMessage | None:
    """The disruption budget refuses evictions, and all pods are ready: suspend the deadline."""
    return (
        (GuardMessage(facts.observed.refused_eviction(BUDGET_REFUSAL_MAX_AGE)) or None)
        if all_ready(facts)
        else None
    )


def in_progress(facts: RollingFacts) -> GuardMessage | None:
    total, completed = facts.cluster.spec.replicas, len(facts.upgrade.completed_pods)
    progress = f"{completed} of {total} servers are upgraded"
    return GuardMessage(f"{facts.upgrade.from_version} to {facts.target}: {progress}")


# --- after a failure ----------------------------------------------------------------------------


def retry_request(facts: RollingFacts) -> GuardMessage | None:
    return GuardMessage(f"retry {facts.retry} was requested") if facts.retry else None


def failure(facts: RollingFacts) -> GuardMessage | None:
    error = facts.upgrade.failure
    return None if error is None else GuardMessage(error.message)


def retry_or_new_target(facts: RollingFacts) -> bool:
    return bool(facts.retry) or new_target(facts) is not None
