"""How many green servers may be raft members, in addition to the serving ones. Pure.

Called by the adminops reconciler and by the conditions, so that both expect the same number.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.pools.voter_pool import CLEANUP_PHASE, voter_pools


def green_member_count(cluster: OpenBaoCluster | None) -> int:
    """Return the number as it was when the upgrade began; 0 without an upgrade."""
    status = cluster.status.blue_green if cluster else None
    if cluster is None or status is None or status.phase == "Idle" or len(voter_pools(cluster)) < 2:
        return 0
    members = status.blue_replicas if status.phase == CLEANUP_PHASE else status.green_replicas
    return members or cluster.spec.replicas
