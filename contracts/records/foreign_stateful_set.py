"""Facts about a StatefulSet that another operator, or an old release of this one, created.

Created by `managers.cluster.observe.foreign`; `managers.cluster.plan.adoption` decides about its
adoption. No I/O.
"""

from __future__ import annotations

from dataclasses import dataclass

from runtime.types import ObjectKey, Resource

ForeignObject = tuple[Resource, ObjectKey]
"""One object by kind, namespace and name."""

Pairs = tuple[tuple[str, str], ...]
"""Labels, sorted by key."""


@dataclass(frozen=True, slots=True)
class ForeignStatefulSet:
    """The fields that decide whether and how the operator adopts its pods."""

    selector: Pairs
    """Its matchLabels."""
    expressions: bool
    """Its selector also has matchExpressions."""
    service: str
    """Name of its governing Service."""
    claims: tuple[str, ...]
    """Names of its claim templates."""
    data_path: str
    """Mount path of the claim `data` in the server; "" if it is not mounted."""
    policy: str
    """Its podManagementPolicy."""
    restart_at: str
    """The last restart in its template (annotation, "" if absent)."""
    rolling: bool
    """Its controller is replacing pods."""
