"""Whether a datacenter allows what a service asks for. Pure.

Uses contracts.datacenter.grants. Called by managers.datacenter.lifecycle.driver before anything is
observed or created. A refusal is no failed attempt: it ends as soon as the datacenter allows it.
"""

from __future__ import annotations

from typing import Final

from contracts.datacenter.grants import (
    NODE_ACCESS_DENIED,
    OBJECT_KIND_DENIED,
    node_access_violations,
    object_kind_violations,
)
from contracts.datacenter.workload_records import ServiceRecord
from managers.datacenter.interfaces import ProviderError

SHOWN: Final = 5
"""Most violations that a message names."""
REMAINS: Final = "; what runs of it goes on, unchanged, until no source requests the service"


def refusal(record: ServiceRecord) -> ProviderError | None:
    """Return why nothing may be created or changed for a record; None if it may."""
    if record.retiring:
        return None
    place, service = record.datacenter, record.desired.service
    of_node = tuple(node_access_violations(service, place.node_access, place.name))
    of_kinds = tuple(object_kind_violations(service, place.object_kinds, place.name))
    if not of_node and not of_kinds:
        return None
    reason = NODE_ACCESS_DENIED if of_node else OBJECT_KIND_DENIED
    remains = REMAINS if record.progress.provider_ref else ""
    text = "; ".join(map(str, (*of_node, *of_kinds)[:SHOWN])) + remains
    return ProviderError(reason, text, terminal=True)
