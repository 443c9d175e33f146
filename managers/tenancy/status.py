"""Computes the status of a tenant: one condition and the grants.

Uses contracts.conditions.reasons_tenant. Called by managers.tenancy.reconcile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from contracts.api.meta import Condition
from contracts.api.tenant import GRANTS_MAX, Grant, TenantStatus
from contracts.conditions.message import clean_message
from contracts.conditions.reasons_tenant import PROVISIONED, TENANT_REASONS
from contracts.rbac.rules import Reads
from contracts.tenancy import SecretAccess
from runtime.types import Object

STATUS_MANAGER = "openbao-provisioner-status"


@dataclass(frozen=True, slots=True)
class ProvisionedCondition:
    """The condition Provisioned. Raises ValueError for an unknown reason."""

    provisioned: bool
    reason: str
    message: str = ""

    def __post_init__(self) -> None:
        if self.reason not in TENANT_REASONS:
            raise ValueError(f"{self.reason!r} is not a reason of a tenant")


def grants_of(accesses: Iterable[tuple[str, SecretAccess]]) -> tuple[Grant, ...]:
    """Return the grant of each cluster, sorted by name."""
    grants = (
        Grant(cluster=name, secrets=access.digest) for name, access in sorted(accesses, key=_name)
    )
    return tuple(grants)[:GRANTS_MAX]


def _name(item: tuple[str, SecretAccess]) -> str:
    return item[0]


def compute(
    live: Object,
    condition: ProvisionedCondition,
    now: datetime,
    reads: Reads,
    grants: tuple[Grant, ...] = (),
) -> TenantStatus:
    """Compute the status of a tenant; the transition time changes only with the status."""
    generation = int(live["metadata"].get("generation") or 0)
    status: Literal["True", "False"] = "True" if condition.provisioned else "False"
    before = TenantStatus.lenient(live.get("status"))
    stored = next((item for item in before.conditions if item.type == PROVISIONED), None)
    since = stored.last_transition_time if stored is not None and stored.status == status else None
    message = clean_message(condition.message or TENANT_REASONS[condition.reason].message)
    return TenantStatus(
        observed_generation=generation,
        provisioned=condition.provisioned,
        last_error="" if condition.provisioned else message,
        reads=reads if condition.provisioned else None,
        grants=grants if condition.provisioned else (),
        conditions=(
            Condition(
                type=PROVISIONED,
                status=status,
                reason=condition.reason,
                message=message,
                observed_generation=generation,
                last_transition_time=since or now,
            ),
        ),
    )
