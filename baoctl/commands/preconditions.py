"""What must hold when a verb writes an object that it has read. Pure.

Called by baoctl.commands.cluster and baoctl.commands.datacenter.
"""

from __future__ import annotations

from runtime.types import Object, resource_version_of, uid_of


def unchanged(live: Object) -> tuple[Object, ...]:
    """Return the JSON patch operations that hold for this version of an object alone."""
    return (
        {"op": "test", "path": "/metadata/uid", "value": uid_of(live)},
        {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version_of(live)},
    )
