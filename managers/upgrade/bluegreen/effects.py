"""The effects of a blue/green transition, which run before the status is written. Pure.

Each effect names its target and the UID that it was decided for, and may be repeated.
"""

from __future__ import annotations

from contracts.naming import revisions
from contracts.records.bluegreen import (
    CLEANUP,
    DELETE_CLAIM,
    DELETE_SET,
    DROP_HOOK,
    FREE_LOCK,
    MAKE_HOOK,
    MAKE_JOB,
    MAKE_SNAPSHOT,
    START_HOOK,
    TAKE_LOCK,
    BlueGreenFacts,
    order_of,
)
from contracts.records.effects import (
    DeleteServerClaim,
    DeleteSet,
    DropHook,
    Effect,
    FreeLock,
    MakeHook,
    MakeJob,
    MakeSnapshot,
    StartHook,
    TakeLock,
)
from contracts.state_machine import TransitionDecision
from managers.operation_lock.decide import UPGRADE_HOLDER
from managers.upgrade.bluegreen.table import DROP, FORGET_HOOK, GIVE_UP
from managers.upgrade.bluegreen.validation_hook import receipt_of
from managers.upgrade.rolling.outcome import snapshot_attempt

Choice = TransitionDecision[BlueGreenFacts]


def effects_of(facts: BlueGreenFacts, choice: Choice) -> tuple[Effect, ...]:
    """Return the effects in their order; none for an action that only changes the status."""
    action, owner = choice.row.act, facts.cluster.metadata
    if action == TAKE_LOCK:
        message = f"{facts.accepted} to {facts.target}: {facts.status.phase}"
        return (TakeLock(UPGRADE_HOLDER, owner.uid, message),)
    if action in (FREE_LOCK, DROP, GIVE_UP):
        holds_lock = facts.lock is not None and facts.lock.holder == UPGRADE_HOLDER
        return (FreeLock(UPGRADE_HOLDER, owner.uid),) if holds_lock else ()
    if action == MAKE_SNAPSHOT:
        name = facts.status.pre_upgrade_snapshot_job_name or ""
        number = (facts.status.job_failure_count or 0) + 1
        attempt = snapshot_attempt(facts.status.operation_id or "", number)
        return (MakeSnapshot(name, owner.uid, attempt),)
    if action == MAKE_JOB:
        return (MakeJob(facts.job_name, owner.uid, order_of(facts)),)
    if action in (MAKE_HOOK, START_HOOK, DROP_HOOK, FORGET_HOOK):
        return _hook(facts, action)
    if action in (DELETE_SET, DELETE_CLAIM):
        return _deletions(facts, action)
    return ()


def _hook(facts: BlueGreenFacts, action: str) -> tuple[Effect, ...]:
    receipt, observed, spec = receipt_of(facts), facts.hook, facts.hook_settings
    if receipt is None:
        return ()
    if action == START_HOOK:
        return (StartHook(receipt.job_name, receipt.job_uid or ""),)
    if action == MAKE_HOOK and spec is not None:
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
    if action in (DROP_HOOK, FORGET_HOOK) and observed is not None and not observed.foreign:
        return (DropHook(receipt.job_name, observed.uid),)
    return ()


def _deletions(facts: BlueGreenFacts, action: str) -> tuple[Effect, ...]:
    """Delete blue only in Cleanup; in every other phase green."""
    blue = facts.status.phase == CLEANUP
    observed = facts.blue if blue else facts.green
    if action == DELETE_CLAIM:
        return tuple(DeleteServerClaim(pvc.name, pvc.uid) for pvc in observed.claims)
    revision = facts.blue_revision if blue else facts.green_revision
    name = revisions.server_set(facts.cluster.metadata.name, revision)
    return (DeleteSet(name, observed.uid),)
