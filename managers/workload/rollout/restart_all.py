"""Restart of all pods at once after a restore replaced their data. Pure.

The restored data have another keyring for the connections between the servers (raft TLS), which a
server reads at start. So the first restarted server and the others cannot connect any more, and a
rollout would wait for ever before the next pod. That every server has the new data is verified
before, while they are connected: only then does `status.restore` name a restore
(managers.restore.server_recovery), and from then on nothing is verified. An operator that restarts
in the middle reads from the pods which are left.
"""

from __future__ import annotations

from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.workload.rollout.next_pod import RolloutAction

MESSAGE = "their data were replaced by a restore, so all servers are restarted at once"


def restart_all(resolved: Resolved, observed: Observed) -> RolloutAction | None:
    """Pick the pods of a pool that were created before the restore; None if there are none.

    No other pod is restarted: one that was created since has the new data in memory.
    """
    if not resolved.restored:
        return None
    behind = [pod for pod in observed.pods if pod.restored != resolved.restored]
    if not behind:
        return None
    live = observed.stateful_set
    if live is None or not live.settled:
        # A pod that is deleted now might be created from the previous template.
        return RolloutAction("restart", why=MESSAGE)
    return RolloutAction(
        "restart", why=MESSAGE, pods=tuple(pod for pod in behind if not pod.terminating)
    )
