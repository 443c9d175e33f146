"""The upgrade decision of one reconcile, before the resolve step. Pure.

The servers only run `status.release`: an edit of spec.version or spec.image takes effect when a
state machine accepts it. An upgrade in progress selects the state machine, otherwise
spec.upgrade.strategy (managers.upgrade.rolling.table, managers.upgrade.bluegreen.facts). Called by
managers.cluster.reconcile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import semver

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.pools.fenced_pods import effective_fences
from contracts.records.observed import Observed
from contracts.records.upgrade import Release, blue_green_under_way
from contracts.records.upgrade_decision import UpgradeDecision
from contracts.state_machine import decide
from managers.operation_lock.decide import UPGRADE_HOLDER, restore_in_progress
from managers.upgrade.bluegreen.decide import decide_step
from managers.upgrade.bluegreen.facts import decides, facts_of, frozen_replicas, green_release
from managers.upgrade.condition import upgrading
from managers.upgrade.rolling.facts import RollingFacts, state_of
from managers.upgrade.rolling.outcome import upgrade_decision_of
from managers.upgrade.rolling.table import TRANSITIONS
from runtime.memo import memoize
from runtime.outcome import Wait


@memoize
def accepted_release(cluster: OpenBaoCluster) -> Release:
    """Return the accepted release of a cluster.

    The status of an older operator does not record one: then it is the running release, if known.
    """
    stored, requested = Release.accepted(cluster), Release.requested(cluster)
    if not cluster.status.initialized:
        return requested
    if stored is not None:
        return stored
    running = Release.running(cluster).version
    if running in ("", requested.version):
        return requested
    # The image of an earlier spec is unknown.
    newer = requested.image and not _is_older(requested.version, running)
    return requested if newer else Release(running, requested.image)


def _is_older(requested: str, running: str) -> bool:
    try:
        return semver.Version.parse(requested) < semver.Version.parse(running)
    except ValueError:
        return True


def hibernation_delay(cluster: OpenBaoCluster) -> Wait | None:
    """Return the operation that a requested hibernation waits for; None if servers may stop."""
    if not cluster.spec.hibernate:
        return None
    restore = restore_in_progress(cluster.status)
    if restore:
        # A server that stops without the restored data could never replicate it from the others.
        message = f"the servers stop when all of them have the data that {restore} restores"
        return Wait("RestoreInProgress", f"spec.hibernate is true: {message}")
    if blue_green_under_way(cluster.status.blue_green):
        message = "the servers stop after the blue/green upgrade"
        return Wait("UpgradeInProgress", f"spec.hibernate is true: {message}")
    return None


def with_effective_hibernation(cluster: OpenBaoCluster) -> OpenBaoCluster:
    """Return the cluster without a hibernation that has to wait; itself if there is none."""
    return cluster if hibernation_delay(cluster) is None else _with(cluster, {"hibernate": False})


@memoize
def with_accepted_release(cluster: OpenBaoCluster) -> OpenBaoCluster:
    """Return the cluster as if its spec requested the accepted release; itself if it does.

    During a blue/green upgrade replicas stay frozen. Hibernation waits for it, and for a restore.
    """
    release, frozen = accepted_release(cluster), frozen_replicas(cluster)
    changes: dict[str, object] = {"fenced_pods": effective_fences(cluster)}
    if release != Release.requested(cluster):
        changes |= {"version": release.version, "image": release.image or None}
    if frozen is not None:
        changes |= {"replicas": frozen}
    if hibernation_delay(cluster) is not None:
        changes |= {"hibernate": False}
    return _with(cluster, changes)


@memoize
def with_target_release(cluster: OpenBaoCluster) -> OpenBaoCluster | None:
    """Return the cluster as if its spec requested the release of green; None without green."""
    target = green_release(cluster)
    if target is None:
        return None
    return _with(cluster, {"version": target.version, "image": target.image or None})


def _with(cluster: OpenBaoCluster, changes: Mapping[str, object]) -> OpenBaoCluster:
    same = all(getattr(cluster.spec, name) == value for name, value in changes.items())
    if same:
        return cluster
    return cluster.model_copy(update={"spec": cluster.spec.model_copy(update=dict(changes))})


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
