"""What a pause means for time: whatever is measured from a stored moment stands still meanwhile.

Pure. Used by every feature that gives something up after a while.
"""

from __future__ import annotations

from datetime import datetime

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus
from runtime.memo import memoize

PAUSED = "Paused"


@memoize
def is_told(status: ClusterStatus) -> bool:
    """Tell whether the status says that the cluster is paused."""
    return any(one.type == PAUSED and one.status == "True" for one in status.conditions)


def pause_acknowledged(cluster: OpenBaoCluster) -> bool:
    """Tell whether the status says so of the spec as it is, so that nothing is left to write."""
    status = cluster.status
    return is_told(status) and status.observed_generation == cluster.metadata.generation


def resumed_at(cluster: OpenBaoCluster | None, now: datetime) -> datetime | None:
    """Say when the last pause ended; `now` while one lasts, None if there never was one.

    A pause ends with the status that says so. Whoever looks before that sees it end now.
    """
    if cluster is None:
        return None
    if cluster.spec.paused or is_told(cluster.status):
        return now
    return cluster.status.resumed_at


def counted_from(moment: datetime, resumed: datetime | None) -> datetime:
    """From when a period is counted that began at a stored moment: it begins anew after a pause."""
    return moment if resumed is None else max(moment, resumed)
