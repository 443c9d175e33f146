"""Effects of the workload step."""

from __future__ import annotations

from contracts.desired import Effect
from contracts.resolved import Resolved
from managers.access.context import Context
from runtime.errors import Conflict, NotFound
from runtime.resources import POD
from runtime.types import ObjectKey


async def replace_pod(context: Context, resolved: Resolved, effect: Effect) -> None:
    """Delete one pod, by UID: the StatefulSet makes it anew from the newest template."""
    try:
        await context.client.delete(
            POD, ObjectKey(resolved.namespace, effect.target), uid=effect.uid
        )
    except (NotFound, Conflict):
        # It is gone or another one has its name: what there is to see is on its way to us.
        return
    context.events.event(
        resolved.owner.identity(),
        "Normal",
        "PodReplaced",
        f"Replaced pod {effect.target}, which ran an older template",
    )
