"""Preflight checks that only blue/green upgrades need. Pure.

Each is one check of the table in managers.upgrade.preflight.checks.
"""

from __future__ import annotations

from contracts.pools.voter_pool import takes_over
from managers.upgrade.preflight.inputs import Answer, PreflightInput, wait


def are_newest(inputs: PreflightInput) -> Answer:
    """No server is replaced while there are two pools."""
    live = inputs.observed.stateful_set
    # No server is replaced during the upgrade, so there is no replacement to wait for.
    if live is None or inputs.resuming or not inputs.is_blue_green or takes_over(inputs.cluster):
        return None
    outdated = [pod.name for pod in inputs.observed.pods if pod.template != live.template]
    if not outdated:
        return None
    message = f"{', '.join(outdated)} must be replaced first, because the spec changed"
    return wait("ClusterNotReady", f"{message}; the upgrade begins after that")
