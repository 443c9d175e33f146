"""What a row of the table means for the pass: the release, the status, and what is done. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime
from typing import Any

from contracts.api.cluster.status_errors import LastError
from contracts.api.cluster.status_upgrade import UpgradeRequestsStatus, UpgradeStatus
from contracts.api.cluster.upgrade import UpgradeRequests
from contracts.conditions.condition import clean_message
from contracts.conditions.reasons_workload import BUDGET_CLOSED, QUESTION_REFUSED
from contracts.naming import names
from contracts.records.desired import Effect
from contracts.records.upgrade import FREE_LOCK, MAKE_SNAPSHOT, TAKE_LOCK, Release, StepDownJob
from contracts.records.upgrade_decision import UpgradeDecision
from contracts.state_machine import TransitionDecision
from managers.operation_lock.decide import UPGRADE_HOLDER
from managers.upgrade.condition import upgrading
from managers.upgrade.login import asks_by_job
from managers.upgrade.rolling.facts import FAILED, IDLE, PREPARING, ROLLING, SNAPSHOT, RollingFacts
from managers.upgrade.rolling.guards import leads_again
from runtime.outcome import Blocked, Done, Outcome, Wait

_ID = 10
_NO_JOB: dict[str, Any] = {"step_down_job": None, "step_downs": None}
_WAITING = "UpgradeInProgress"
HELD_BY_OTHERS = (QUESTION_REFUSED, BUDGET_CLOSED)
"""Reasons of rows in which a person has to act and no server is ill."""


def carried_out(now: RollingFacts, decision: TransitionDecision[RollingFacts]) -> UpgradeDecision:
    """Turn a decision into the course of the pass."""
    place = decision.next
    upgrade = None if place == IDLE else _status(now, decision)
    accepted = _target(upgrade) if upgrade and place == ROLLING else now.accepted
    course = UpgradeDecision(
        # A release is rendered once it is written that it was accepted, never before.
        release=now.accepted,
        halt=_halt(now, decision, accepted),
        hand_over=_hand_over(now, upgrade),
        outcome=_outcome(now, decision),
        effects=_effects(now, decision, upgrade),
        place=place,
        upgrade=upgrade,
        requests=_requests(now),
        accepted=accepted,
    )
    return replace(course, finding=upgrading(now.cluster, course))


def _target(upgrade: UpgradeStatus) -> Release:
    return Release(upgrade.target_version, upgrade.target_image or "")


def _halt(now: RollingFacts, decision: TransitionDecision[RollingFacts], accepted: Release) -> str:
    if decision.next == ROLLING and decision.row.at == ROLLING and accepted == now.accepted:
        return "" if now.holds_lock else "the operation lock is not held"
    if decision.next == IDLE:
        return ""
    return decision.message or "an upgrade is being prepared"


def _hand_over(now: RollingFacts, upgrade: UpgradeStatus | None) -> StepDownJob | None:
    if upgrade is None or not asks_by_job(now.cluster):
        return None
    made = upgrade.step_downs or 0
    turn = made if upgrade.step_down_job else made + 1
    return StepDownJob(now.cluster.metadata.name, upgrade.id, turn)


def _outcome(now: RollingFacts, decision: TransitionDecision[RollingFacts]) -> Outcome:
    row = decision.row
    reason = row.reason or _reason(now, decision)
    if row.blocked:
        return Blocked(reason or _WAITING, decision.message, row.after)
    if not reason:
        return Done(row.after)
    return Wait(reason, decision.message or "an upgrade goes on", row.after)


def _reason(now: RollingFacts, decision: TransitionDecision[RollingFacts]) -> str:
    """Find the reason of a row that gives none of its own; "" when there is nothing to tell."""
    failure = now.upgrade.failure
    if failure is not None and decision.row.blocked:
        return failure.reason
    if not decision.message:
        return ""
    verdict = now.verdict(resuming=now.upgrade.phase == ROLLING)
    said = verdict.refusal or now.verdict(resuming=False).obstacle
    return said.reason if said is not None else _WAITING


def _status(now: RollingFacts, decision: TransitionDecision[RollingFacts]) -> UpgradeStatus:
    row, before, moment = decision.row, now.upgrade, _moment(now)
    changes: dict[str, Any] = {}
    if row.at == IDLE:
        return _begun(now, moment)
    if now.asked != now.target and decision.next in (PREPARING, ROLLING) and row.to is not None:
        changes |= _retargeted(now)
    if decision.next == FAILED and row.to is not None:
        changes |= {"failure": _failure(decision, moment)}
    elif row.to is not None and row.at == FAILED:
        changes |= {"failure": None, **_clocks(now, moment, f"{now.retry}{moment}")}
    if row.to is not None and decision.next in (PREPARING, SNAPSHOT, ROLLING):
        changes |= {"phase": decision.next}
    if row.to == ROLLING and "step_started_at" not in changes:
        changes |= {"step_started_at": moment, "pod": None}
    if row.to == SNAPSHOT and row.act != MAKE_SNAPSHOT:
        changes |= _next_snapshot(now)
    if row.at == ROLLING and leads_again(now):
        # What that Job did is undone: the next one has another name.
        changes |= {"step_down_job": None}
    changes = {**_clock(now, decision), **changes}
    return before.model_copy(update=changes) if changes else before


def _clock(now: RollingFacts, decision: TransitionDecision[RollingFacts]) -> dict[str, Any]:
    """Stop the time of a step while somebody else holds it, and give all of it again after that.

    A pause takes the clock away, too.
    """
    row = decision.row
    if row.reason in HELD_BY_OTHERS:
        return {"step_started_at": None}
    if now.upgrade.step_started_at is None and row.at == ROLLING:
        return {"step_started_at": _moment(now)}
    return {}


def _begun(now: RollingFacts, moment: datetime) -> UpgradeStatus:
    asked, accepted = now.asked, now.accepted
    return UpgradeStatus(
        id=_id(now, str(moment)),
        phase="Preparing",
        target_version=asked.version,
        target_image=asked.image or None,
        from_version=accepted.version,
        from_image=accepted.image or None,
        current_partition=now.cluster.spec.replicas,
        started_at=moment,
    )


def _retargeted(now: RollingFacts) -> dict[str, Any]:
    moment = _moment(now)
    return {
        "target_version": now.asked.version,
        "target_image": now.asked.image or None,
        "completed_pods": (),
        "current_partition": now.cluster.spec.replicas,
        **_clocks(now, moment, str(moment)),
    }


def _clocks(now: RollingFacts, moment: datetime, salt: str) -> dict[str, Any]:
    """Begin anew: Jobs of another name, and all the time for the next step."""
    return {"id": _id(now, salt), "step_started_at": moment, "pod": None, **_NO_JOB}


def _next_snapshot(now: RollingFacts) -> dict[str, Any]:
    number = (now.upgrade.snapshots or 0) + 1
    owner = now.cluster.metadata
    name = names.pre_upgrade_backup(owner.name, owner.uid, snapshot_word(now.upgrade.id, number))
    return {"snapshot": name, "snapshots": number}


def snapshot_word(upgrade: str, number: int) -> str:
    """Tell the tries of one upgrade apart."""
    return f"{upgrade} {number}"


def _failure(decision: TransitionDecision[RollingFacts], moment: datetime) -> LastError:
    message = clean_message(decision.message)
    return LastError(reason=decision.row.reason, message=message, at=moment)


def _effects(
    now: RollingFacts, decision: TransitionDecision[RollingFacts], upgrade: UpgradeStatus | None
) -> tuple[Effect, ...]:
    act, owner = decision.row.act, now.cluster.metadata
    if not act:
        return ()
    if act == TAKE_LOCK:
        told = f"{now.accepted} to {_target(upgrade)}" if upgrade else ""
        return (Effect(TAKE_LOCK, UPGRADE_HOLDER, owner.uid, {"message": told}),)
    if act == FREE_LOCK:
        # Of another's lock nothing is given back; one that is nobody's is free already.
        return (Effect(FREE_LOCK, UPGRADE_HOLDER, owner.uid),) if now.holds_lock else ()
    number = (upgrade.snapshots or 0) if upgrade else 0
    word = snapshot_word(upgrade.id if upgrade else "", number)
    name = (upgrade.snapshot if upgrade else "") or ""
    return (Effect(MAKE_SNAPSHOT, name, owner.uid, {"word": word}),)


def _requests(now: RollingFacts) -> UpgradeRequestsStatus | None:
    """Acknowledge an order to try again, wherever it finds the upgrade; others have no use here."""
    before = now.cluster.status.upgrade_requests
    done, wish = before or UpgradeRequestsStatus(), now.cluster.spec.upgrade
    asked = (wish.requests if wish else None) or UpgradeRequests()
    # With a failure it waits for the lock, and is carried out then.
    held = now.upgrade.failure is not None and bool(now.other_holder)
    handled = done.model_copy(
        update={
            "last_handled_promote": asked.promote or done.last_handled_promote,
            "last_handled_rollback": asked.rollback or done.last_handled_rollback,
            "last_handled_retry": done.last_handled_retry
            if held
            else now.retry or done.last_handled_retry,
        }
    )
    return before if handled == done else handled


def _id(now: RollingFacts, salt: str) -> str:
    owner = now.cluster.metadata
    text = "|".join((owner.uid, str(now.asked), str(owner.generation), salt))
    return hashlib.sha256(text.encode()).hexdigest()[:_ID]


def _moment(now: RollingFacts) -> datetime:
    return now.observed.now.replace(microsecond=0)
