"""Inputs of the table of rolling upgrades: states, periods, and the facts of a reconcile. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.records.observed import Observed
from contracts.records.upgrade import Release
from contracts.state_machine import Guard
from managers.operation_lock.decide import held_by_another
from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade.preflight.checks import PreflightResult, check

IDLE: Final = "Idle"
PREPARING: Final = "Preparing"
SNAPSHOT: Final = "Snapshot"
ROLLING: Final = "Rolling"
FAILED: Final = "Failed"

STEP_DOWN_DEADLINE: Final = timedelta(seconds=60)
"""How long a server may still lead after its step-down Job was created."""
STEP_DOWN_AGAIN: Final = timedelta(seconds=20)
"""A server that leads this long after a successful Job was elected again: after a step-down a
server cannot become the leader for ten seconds."""
STEP_DOWN_TRIES: Final = 5
SOON: Final = 0.05
"""Seconds to the next reconcile when the next state is known."""
RECHECK: Final = 5.0
SNAPSHOT_RECHECK: Final = 2.0
ROLL_RECHECK: Final = 0.5
USER_HOLDS: Final = ("Hibernated", "PodsFenced", "Maintenance")
"""Reasons of the preflight checks for settings of the user that hold a rollout."""
BUDGET_REFUSAL_MAX_AGE: Final = timedelta(minutes=1)
"""An older refusal is ignored: the operator retries an eviction at least every 15 seconds."""


@dataclass(frozen=True, slots=True)
class RollingFacts:
    """Inputs of the guards. `cluster` is the CR as the user wrote it."""

    cluster: OpenBaoCluster
    observed: Observed
    accepted: Release
    deadline: timedelta

    @property
    def requested(self) -> Release:
        """The release that the spec requests."""
        return Release.requested(self.cluster)

    @property
    def upgrade(self) -> UpgradeStatus:
        """The status of the upgrade in progress."""
        return self.cluster.status.upgrade or UpgradeStatus(target_version="", from_version="")

    @property
    def target(self) -> Release:
        """The target release of the upgrade in progress."""
        return Release(self.upgrade.target_version, self.upgrade.target_image or "")

    @property
    def pods_may_run_target(self) -> bool:
        """Report whether the target was accepted, so that pods may run it."""
        return self.target == self.accepted

    @property
    def holds_lock(self) -> bool:
        """Report whether an upgrade holds the operation lock."""
        lock = self.cluster.status.operation_lock
        return lock is not None and lock.holder == UPGRADE_HOLDER

    @property
    def other_holder(self) -> str:
        """The other holder of the operation lock; "" if there is none."""
        return held_by_another(self.cluster.status.operation_lock, UPGRADE_HOLDER)

    @property
    def retry(self) -> str:
        """The retry request that was not handled yet; "" if there is none."""
        return self.cluster.pending_upgrade_requests.get("retry", "")

    @property
    def wants_snapshot(self) -> bool:
        """Report whether a snapshot is required first, and none is complete yet."""
        upgrade = self.cluster.spec.upgrade
        snapshot = self.observed.upgrade.snapshot
        return bool(upgrade and upgrade.pre_upgrade_snapshot) and not (
            snapshot and snapshot.phase == "Completed"
        )

    def verdict(self, *, resuming: bool) -> PreflightResult:
        """Run the preflight checks for the requested release."""
        return check(self.cluster, self.observed, self.requested, resuming=resuming)


RollingGuard = Guard[RollingFacts]


def state_of(status: ClusterStatus) -> str:
    """Return the state of an upgrade from the status alone."""
    upgrade = status.upgrade
    if upgrade is None:
        return IDLE
    return FAILED if upgrade.failure is not None else upgrade.phase
