"""Which pods go after the data of their servers were replaced: all of them, at once. Pure.

The replaced data hold another keyring for the connections between the servers (raft TLS), which a
server reads when it starts. So the first one that is restarted and the others cannot talk any more,
and what a roll waits for before it takes the next pod would never come. That every server has the
new data is proven before, while they still talk: only then does `status.restore` name a restore
(managers.restore.server_recovery), and from then on no proof is asked for. An operator that begins
anew in the middle finds in the pods who is left.
"""

from __future__ import annotations

from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.workload.rollout.next_pod import RolloutAction

MESSAGE = "their data were replaced by a restore, so all servers are restarted at once"


def restart_all(resolved: Resolved, observed: Observed) -> RolloutAction | None:
    """Pick the pods of a pool that were made before its data were replaced; None if none was.

    None of the others is touched: who was made since has the new data in memory.
    """
    if not resolved.restored:
        return None
    behind = [pod for pod in observed.pods if pod.restored != resolved.restored]
    if not behind:
        return None
    live = observed.stateful_set
    if live is None or not live.settled:
        # A pod that is deleted now might be made from the template before.
        return RolloutAction("restart", why=MESSAGE)
    return RolloutAction(
        "restart", why=MESSAGE, pods=tuple(pod for pod in behind if not pod.terminating)
    )
