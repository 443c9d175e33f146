"""Effect of the read replicas: deletion of their StatefulSet after the last pod."""

from __future__ import annotations

from contracts.records.effects import DeleteReadStatefulSet
from contracts.records.resolved import Resolved
from managers.context.context import Context
from managers.context.effect_events import record_normal
from runtime.builtin_kinds import STATEFUL_SET
from runtime.errors import Conflict, NotFound
from runtime.types import ObjectKey


async def delete_read_stateful_set(
    context: Context, resolved: Resolved, effect: DeleteReadStatefulSet
) -> None:
    """Delete a StatefulSet that has no pods, by UID.

    With Orphan, a pod that was created meanwhile does not terminate while it is a raft member.
    """
    try:
        await context.client.delete(
            STATEFUL_SET,
            ObjectKey(resolved.namespace, effect.target),
            uid=effect.uid,
            propagation="Orphan",
        )
    except (NotFound, Conflict):
        # It is deleted or replaced: the watch will report it.
        return
    record_normal(
        context,
        resolved.owner,
        "ReadReplicasRemoved",
        f"Deleted StatefulSet {effect.target}: its last pod was deleted",
    )
