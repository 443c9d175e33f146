"""The effects and the status change of each action of a blue/green upgrade. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from contracts.api.cluster.status_upgrade import BlueGreenStatus
from contracts.records.bluegreen import BlueGreenFacts
from contracts.records.effects import Effect
from contracts.state_machine import TransitionDecision
from managers.upgrade.bluegreen import effects, status
from managers.upgrade.transition_action import UpgradeAction

Choice = TransitionDecision[BlueGreenFacts]


@dataclass(frozen=True, slots=True)
class ActionRule:
    """One action. Its effects run before the status is written, and are idempotent."""

    effects: Callable[[BlueGreenFacts], tuple[Effect, ...]] = lambda _: ()
    replace: Callable[[BlueGreenFacts, Choice], BlueGreenStatus] | None = None
    """Returns the status that replaces the current one."""
    change: Callable[[BlueGreenFacts, Choice], dict[str, Any]] = lambda *_: {}
    """Returns the fields that change within the phase."""
    event: tuple[Literal["Normal", "Warning"], str] | None = None
    """Type and reason of the event."""


ACTION_RULES: Final[Mapping[str, ActionRule]] = {
    "": ActionRule(),
    UpgradeAction.ACQUIRE_LOCK: ActionRule(effects.take_lock),
    UpgradeAction.MAKE_SNAPSHOT: ActionRule(effects.make_snapshot),
    UpgradeAction.MAKE_JOB: ActionRule(effects.make_job),
    UpgradeAction.MAKE_HOOK: ActionRule(effects.make_hook),
    UpgradeAction.START_HOOK: ActionRule(effects.start_hook),
    UpgradeAction.DROP_HOOK: ActionRule(effects.drop_hook, change=status.with_hook),
    UpgradeAction.DELETE_POOL: ActionRule(effects.delete_stateful_set),
    UpgradeAction.DELETE_CLAIM: ActionRule(effects.delete_claims),
    UpgradeAction.BEGIN: ActionRule(replace=status.begin, event=("Normal", "UpgradeStarted")),
    UpgradeAction.DROP: ActionRule(replace=status.drop),
    UpgradeAction.GIVE_UP: ActionRule(replace=status.abort, event=("Warning", "UpgradeFailed")),
    UpgradeAction.COUNT: ActionRule(change=status.with_failure),
    UpgradeAction.NEXT_SNAPSHOT: ActionRule(change=status.with_next_snapshot),
    UpgradeAction.RECORD_HOOK: ActionRule(change=status.with_hook),
    UpgradeAction.FORGET_HOOK: ActionRule(effects.drop_hook, change=status.without_hook),
    UpgradeAction.ENTER_BREAK_GLASS: ActionRule(event=("Warning", "BreakGlassEntered")),
    UpgradeAction.LEAVE_BREAK_GLASS: ActionRule(
        change=status.with_next_rollback, event=("Normal", "BreakGlassAcknowledged")
    ),
}


def rule_of(choice: Choice) -> ActionRule:
    """Return the rule of the action of a transition."""
    return ACTION_RULES[choice.transition.action]


def status_after(facts: BlueGreenFacts, choice: Choice) -> BlueGreenStatus | None:
    """Return `status.blueGreen` after a reconcile; the same object when nothing changed."""
    rule = rule_of(choice)
    if rule.replace is not None:
        return rule.replace(facts, choice)
    if choice.next != choice.transition.at:
        changes = status.after_transition(facts, choice)
    else:
        changes = {**status.clocks(facts), **rule.change(facts, choice)}
    return facts.status.model_copy(update=changes) if changes else facts.cluster.status.blue_green
