"""The OpenBaoCluster as the owner of its objects. Pure.

Called by the reconcilers of managers.cluster and by baoctl.commands, which applies nothing.
"""

from __future__ import annotations

from contracts.api.group import API_VERSION, CLUSTER_KIND
from runtime.apply.ownership import Owner
from runtime.types import Object, uid_of


def owner_of(live: Object) -> Owner:
    """Read the identity under which children are owned."""
    metadata = live["metadata"]
    return Owner(API_VERSION, CLUSTER_KIND, metadata["namespace"], metadata["name"], uid_of(live))
