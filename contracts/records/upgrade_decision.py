"""The decision of a reconcile about upgrades, for the steps resolve, plan and status.

Created by managers.upgrade.decide. No I/O.
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
    """The decision of one reconcile about upgrades, made before all others."""

    release: Release
    """The release with which this reconcile renders the servers."""
    hold_reason: str = ""
    """Why no pod may be changed; "" if pods may be changed."""
    step_down_job: StepDownJob | None = None
    """None: no Job asks a leader to step down; it steps down when its pod is stopped."""
    outcome: Outcome = CONTENT
    effects: tuple[Effect, ...] = ()
    """Run before the status is written; each may be repeated."""
    state: str = ""
    """The state of the state machine after this reconcile."""
    upgrade: UpgradeStatus | None = None
    """`status.upgrade` after this reconcile, without the fields that depend on pods."""
    requests: UpgradeRequestsStatus | None = None
    accepted: Release | None = None
    """`status.release` after this reconcile."""
    finding: ConditionUpdate | None = None
    """The condition Upgrading; None before the first upgrade."""
    hold_read_replicas: bool = False
    """Read replicas are not replaced yet."""
    blue: PoolSpec | None = None
    """The pool that serves at first; None: the blue/green table did not decide."""
    green: PoolSpec | None = None
    """None: it does not exist yet, or no longer."""
    traffic: str = ""
    """Revision that the public Service selects; "" for the pool without a revision."""
    blue_green: BlueGreenStatus | None = None
    """`status.blueGreen` after this reconcile, if the blue/green table decided."""
    break_glass: BreakGlass | None = None
    """`status.breakGlass` after this reconcile, if the blue/green table decided."""
    events: tuple[EventRecord, ...] = ()
    """Events to record once, after the status of this reconcile was written."""

    @property
    def is_blue_green(self) -> bool:
        """Whether the blue/green table decided."""
        return self.blue is not None

    def pool_of(self, revision: str) -> PoolSpec | None:
        """Return the pool of a revision; None if this reconcile does not render it."""
        return next((pool for pool in self._pools if pool.revision == revision), None)

    def other_than(self, revision: str) -> PoolSpec | None:
        """Return the pool with another revision; None without one."""
        return next((pool for pool in self._pools if pool.revision != revision), None)

    @property
    def _pools(self) -> tuple[PoolSpec, ...]:
        return tuple(pool for pool in (self.blue, self.green) if pool is not None)
