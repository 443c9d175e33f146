"""The part of a spec that takes effect: the accepted release, and what an operation delays. Pure.

Without the state machines of an upgrade. Called by managers.upgrade, managers.cluster and
`baoctl upgrade plan`.
"""

from __future__ import annotations

from collections.abc import Mapping

import semver

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.pools.fenced_pods import effective_fences
from contracts.records.bluegreen_phases import CLEANUP
from contracts.records.upgrade import Release, blue_green_under_way
from managers.operation_lock.holders import restore_in_progress
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


def frozen_replicas(cluster: OpenBaoCluster) -> int | None:
    """Return the replicas of the serving pool during an upgrade; None: those of the spec."""
    status = cluster.status.blue_green
    if status is None or not blue_green_under_way(cluster.status.blue_green):
        return None
    return status.green_replicas if status.phase == CLEANUP else status.blue_replicas


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


def green_release(cluster: OpenBaoCluster) -> Release | None:
    """Return the release of green; None without green."""
    status = cluster.status.blue_green
    return Release.green(status) if status is not None and status.green_revision else None


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
