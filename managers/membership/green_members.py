"""How many servers of a second set may be members of raft, beside those that serve. Pure.

Called by the adminops reconciler and by the conditions, so that both expect the same.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.pools.voter_pool import NO_WAY_BACK, voter_sets


def green_member_count(cluster: OpenBaoCluster | None) -> int:
    """Count them as they were when the upgrade began; 0 while none goes on."""
    status = cluster.status.blue_green if cluster else None
    if cluster is None or status is None or status.phase == "Idle" or len(voter_sets(cluster)) < 2:
        return 0
    other = status.blue_replicas if status.phase == NO_WAY_BACK else status.green_replicas
    return other or cluster.spec.replicas
