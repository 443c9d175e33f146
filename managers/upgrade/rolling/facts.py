"""What the table of rolling upgrades is decided by: states, periods, and the facts of a reconcile.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import UpgradeRequestsStatus, UpgradeStatus
from contracts.records.observed import Observed
from contracts.records.upgrade import (
    Release,
)
from contracts.state_machine import Guard
from managers.operation_lock.decide import UPGRADE_HOLDER, held_by_another
from managers.upgrade.preflight.checks import PreflightResult, check

IDLE: Final = "Idle"
PREPARING: Final = "Preparing"
SNAPSHOT: Final = "Snapshot"
ROLLING: Final = "Rolling"
FAILED: Final = "Failed"

STEP_DOWN_DEADLINE: Final = timedelta(seconds=60)
"""How long a leader may go on leading after the Job that asks it was made."""
STEP_DOWN_AGAIN: Final = timedelta(seconds=20)
"""After which a leader that was asked leads because it was elected anew: it sleeps for ten seconds
before it may lead again."""
STEP_DOWN_TRIES: Final = 5
SOON: Final = 0.05
"""Seconds to the next pass when the next place is known."""
RECHECK: Final = 5.0
SNAPSHOT_RECHECK: Final = 2.0
ROLL_RECHECK: Final = 0.5
BUDGET_REFUSAL_MAX_AGE: Final = timedelta(minutes=1)
"""A refusal that is older is none any more: a closed budget is asked every 15 seconds at least."""


@dataclass(frozen=True, slots=True)
class RollingFacts:
    """What the guards look at. `cluster` is the CR as its user wrote it."""

    cluster: OpenBaoCluster
    observed: Observed
    accepted: Release
    deadline: timedelta

    @property
    def requested(self) -> Release:
        """What the spec asks for."""
        return Release.asked(self.cluster)

    @property
    def upgrade(self) -> UpgradeStatus:
        """What is known of the upgrade that goes on."""
        return self.cluster.status.upgrade or UpgradeStatus(target_version="", from_version="")

    @property
    def target(self) -> Release:
        """What the upgrade that goes on brings the servers to."""
        return Release(self.upgrade.target_version, self.upgrade.target_image or "")

    @property
    def rolled(self) -> bool:
        """Tell whether the target was accepted, so that pods may have it."""
        return self.target == self.accepted

    @property
    def holds_lock(self) -> bool:
        """Tell whether the operation lock is ours."""
        lock = self.cluster.status.operation_lock
        return lock is not None and lock.holder == UPGRADE_HOLDER

    @property
    def other_holder(self) -> str:
        """Name who else has the operation lock; "" if nobody has."""
        return held_by_another(self.cluster.status.operation_lock, UPGRADE_HOLDER)

    @property
    def retry(self) -> str:
        """The order to try again that was not carried out yet; "" if there is none."""
        requests = self.cluster.spec.upgrade.requests if self.cluster.spec.upgrade else None
        handled = self.cluster.status.upgrade_requests or UpgradeRequestsStatus()
        token = (requests.retry if requests else None) or ""
        return "" if token == handled.last_handled_retry else token

    @property
    def wants_snapshot(self) -> bool:
        """Tell whether a snapshot comes first, and none was made yet."""
        upgrade = self.cluster.spec.upgrade
        snapshot = self.observed.upgrade.snapshot
        return bool(upgrade and upgrade.pre_upgrade_snapshot) and not (
            snapshot and snapshot.phase == "Completed"
        )

    def verdict(self, *, resuming: bool) -> PreflightResult:
        """Judge what the spec asks for."""
        return check(self.cluster, self.observed, self.requested, resuming=resuming)


RollingGuard = Guard[RollingFacts]


def state_of(status: ClusterStatus) -> str:
    """Where an upgrade is, told by the status alone."""
    upgrade = status.upgrade
    if upgrade is None:
        return IDLE
    return FAILED if upgrade.failure is not None else upgrade.phase
