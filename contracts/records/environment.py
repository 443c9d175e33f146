"""Facts about the environment of a cluster: the API server, ServiceAccounts of other owners.

Part of contracts.records.observed. Uses the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """The existing ServiceAccount that `spec.serviceAccount.name` names."""

    name: str
    free: bool
    """It has no controller and was not created for a cluster, so a user created it."""
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApiEndpoints:
    """The endpoints of the API server behind its Service; no addresses while unknown."""

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
    def problem_count(self) -> int:
        """Number of policies that are missing, different or unreadable."""
        return len(self.missing) + len(self.different) + len(self.unreadable)
