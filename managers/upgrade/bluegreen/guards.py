"""Guards of managers.upgrade.bluegreen.table on the spec, the operation lock and Jobs. Pure.

Each returns None when its transition does not apply, otherwise a message for users; APPLIES if the
reason of the transition is enough.
"""

from __future__ import annotations

from contracts.records.bluegreen import BlueGreenFacts
from contracts.records.bluegreen_phases import IDLE, ROLLBACK_CLEANUP
from contracts.records.upgrade import SNAPSHOT_TRIES
from contracts.state_machine import APPLIES, GuardMessage
from managers.operation_lock.decide import held_by_another
from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade.bluegreen.break_glass import break_glass_of, is_acknowledged, is_active
from managers.upgrade.bluegreen.validation_hook import step

Facts = BlueGreenFacts


# --- common to all states -----------------------------------------------------------------------


def paused(facts: Facts) -> GuardMessage | None:
    return APPLIES if facts.cluster.spec.paused else None


def break_glass_ack(facts: Facts) -> GuardMessage | None:
    return GuardMessage("break glass was acknowledged") if is_acknowledged(facts) else None


def break_glass_active(facts: Facts) -> GuardMessage | None:
    break_glass = break_glass_of(facts)
    if not is_active(facts):
        return None
    return GuardMessage(
        f"{break_glass.message}; follow status.breakGlass.steps, then set spec.breakGlassAck"
    )


def lock_held_by_another(facts: Facts) -> GuardMessage | None:
    return GuardMessage(held_by_another(facts.lock, UPGRADE_HOLDER)) or None


def lock_free(facts: Facts) -> GuardMessage | None:
    return GuardMessage("waiting for the operation lock") if facts.lock is None else None


# --- Idle: what the spec requests ---------------------------------------------------------------


def failed_before(facts: Facts) -> GuardMessage | None:
    failed_revision = facts.status.failed_revision
    if facts.begun or not failed_revision or facts.pending("retry"):
        return None
    if failed_revision != facts.next_revision:
        return None
    reason = facts.status.rollback_reason or "it failed"
    return GuardMessage(
        f"the upgrade to {facts.requested} was aborted ({reason}); "
        "set spec.upgrade.requests.retry or request another release"
    )


def up_to_date(facts: Facts) -> GuardMessage | None:
    return APPLIES if not facts.begun and facts.requested == facts.accepted else None


def not_initialized(facts: Facts) -> GuardMessage | None:
    return None if facts.cluster.status.initialized else APPLIES


def refusal(facts: Facts) -> GuardMessage | None:
    return None if facts.begun or facts.refusal is None else GuardMessage(facts.refusal.message)


def obstacle(facts: Facts) -> GuardMessage | None:
    return None if facts.obstacle is None else GuardMessage(facts.obstacle.message)


def obstacle_before_begin(facts: Facts) -> GuardMessage | None:
    return None if facts.begun else obstacle(facts)


def _has_leftovers(facts: Facts) -> bool:
    return not facts.begun and bool(facts.green.uid or facts.green.pods or facts.green.claims)


def leftover_members(facts: Facts) -> GuardMessage | None:
    """Leftover green servers that are raft members may serve: they are never deleted."""
    if not _has_leftovers(facts):
        return None
    if facts.membership is None:
        return GuardMessage(
            f"servers of revision {facts.green_revision} exist, and no leader reports whether "
            "they are raft members"
        )
    if not facts.membership.green_peers:
        return None
    return GuardMessage(
        f"servers of revision {facts.green_revision} are members of the raft cluster, but "
        "status.blueGreen does not name them; remove them, or correct status.blueGreen"
    )


def leftover_servers(facts: Facts) -> GuardMessage | None:
    return (
        GuardMessage("deleting the StatefulSet of an earlier attempt")
        if _has_leftovers(facts) and facts.green.uid
        else None
    )


def leftover_pods(facts: Facts) -> GuardMessage | None:
    terminating = _has_leftovers(facts) and facts.green.pods
    return GuardMessage("pods of an earlier attempt are terminating") if terminating else None


def foreign_claims(facts: Facts) -> GuardMessage | None:
    """Green would start with data of another cluster, and never join."""
    if facts.begun or not facts.green.foreign:
        return None
    names = " ".join(facts.green.foreign)
    return GuardMessage(
        f"PersistentVolumeClaim {names} of an earlier cluster has the name of a volume of green; "
        f"if it is no longer needed: kubectl delete pvc {names}"
    )


def retained_claims(facts: Facts) -> GuardMessage | None:
    """Volumes of a revision that was in use before: only a user may delete them."""
    if not _has_leftovers(facts) or not facts.keeps_volumes:
        return None
    names = " ".join(pvc.name for pvc in facts.green.claims)
    return GuardMessage(
        f"{facts.requested} with {facts.cluster.spec.replicas} servers was in use before, and its "
        f"volumes are kept; if they are no longer needed: kubectl delete pvc {names}"
    )


def leftover_claims(facts: Facts) -> GuardMessage | None:
    return GuardMessage("deleting volumes of an earlier attempt") if _has_leftovers(facts) else None


def not_begun(facts: Facts) -> GuardMessage | None:
    return None if facts.begun else GuardMessage(f"from {facts.accepted} to {facts.requested}")


# --- Idle: an upgrade began, and nothing was created yet ----------------------------------------


def spec_changed(facts: Facts) -> GuardMessage | None:
    """Until the first server of green is created, the target may change."""
    if facts.next_revision == facts.green_revision:
        return None
    return GuardMessage("the spec changed before green was created")


def rollback_request(facts: Facts) -> GuardMessage | None:
    token = facts.pending("rollback")
    return GuardMessage(f"rollback {token} was requested") if token else None


def _wants_snapshot(facts: Facts) -> bool:
    snapshot, required = facts.snapshot, bool(facts.status.pre_upgrade_snapshot_job_name)
    return required and not (
        snapshot is not None and not snapshot.foreign and snapshot.phase == "Completed"
    )


def snapshot_failed(facts: Facts) -> GuardMessage | None:
    snapshot = facts.snapshot
    if snapshot is None or not snapshot.failed:
        return None
    return GuardMessage(f"OpenBaoBackup {snapshot.name}: {snapshot.message or snapshot.phase}")


def last_snapshot_failed(facts: Facts) -> GuardMessage | None:
    attempts = (facts.status.job_failure_count or 0) + 1
    return snapshot_failed(facts) if attempts >= SNAPSHOT_TRIES else None


def no_snapshot(facts: Facts) -> GuardMessage | None:
    missing = _wants_snapshot(facts) and facts.snapshot is None
    return GuardMessage("a snapshot is taken first") if missing else None


def snapshot_runs(facts: Facts) -> GuardMessage | None:
    return GuardMessage("a snapshot is taken first") if _wants_snapshot(facts) else None


# --- the Job of a phase -------------------------------------------------------------------------


def job_done(facts: Facts) -> bool:
    """Report whether the Job of this phase and attempt succeeded, by the Job or the status.

    If green never joined, there are no members to remove.
    """
    if facts.status.completed_job == facts.job_name:
        return True
    if facts.status.phase == ROLLBACK_CLEANUP and facts.membership is not None:
        return not facts.membership.green_peers
    return job_succeeded(facts)


def job_succeeded(facts: Facts) -> bool:
    """Report whether the Job itself succeeded."""
    return facts.job is not None and facts.job.state == "Succeeded" and not facts.job.foreign


def former_job(facts: Facts) -> GuardMessage | None:
    """A Job of the upgrade still runs; two Jobs that change members would undo each other."""
    return GuardMessage(f"Job {facts.former_job} is still running") if facts.former_job else None


def job_failed(facts: Facts) -> GuardMessage | None:
    job = facts.job
    if job_done(facts) or job is None or not (job.foreign or job.state == "Failed"):
        return None
    if job.foreign:
        return GuardMessage(f"Job {job.name} is owned by another object")
    return GuardMessage(f"Job {job.name} failed ({job.message or 'no reason given'}); read its log")


def _exhausted(facts: Facts) -> bool:
    return (facts.status.job_failure_count or 0) + 1 >= facts.settings.max_job_failures


def _rolls_back_automatically(facts: Facts) -> bool:
    return facts.auto_rollback.enabled and facts.auto_rollback.on_job_failure


def job_failed_too_often(facts: Facts) -> GuardMessage | None:
    """The Job reached its failure limit, and the upgrade rolls back automatically."""
    return job_failed(facts) if _exhausted(facts) and _rolls_back_automatically(facts) else None


def job_failed_without_rollback(facts: Facts) -> GuardMessage | None:
    """The Job failed, and automatic rollback is off: a user decides."""
    return None if _rolls_back_automatically(facts) or facts.pending("retry") else job_failed(facts)


def job_failed_for_good(facts: Facts) -> GuardMessage | None:
    """The Job reached its failure limit in a phase that cannot be rolled back."""
    held = _exhausted(facts) or not _rolls_back_automatically(facts)
    return job_failed(facts) if held and not facts.pending("retry") else None


def rollback_job_failed_too_often(facts: Facts) -> GuardMessage | None:
    """The Job reached its failure limit during a rollback."""
    return job_failed(facts) if _exhausted(facts) else None


def needs_retry(facts: Facts) -> bool:
    """Report whether the next attempt requires a retry request."""
    return _exhausted(facts) and not facts.pending("retry")


def retry_is_due(facts: Facts) -> bool:
    """Report whether a retry request is due, in this or a later reconcile."""
    if facts.status.phase == IDLE:
        failed_revision = facts.status.failed_revision
        return not facts.begun and failed_revision == facts.next_revision
    return job_failed(facts) is not None or step(facts) in ("failed", "unknown")


def job_refusal(facts: Facts) -> GuardMessage | None:
    if job_done(facts) or facts.job is not None or not facts.job_refusal:
        return None
    return GuardMessage(f"Job {facts.job_name} cannot be created: {facts.job_refusal}")


def job_refusal_is_old(facts: Facts) -> GuardMessage | None:
    """The message stays the same, so that a lasting refusal causes no status writes."""
    return job_refusal(facts) if facts.retry_allowed else None


def job_missing(facts: Facts) -> GuardMessage | None:
    return (
        None
        if job_done(facts) or facts.job is not None
        else GuardMessage(f"creating Job {facts.job_name}")
    )


def job_runs(facts: Facts) -> GuardMessage | None:
    return None if job_done(facts) else GuardMessage(f"Job {facts.job_name} is running")
