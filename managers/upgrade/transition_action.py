"""The actions of the state machines of upgrades: the side effects of a transition."""

from __future__ import annotations

from enum import StrEnum

from contracts.records import effects


class UpgradeAction(StrEnum):
    """An action of a transition; the value is its label in the diagrams.

    Rolling upgrades use only the first two.
    """

    ACQUIRE_LOCK = effects.AcquireLock.name
    MAKE_SNAPSHOT = effects.MakeSnapshot.name
    MAKE_JOB = effects.MakeJob.name
    MAKE_HOOK = effects.MakeHook.name
    START_HOOK = effects.StartHook.name
    DROP_HOOK = effects.DropHook.name
    DELETE_POOL = effects.DeleteStatefulSet.name
    DELETE_CLAIM = effects.DeleteServerClaim.name
    BEGIN = "begin"
    DROP = "drop"
    GIVE_UP = "give-up"
    COUNT = "count-failure"
    NEXT_SNAPSHOT = "next-snapshot"
    RECORD_HOOK = "record-hook"
    FORGET_HOOK = "forget-hook"
    ENTER_BREAK_GLASS = "enter-break-glass"
    LEAVE_BREAK_GLASS = "leave-break-glass"
