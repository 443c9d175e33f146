"""The phases of a blue/green upgrade, and what each does. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contracts.jobs import upgrade_actions

IDLE: Final = "Idle"
DEPLOYING: Final = "DeployingGreen"
JOINING: Final = "JoiningMesh"
SYNCING: Final = "Syncing"
PROMOTING: Final = "Promoting"
DEMOTING: Final = "DemotingBlue"
CLEANUP: Final = "Cleanup"
RESTORING: Final = "RestoringReadReplicas"
ROLLING_BACK: Final = "RollingBack"
ROLLBACK_CLEANUP: Final = "RollbackCleanup"

ACTIONS: Final[Mapping[str, str]] = {
    JOINING: upgrade_actions.JOIN,
    SYNCING: upgrade_actions.WAIT,
    PROMOTING: upgrade_actions.PROMOTE,
    DEMOTING: upgrade_actions.DEMOTE,
    CLEANUP: upgrade_actions.REMOVE_BLUE,
    ROLLING_BACK: upgrade_actions.REPAIR,
    ROLLBACK_CLEANUP: upgrade_actions.REMOVE_GREEN,
}
"""The action of the Job of each phase; the other phases have no Job."""

ON_GREEN: Final = (DEMOTING, CLEANUP)
"""Phases in which the public Service selects green; in the phase after them green becomes blue."""
