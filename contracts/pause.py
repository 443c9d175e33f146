"""What a pause means for time: a period from a stored moment does not elapse during a pause.

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
    """Whether the status says that the cluster is paused."""
    return any(one.type == PAUSED and one.status == "True" for one in status.conditions)


def pause_acknowledged(cluster: OpenBaoCluster) -> bool:
    """Whether the status says so of the spec as it is, so that nothing is left to write."""
    status = cluster.status
    return is_paused(status) and status.observed_generation == cluster.metadata.generation


def resumed_at(cluster: OpenBaoCluster | None, now: datetime) -> datetime | None:
    """Return when the last pause ended; `now` while one lasts, None if there never was one.

    A pause ends with the status that says so. Before that, it ends at `now`.
    """
    if cluster is None:
        return None
    if cluster.spec.paused or is_paused(cluster.status):
        return now
    return cluster.status.resumed_at


def counted_from(moment: datetime, resumed: datetime | None) -> datetime:
    """The start of a period that began at a stored moment: it restarts after a pause."""
    return moment if resumed is None else max(moment, resumed)
