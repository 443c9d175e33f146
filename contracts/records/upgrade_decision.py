"""The decision of a reconcile about releases: made before resolve, read by resolve, plan, status.

Made by managers.upgrade.decide. No I/O.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.api.cluster.status_upgrade import UpgradeRequestsStatus, UpgradeStatus
from contracts.conditions.condition import ConditionUpdate
from contracts.records.bluegreen import BlueGreenDecision
from contracts.records.desired import CONTENT
from contracts.records.effects import Effect
from contracts.records.upgrade import Release, StepDownJob
from runtime.outcome import Outcome


@dataclass(frozen=True, slots=True)
class UpgradeDecision:
    """What one reconcile does about releases, decided before anything else."""

    release: Release
    """What servers are rendered with in this reconcile."""
    halt: str = ""
    """Why no pod may be touched at all; "" when nothing speaks against it."""
    hand_over: StepDownJob | None = None
    """None: no Job asks a leader to step down; it steps down when its pod is stopped."""
    outcome: Outcome = CONTENT
    effects: tuple[Effect, ...] = ()
    state: str = ""
    """The state of the machine after this reconcile."""
    upgrade: UpgradeStatus | None = None
    """`status.upgrade` after this reconcile, without what only pods can tell."""
    requests: UpgradeRequestsStatus | None = None
    accepted: Release | None = None
    """`status.release` after this reconcile."""
    finding: ConditionUpdate | None = None
    """The condition Upgrading; None while nothing was ever upgraded."""
    hold_reads: bool = False
    """No read replica is replaced either; its turn comes later."""
    blue_green: BlueGreenDecision | None = None
    """The decision about a blue/green upgrade; None: nothing."""
