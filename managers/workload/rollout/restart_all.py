"""Restart of all pods at once after a restore replaced their data. Pure.

The restored data has another keyring for the connections between the servers (raft TLS), which a
server reads when it starts. So the first restarted server cannot connect to the others, and a
rollout would wait forever before the next pod. While they are connected, the operator verifies that
every server has the new data: `status.restore` names a restore only after that
(managers.restore.server_recovery), and no check follows. An operator that restarts in between finds
the remaining pods by their annotation.
"""

from __future__ import annotations

from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.workload.rollout.next_pod import RolloutAction

MESSAGE = "a restore replaced their data, so all servers are restarted together"


def restart_all(resolved: Resolved, observed: Observed) -> RolloutAction | None:
    """Pick the pods of a pool that were created before the restore; None if there are none.

    A pod that was created after the restore has the new data in memory, and is not restarted.
    """
    if not resolved.restore_uid:
        return None
    behind = [pod for pod in observed.pods if pod.restore_uid != resolved.restore_uid]
    if not behind:
        return None
    live = observed.stateful_set
    if live is None or not live.generation_observed:
        # A pod that is deleted now might be created from the previous template.
        return RolloutAction("restart", why=MESSAGE)
    return RolloutAction(
        "restart", why=MESSAGE, pods=tuple(pod for pod in behind if not pod.terminating)
    )
