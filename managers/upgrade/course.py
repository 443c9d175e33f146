"""What one pass does about releases, decided before anything is resolved. Pure.

The servers are brought to `status.release` and to nothing else: an edit of spec.version or
spec.image takes effect when the table says so (managers.upgrade.rolling).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import semver

from contracts.api.cluster import OpenBaoCluster
from contracts.api.status_upgrade import UpgradeRequestsStatus
from contracts.machine import decide
from contracts.observed import Observed
from contracts.upgrade import Course, Release
from managers.oplock.plan import UPGRADE_HOLDER
from managers.upgrade.condition import upgrading
from managers.upgrade.rolling import ROWS, Situation, place_of
from managers.upgrade.turns import carried_out
from runtime.memo import remembered


@remembered
def accepted(cluster: OpenBaoCluster) -> Release:
    """Say which release the servers of a cluster have been told to run.

    A status that an older operator wrote names none: then it is what runs, if that is known.
    """
    known, asked = Release.accepted(cluster), Release.asked(cluster)
    if not cluster.status.initialized:
        return asked
    if known is not None:
        return known
    running = cluster.status.current_version
    if not running or running == asked.version:
        return asked
    # Of an image that the spec named before, nobody knows any more what it was.
    newer = asked.image and not _is_older(asked.version, running)
    return asked if newer else Release(running, asked.image)


def _is_older(wanted: str, running: str) -> bool:
    try:
        return semver.Version.parse(wanted) < semver.Version.parse(running)
    except ValueError:
        return True


@remembered
def as_accepted(cluster: OpenBaoCluster) -> OpenBaoCluster:
    """Return the cluster as if its spec asked for the accepted release; itself if it does."""
    release = accepted(cluster)
    if release == Release.asked(cluster):
        return cluster
    spec = cluster.spec.model_copy(
        update={"version": release.version, "image": release.image or None}
    )
    return cluster.model_copy(update={"spec": spec})


@remembered
def at_rest(cluster: OpenBaoCluster) -> Course | None:
    """Answer for the many passes in which there is nothing to decide; None when there is."""
    release, status = accepted(cluster), cluster.status
    lock = status.operation_lock
    busy = (
        status.upgrade is not None
        or (lock is not None and lock.holder == UPGRADE_HOLDER)
        or release != Release.asked(cluster)
        or _ordered(cluster)
    )
    if busy and status.initialized:
        return None
    course = Course(
        release=release, place="Idle", accepted=release, requests=status.upgrade_requests
    )
    return replace(course, finding=upgrading(cluster, course))


def wants_facts(cluster: OpenBaoCluster) -> bool:
    """Tell whether the pass has something to decide that needs more than the caches."""
    return cluster.status.initialized and at_rest(cluster) is None


def direct(cluster: OpenBaoCluster, observed: Observed, deadline: timedelta) -> Course:
    """Decide what this pass does about releases. `cluster` is the CR as its user wrote it.

    `deadline`: how long one server may take to come back in the new release.
    """
    still = at_rest(cluster)
    if still is not None:
        return still
    situation = Situation(cluster, observed, accepted(cluster), deadline)
    decision = decide(ROWS, place_of(cluster.status), situation)
    return carried_out(situation, decision)


def _ordered(cluster: OpenBaoCluster) -> bool:
    """Tell whether an order to try again waits for an answer."""
    requests = cluster.spec.upgrade.requests if cluster.spec.upgrade else None
    done = cluster.status.upgrade_requests or UpgradeRequestsStatus()
    token = requests.retry if requests else None
    return bool(token) and token != done.last_handled_retry
