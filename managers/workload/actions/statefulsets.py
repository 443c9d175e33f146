"""The effect of the read replicas: their StatefulSet goes when the last of them is gone."""

from __future__ import annotations

from contracts.records.desired import Effect
from contracts.records.resolved import Resolved
from managers.context.context import Context
from runtime.builtin_kinds import STATEFUL_SET
from runtime.errors import Conflict, NotFound
from runtime.types import ObjectKey


async def delete_read_set(context: Context, resolved: Resolved, effect: Effect) -> None:
    """Delete an empty StatefulSet, by UID; its pods would be orphans, so there are none.

    Orphan, so that a pod which appeared meanwhile is not ended behind the back of its raft cluster.
    """
    try:
        await context.client.delete(
            STATEFUL_SET,
            ObjectKey(resolved.namespace, effect.target),
            uid=effect.uid,
            propagation="Orphan",
        )
    except (NotFound, Conflict):
        # It is gone or another one has its name: what there is to see is on its way to us.
        return
    context.events.event(
        resolved.owner.identity(),
        "Normal",
        "ReadReplicasRemoved",
        f"Deleted StatefulSet {effect.target}: its last pod is gone",
    )
