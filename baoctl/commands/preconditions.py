"""The preconditions of a write to an object that a verb has read. Pure.

Called by baoctl.commands.cluster and baoctl.commands.datacenter.
"""

from __future__ import annotations

from runtime.types import Object, resource_version_of, uid_of


def version_precondition(live: Object) -> tuple[Object, ...]:
    """Return JSON patch operations that fail unless the object still has this version."""
    return (
        {"op": "test", "path": "/metadata/uid", "value": uid_of(live)},
        {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version_of(live)},
    )
