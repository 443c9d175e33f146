"""Timeouts and pauses: a period that starts at a stored time restarts after a pause.

Pure. Used by every feature with a timeout.
"""

from __future__ import annotations

from datetime import datetime

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus
from runtime.memo import memoize

PAUSED = "Paused"


@memoize
def is_paused(status: ClusterStatus) -> bool:
    """Return whether the status reports the cluster as paused."""
    return any(item.type == PAUSED and item.status == "True" for item in status.conditions)


def pause_acknowledged(cluster: OpenBaoCluster) -> bool:
    """Return whether the status already reports the pause of the present spec."""
    status = cluster.status
    return is_paused(status) and status.observed_generation == cluster.metadata.generation


def resumed_at(cluster: OpenBaoCluster | None, now: datetime) -> datetime | None:
    """Return when the last pause ended; `now` during a pause, None if there was none.

    A pause ends when the status reports its end.
    """
    if cluster is None:
        return None
    if cluster.spec.paused or is_paused(cluster.status):
        return now
    return cluster.status.resumed_at


def counted_from(moment: datetime, resumed: datetime | None) -> datetime:
    """Return the start of a period: the stored time, or the end of a later pause."""
    return moment if resumed is None else max(moment, resumed)
