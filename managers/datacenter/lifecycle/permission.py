"""Checks the permissions that a service requires against those of its datacenter. Pure.

Uses contracts.datacenter.grants. Called by managers.datacenter.lifecycle.driver before it
observes or creates anything. A refusal is not a failed attempt: it ends as soon as the datacenter
allows the service.
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

VIOLATIONS_MAX: Final = 5
"""Maximum number of violations in a message."""
UNCHANGED: Final = "; existing objects stay unchanged until no source requests the service"


def refusal(record: ServiceRecord) -> ProviderError | None:
    """Return the error if the datacenter does not allow the service; None if it does."""
    if record.retiring:
        return None
    datacenter, service = record.datacenter, record.desired.service
    of_node = tuple(node_access_violations(service, datacenter.node_access, datacenter.name))
    of_kinds = tuple(object_kind_violations(service, datacenter.object_kinds, datacenter.name))
    if not of_node and not of_kinds:
        return None
    reason = NODE_ACCESS_DENIED if of_node else OBJECT_KIND_DENIED
    suffix = UNCHANGED if record.progress.provider_ref else ""
    text = "; ".join(map(str, (*of_node, *of_kinds)[:VIOLATIONS_MAX])) + suffix
    return ProviderError(reason, text, terminal=True)
