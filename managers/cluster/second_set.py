"""All objects of a second set of voters. Pure.

Nobody wants one yet: the upgrade by a second set adds them to the plan while it goes on.
"""

from __future__ import annotations

from contracts.resolved import Resolved
from contracts.sets import Green
from managers.bootstrap.plan import config_map
from managers.workload.green import green_set, green_view
from managers.workload.plan import Inputs
from runtime.intent import Intent


def second_set(resolved: Resolved, green: Green, serving: Inputs) -> tuple[Intent, ...]:
    """Build the configuration and the StatefulSet, in the order in which they are applied.

    `resolved` and `serving` are those of the set that serves. Raises UnwritableError as
    `contracts.hcl.render.render_config` does.
    """
    meant = green_view(resolved, green)
    return config_map(meant), green_set(meant, serving)
