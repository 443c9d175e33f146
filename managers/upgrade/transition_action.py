"""The actions of the state machines of upgrades: the side effects of a transition."""

from __future__ import annotations

from enum import StrEnum

from contracts.records import upgrade_effects


class UpgradeAction(StrEnum):
    """An action of a transition; the value is its label in the diagrams.

    Rolling upgrades use only the first two.
    """

    ACQUIRE_LOCK = upgrade_effects.AcquireLock.name
    MAKE_SNAPSHOT = upgrade_effects.MakeSnapshot.name
    MAKE_JOB = upgrade_effects.MakeJob.name
    MAKE_HOOK = upgrade_effects.MakeHook.name
    START_HOOK = upgrade_effects.StartHook.name
    DROP_HOOK = upgrade_effects.DropHook.name
    DELETE_POOL = upgrade_effects.DeleteStatefulSet.name
    DELETE_CLAIM = upgrade_effects.DeleteServerClaim.name
    BEGIN = "begin"
    DROP = "drop"
    GIVE_UP = "give-up"
    COUNT = "count-failure"
    NEXT_SNAPSHOT = "next-snapshot"
    RECORD_HOOK = "record-hook"
    FORGET_HOOK = "forget-hook"
    ENTER_BREAK_GLASS = "enter-break-glass"
    LEAVE_BREAK_GLASS = "leave-break-glass"
