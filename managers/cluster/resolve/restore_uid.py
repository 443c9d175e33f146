"""The last restore after which servers have to be created, by the status and by the servers. Pure.

Called by managers.cluster.resolve.resolve.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.api.cluster.status import ClusterStatus
from contracts.records.observed import PodFacts, StatefulSetFacts


def restore_uid(
    status: ClusterStatus, live: StatefulSetFacts | None, pods: Sequence[PodFacts]
) -> str:
    """Return the UID of the last restore after which servers have to be created; "" for none.

    After a completed restore all servers carry its annotation. If none does, the status is not that
    of these servers, and a restart of all of them would be an outage.
    """
    accepted = status.restore
    uid = (accepted.uid if accepted else None) or ""
    if live is None or live.restore_uid == uid:
        return uid
    finished = accepted is None or accepted.restart_completed_at is not None
    if not finished or any(pod.restore_uid == uid for pod in pods if uid):
        return uid
    return live.restore_uid
