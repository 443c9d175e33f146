"""The decision of a reconcile about releases: made before resolve, read by resolve, plan, status.

Made by managers.upgrade.decide. No I/O.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.api.cluster.status_backup import BreakGlass
from contracts.api.cluster.status_upgrade import (
    BlueGreenStatus,
    UpgradeRequestsStatus,
    UpgradeStatus,
)
from contracts.conditions.condition import ConditionUpdate
from contracts.records.desired import CONTENT
from contracts.records.effects import Effect
from contracts.records.event import EventRecord
from contracts.records.resolved import PoolSpec
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
    """Done before the status is written; each may be repeated."""
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
    blue: PoolSpec | None = None
    """The pool that serves at first; None: the blue/green table did not decide."""
    green: PoolSpec | None = None
    """None: there is none yet, or none any more."""
    traffic: str = ""
    """Revision that the public Service selects; "" for the pool without one."""
    blue_green: BlueGreenStatus | None = None
    """`status.blueGreen` after this reconcile, where the blue/green table decided."""
    break_glass: BreakGlass | None = None
    """`status.breakGlass` after this reconcile, where the blue/green table decided."""
    announcements: tuple[EventRecord, ...] = ()
    """Events that are recorded once, after the status of this reconcile was written."""

    @property
    def is_blue_green(self) -> bool:
        """Whether the blue/green table decided."""
        return self.blue is not None

    def pool_of(self, revision: str) -> PoolSpec | None:
        """Return the pool of a revision, as it is rendered; None if it is not rendered."""
        return next((one for one in self._pools if one.revision == revision), None)

    def other_than(self, revision: str) -> PoolSpec | None:
        """Return the other pool than that of a revision; None for none."""
        return next((one for one in self._pools if one.revision != revision), None)

    @property
    def _pools(self) -> tuple[PoolSpec, ...]:
        return tuple(one for one in (self.blue, self.green) if one is not None)
