"""Facts about what a cluster did not make and lives beside: the API server, accounts of others.

Part of contracts.records.observed. Uses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """The ServiceAccount that `spec.serviceAccount.name` names, as it exists."""

    name: str
    free: bool
    """Nobody controls it, and it was never made for a cluster: a person made it, for a reason."""
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApiEndpoints:
    """Where the API server itself listens, behind its Service; no addresses when not known."""

    addresses: tuple[str, ...] = ()
    """Sorted."""
    port: int = 6443


NO_ENDPOINTS = ApiEndpoints()


@dataclass(frozen=True, slots=True)
class AdmissionFacts:
    """What of the admission policies is not as this operator knows them; all empty: all stand."""

    missing: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    """The operator may not look at them."""

    @property
    def lacking(self) -> int:
        """How many are not known to stand."""
        return len(self.missing) + len(self.different) + len(self.unreadable)
