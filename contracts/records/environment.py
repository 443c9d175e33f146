"""Facts about the environment of a cluster: the API server, ServiceAccounts of other owners.

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
    """It has no controller, and was not created for a cluster: a user created it on purpose."""
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
    """Admission policies that differ from those of this operator; all empty: all are installed."""

    missing: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    """The operator may not read them."""

    @property
    def lacking(self) -> int:
        """How many are not known to be installed."""
        return len(self.missing) + len(self.different) + len(self.unreadable)
