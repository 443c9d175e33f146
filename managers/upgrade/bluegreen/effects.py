"""The effects of the actions of a blue/green upgrade. Pure.

Each effect names its target and the UID of the observed object, and is idempotent.
"""

from __future__ import annotations

from contracts.naming import revisions
from contracts.records.bluegreen import BlueGreenFacts, PoolObservation, order_of
from contracts.records.bluegreen_phases import CLEANUP, IDLE
from contracts.records.effects import Effect
from contracts.records.upgrade_effects import (
    AcquireLock,
    DeleteServerClaim,
    DeleteStatefulSet,
    DropHook,
    FreeLock,
    MakeHook,
    MakeJob,
    MakeSnapshot,
    StartHook,
)
from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade.bluegreen.break_glass import is_active
from managers.upgrade.bluegreen.validation_hook import receipt_of
from managers.upgrade.rolling.outcome import snapshot_attempt


def take_lock(facts: BlueGreenFacts) -> tuple[Effect, ...]:
    """Take the operation lock."""
    message = f"{facts.accepted} to {facts.target}: {facts.status.phase}"
    return (AcquireLock(UPGRADE_HOLDER, facts.cluster.metadata.uid, message),)


def free_leftover_lock(facts: BlueGreenFacts) -> tuple[Effect, ...]:
    """Release the operation lock of an upgrade that has ended; not during break glass."""
    under_way = facts.status.phase != IDLE or facts.begun or is_active(facts)
    if under_way or facts.lock is None or facts.lock.holder != UPGRADE_HOLDER:
        return ()
    return (FreeLock(UPGRADE_HOLDER, facts.cluster.metadata.uid),)


def make_snapshot(facts: BlueGreenFacts) -> tuple[Effect, ...]:
    """Create the OpenBaoBackup that the status names."""
    name = facts.status.pre_upgrade_snapshot_job_name or ""
    number = (facts.status.job_failure_count or 0) + 1
    attempt = snapshot_attempt(facts.status.operation_id or "", number)
    return (MakeSnapshot(name, facts.cluster.metadata.uid, attempt),)


def make_job(facts: BlueGreenFacts) -> tuple[Effect, ...]:
    """Create the Job of the phase."""
    return (MakeJob(facts.job_name, facts.cluster.metadata.uid, order_of(facts)),)


def make_hook(facts: BlueGreenFacts) -> tuple[Effect, ...]:
    """Create the validation hook Job that the status records."""
    receipt, spec = receipt_of(facts), facts.hook_settings
    if receipt is None or spec is None:
        return ()
    return (
        MakeHook(
            receipt.job_name,
            facts.cluster.metadata.uid,
            operation_id=receipt.operation_id,
            green_revision=receipt.green_revision,
            spec_hash=receipt.spec_hash,
            hook=spec,
        ),
    )


def start_hook(facts: BlueGreenFacts) -> tuple[Effect, ...]:
    """Resume the validation hook Job whose UID is recorded."""
    receipt = receipt_of(facts)
    return () if receipt is None else (StartHook(receipt.job_name, receipt.job_uid or ""),)


def drop_hook(facts: BlueGreenFacts) -> tuple[Effect, ...]:
    """Delete the validation hook Job, if this upgrade created it."""
    receipt, job = receipt_of(facts), facts.hook
    if receipt is None or job is None or job.foreign:
        return ()
    return (DropHook(receipt.job_name, job.uid),)


def delete_stateful_set(facts: BlueGreenFacts) -> tuple[Effect, ...]:
    """Delete the StatefulSet of the pool to remove."""
    revision, pool = _pool_to_remove(facts)
    name = revisions.server_stateful_set(facts.cluster.metadata.name, revision)
    return (DeleteStatefulSet(name, pool.uid),)


def delete_claims(facts: BlueGreenFacts) -> tuple[Effect, ...]:
    """Delete the volumes of the pool to remove."""
    _, pool = _pool_to_remove(facts)
    return tuple(DeleteServerClaim(pvc.name, pvc.uid) for pvc in pool.claims)


def _pool_to_remove(facts: BlueGreenFacts) -> tuple[str, PoolObservation]:
    """Return blue in Cleanup, and green in every other phase."""
    if facts.status.phase == CLEANUP:
        return facts.blue_revision, facts.blue
    return facts.green_revision, facts.green
