"""The lock of a rolling upgrade whose status was lost or edited."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from contracts.records.upgrade_decision import UpgradeDecision
from contracts.records.upgrade_effects import FreeLock
from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade.decide import decide_upgrade
from runtime.outcome import Blocked
from tests import gen

RUNS = "2.4.1"
OWN = {"operation": "Upgrade", "holder": UPGRADE_HOLDER, "epoch": 3}
OTHER = {"operation": "Restore", "holder": "openbaorestore/monday", "epoch": 3}


def decision_of(version: str, **status: Any) -> UpgradeDecision:
    """The decision about a cluster without status.upgrade."""
    known = {"release": {"version": RUNS}, "currentVersion": RUNS, **status}
    cluster = gen.cluster(version=version).initialized().with_status(**known)
    return decide_upgrade(cluster.read(), gen.running(cluster).facts(), timedelta(seconds=20))


def frees(decision: UpgradeDecision) -> bool:
    return FreeLock in {type(effect) for effect in decision.effects}


def test_the_lock_is_released_when_the_release_is_current() -> None:
    assert frees(decision_of(RUNS, operationLock=OWN))


def test_the_lock_is_released_when_the_release_is_refused() -> None:
    """Otherwise no backup could run until a user corrects the spec."""
    assert frees(decision_of("2.4.0", operationLock=OWN))


def test_after_the_release_the_refusal_is_reported() -> None:
    decision = decision_of("2.4.0")
    assert not decision.effects
    assert gen.expect(Blocked, decision.outcome).reason == "DowngradeBlocked"


def test_the_lock_of_another_holder_is_kept() -> None:
    for version in (RUNS, "2.4.0"):
        assert not frees(decision_of(version, operationLock=OTHER))
