"""Whether a datacenter allows what a service asks for. Pure.

Uses contracts.datacenter.grants. Called by managers.datacenter.lifecycle.driver before anything is
observed or created. A refusal is no failed attempt: it ends as soon as the datacenter allows it.
"""

from __future__ import annotations

from typing import Final

from contracts.datacenter.grants import NODE_ACCESS_DENIED, node_access_violations
from contracts.datacenter.workload_records import ServiceRecord
from managers.datacenter.interfaces import ProviderError

REMAINS: Final = "; what runs of it goes on, unchanged, until no source requests the service"


def refusal(record: ServiceRecord) -> ProviderError | None:
    """Return why nothing may be created or changed for a record; None if it may."""
    datacenter, service = record.datacenter, record.desired.service
    found = tuple(node_access_violations(service, datacenter.node_access, datacenter.name))
    if not found or record.retiring:
        return None
    remains = REMAINS if record.progress.provider_ref else ""
    return ProviderError(NODE_ACCESS_DENIED, "; ".join(map(str, found)) + remains, terminal=True)
