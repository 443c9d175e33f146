"""The upgrade decision of one reconcile, before the resolve step. Pure.

The servers only run `status.release`: an edit of spec.version or spec.image takes effect when a
state machine accepts it. An upgrade in progress selects the state machine, otherwise
spec.upgrade.strategy (managers.upgrade.rolling.table, managers.upgrade.bluegreen.facts). Called by
managers.cluster.reconcile.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.records.observed import Observed
from contracts.records.upgrade import Release, blue_green_under_way
from contracts.records.upgrade_decision import UpgradeDecision
from contracts.state_machine import decide
from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade.bluegreen.decide import decide_step
from managers.upgrade.bluegreen.facts import decides, facts_of
from managers.upgrade.condition import upgrading
from managers.upgrade.effective_spec import accepted_release
from managers.upgrade.rolling.facts import RollingFacts, state_of
from managers.upgrade.rolling.outcome import upgrade_decision_of
from managers.upgrade.rolling.table import TRANSITIONS
from runtime.memo import memoize


@memoize
def idle_decision(cluster: OpenBaoCluster) -> UpgradeDecision | None:
    """Return the decision of an idle reconcile; None when an upgrade has something to decide."""
    release, status = accepted_release(cluster), cluster.status
    lock = status.operation_lock
    active = (
        status.upgrade is not None
        or (lock is not None and lock.holder == UPGRADE_HOLDER)
        or release != Release.requested(cluster)
        or bool(cluster.pending_upgrade_requests)
        or blue_green_under_way(cluster.status.blue_green)
        or (status.break_glass is not None and status.break_glass.active)
    )
    if active and status.initialized:
        return None
    decision = UpgradeDecision(
        release=release, state="Idle", accepted=release, requests=status.upgrade_requests
    )
    return replace(decision, finding=upgrading(cluster, decision))


def needs_facts(cluster: OpenBaoCluster) -> bool:
    """Report whether the decision needs facts that are not in the caches."""
    return cluster.status.initialized and idle_decision(cluster) is None


def decide_upgrade(
    cluster: OpenBaoCluster, observed: Observed, deadline: timedelta
) -> UpgradeDecision:
    """Decide which release to run. `cluster` is the CR as the user wrote it.

    `deadline`: how long one server may take to become ready with the new release.
    """
    idle = idle_decision(cluster)
    if idle is not None:
        return idle
    release = accepted_release(cluster)
    if decides(cluster):
        decision = decide_step(facts_of(cluster, observed, release))
        return replace(decision, finding=upgrading(cluster, decision))
    facts = RollingFacts(cluster, observed, release, deadline)
    transition = decide(TRANSITIONS, state_of(cluster.status), facts)
    return upgrade_decision_of(facts, transition)
