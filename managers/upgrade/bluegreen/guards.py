"""What the rows of managers.upgrade.bluegreen.table ask about wishes, the lock and Jobs. Pure.

Each returns None when its row does not apply, otherwise a message for people; "" for what the
reason of the row means.
"""

from __future__ import annotations

from contracts.records.bluegreen import IDLE, ROLLBACK_CLEANUP, BlueGreenFacts
from contracts.records.upgrade import SNAPSHOT_TRIES
from managers.operation_lock import decide as oplock
from managers.operation_lock.decide import UPGRADE_HOLDER
from managers.upgrade.bluegreen.break_glass import glass_of, is_acknowledged, is_active
from managers.upgrade.bluegreen.validation_hook import step

Facts = BlueGreenFacts


# --- what comes first everywhere ----------------------------------------------------------------


def paused(now: Facts) -> str | None:
    return "" if now.cluster.spec.paused else None


def answered(now: Facts) -> str | None:
    return "the safe mode was acknowledged" if is_acknowledged(now) else None


def unanswered(now: Facts) -> str | None:
    glass = glass_of(now)
    if not is_active(now):
        return None
    return f"{glass.message}; follow status.breakGlass.steps, then set spec.breakGlassAck"


def held_by_another(now: Facts) -> str | None:
    return oplock.held_by_another(now.lock, UPGRADE_HOLDER) or None


def lock_free(now: Facts) -> str | None:
    return "the operation lock is taken again" if now.lock is None else None


# --- Idle: what the spec asks for ---------------------------------------------------------------


def _held(now: Facts) -> bool:
    return now.lock is not None and now.lock.holder == UPGRADE_HOLDER


def failed_before(now: Facts) -> str | None:
    failed = now.status.failed_revision
    if not failed or now.pending("retry"):
        return None
    if failed != now.next_revision:
        return None
    why = now.status.rollback_reason or "it failed"
    return f"{now.asked} was given up ({why}); set spec.upgrade.requests.retry or ask for another"


def as_asked(now: Facts) -> str | None:
    return "" if not now.begun and now.asked == now.accepted else None


def lock_left(now: Facts) -> str | None:
    if now.begun or not _held(now):
        return None
    nothing = as_asked(now) is not None or now.refusal is not None
    return "" if nothing or failed_before(now) is not None else None


def not_initialized(now: Facts) -> str | None:
    return None if now.cluster.status.initialized else ""


def refused(now: Facts) -> str | None:
    return None if now.begun or now.refusal is None else now.refusal.message


def given_up(now: Facts) -> str | None:
    return None if now.begun else failed_before(now)


def obstructed(now: Facts) -> str | None:
    return None if now.obstacle is None else now.obstacle.message


def obstructed_first(now: Facts) -> str | None:
    return None if now.begun else obstructed(now)


def _left(now: Facts) -> bool:
    return not now.begun and bool(now.green.uid or now.green.pods or now.green.claims)


def left_members(now: Facts) -> str | None:
    """What is left of green and belongs to the raft cluster may serve: nobody deletes it."""
    if not _left(now):
        return None
    if now.membership is None:
        return "there are servers of that revision, and nobody can say whether they are members"
    if not now.membership.green_peers:
        return None
    return (
        f"servers of revision {now.green_revision} are members of the raft cluster and the status "
        "does not tell why; remove them, or put status.blueGreen right"
    )


def left_set(now: Facts) -> str | None:
    return "a set of an earlier try is deleted" if _left(now) and now.green.uid else None


def left_pods(now: Facts) -> str | None:
    return "pods of an earlier try are ending" if _left(now) and now.green.pods else None


def foreign_claims(now: Facts) -> str | None:
    """Green would start with data of somebody else, and never join."""
    if now.begun or not now.green.foreign:
        return None
    names = " ".join(now.green.foreign)
    return (
        f"PersistentVolumeClaim {names} of an earlier cluster has the name of a volume of green; "
        f"when nobody needs it: kubectl delete pvc {names}"
    )


def kept_claims(now: Facts) -> str | None:
    """Volumes of that very revision, which served before: only a person may say that they go."""
    if not _left(now) or not now.keeps_volumes:
        return None
    names = " ".join(claim.name for claim in now.green.claims)
    return (
        f"{now.asked} with {now.cluster.spec.replicas} servers was here before, and its volumes "
        f"are kept; when nobody needs them: kubectl delete pvc {names}"
    )


def left_claims(now: Facts) -> str | None:
    return "volumes of an earlier try are deleted" if _left(now) else None


def unbegun(now: Facts) -> str | None:
    return None if now.begun else f"from {now.accepted} to {now.asked}"


# --- Idle: an upgrade was begun, and nothing was made yet ---------------------------------------


def changed(now: Facts) -> str | None:
    """Until the first server of green is made, another wish costs nothing."""
    if now.next_revision == now.green_revision:
        return None
    return "something else is asked for now"


def rolled_back(now: Facts) -> str | None:
    token = now.pending("rollback")
    return f"rollback {token} was asked for" if token else None


def _wants_snapshot(now: Facts) -> bool:
    seen, wanted = now.snapshot, bool(now.status.pre_upgrade_snapshot_job_name)
    return wanted and not (seen is not None and not seen.foreign and seen.phase == "Completed")


def snapshot_failed(now: Facts) -> str | None:
    seen = now.snapshot
    if seen is None or not seen.failed:
        return None
    return f"OpenBaoBackup {seen.name}: {seen.message or seen.phase}"


def snapshot_hopeless(now: Facts) -> str | None:
    tried = (now.status.job_failure_count or 0) + 1
    return snapshot_failed(now) if tried >= SNAPSHOT_TRIES else None


def no_snapshot(now: Facts) -> str | None:
    missing = _wants_snapshot(now) and now.snapshot is None
    return "a snapshot is taken first" if missing else None


def snapshot_runs(now: Facts) -> str | None:
    return "a snapshot is taken first" if _wants_snapshot(now) else None


# --- the Job of a phase -------------------------------------------------------------------------


def job_done(now: Facts) -> bool:
    """Tell whether the Job of this phase and try ended well, by its word or by our receipt.

    Green that never joined has no members to remove.
    """
    if now.status.completed_job == now.job_name:
        return True
    if now.status.phase == ROLLBACK_CLEANUP and now.membership is not None:
        return not now.membership.green_peers
    return job_succeeded(now)


def job_succeeded(now: Facts) -> bool:
    """Tell whether the Job says so itself."""
    return now.job is not None and now.job.state == "Succeeded" and not now.job.foreign


def former_job(now: Facts) -> str | None:
    """A Job of the way there still works; two that change members would undo each other."""
    return f"Job {now.former_job} still works" if now.former_job else None


def _job_failed(now: Facts) -> str | None:
    job = now.job
    if job_done(now) or job is None or not (job.foreign or job.state == "Failed"):
        return None
    if job.foreign:
        return f"Job {job.name} belongs to somebody else"
    return f"Job {job.name} failed ({job.message or 'no reason given'}); read its log"


def _exhausted(now: Facts) -> bool:
    return (now.status.job_failure_count or 0) + 1 >= now.wish.max_job_failures


def _tries_again(now: Facts) -> bool:
    return now.by_itself.enabled and now.by_itself.on_job_failure


def job_hopeless(now: Facts) -> str | None:
    """It failed as often as it may, and the upgrade gives up by itself."""
    return _job_failed(now) if _exhausted(now) and _tries_again(now) else None


def job_held(now: Facts) -> str | None:
    """It failed, and nothing is done by itself: a person says what is next."""
    return None if _tries_again(now) or now.pending("retry") else _job_failed(now)


def job_stuck(now: Facts) -> str | None:
    """It failed as often as it may where there is no way back."""
    done_with = _exhausted(now) or not _tries_again(now)
    return _job_failed(now) if done_with and not now.pending("retry") else None


def job_spent(now: Facts) -> str | None:
    """It failed as often as it may on the way back."""
    return _job_failed(now) if _exhausted(now) else None


def job_failed(now: Facts) -> str | None:
    return _job_failed(now)


def tried_enough(now: Facts) -> bool:
    """Tell whether nothing is tried again before a person asks."""
    return _exhausted(now) and not now.pending("retry")


def retry_is_due(now: Facts) -> bool:
    """Tell whether an order to try again is to be carried out, now or in a later pass."""
    if now.status.phase == IDLE:
        failed = now.status.failed_revision
        return not now.begun and failed == now.next_revision
    return _job_failed(now) is not None or step(now) in ("failed", "unknown")


def job_refused(now: Facts) -> str | None:
    if job_done(now) or now.job is not None or not now.job_refused:
        return None
    return f"Job {now.job_name} cannot be made: {now.job_refused}"


def job_offered_again(now: Facts) -> str | None:
    """What is said stays the same, so that a refusal that lasts costs no writes."""
    return job_refused(now) if now.offers_again else None


def job_missing(now: Facts) -> str | None:
    return None if job_done(now) or now.job is not None else f"Job {now.job_name} is made"


def job_runs(now: Facts) -> str | None:
    return None if job_done(now) else f"Job {now.job_name} works"
