"""What is known of a StatefulSet that another operator, or an old release of this one, made.

Read by `managers.cluster.observe.from_objects`; judged by `managers.cluster.plan.adoption`. No I/O.
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
    """As much of it as decides whether and how its pods are taken over."""

    selector: Pairs
    """Its matchLabels."""
    expressions: bool
    """Its selector has matchExpressions, too."""
    service: str
    """Name of its governing Service."""
    claims: tuple[str, ...]
    """Names of its claim templates."""
    data_path: str
    """Where the server mounts the claim `data`; "" when it does not."""
    policy: str
    """Its podManagementPolicy."""
    restart_at: str
    """The last restart that its template knows of (annotation, "" if absent)."""
    rolling: bool
    """Its controller is replacing pods."""
