"""Fits a status to a CRD schema that lacks some of its fields. Pure; called by status_writer."""

from __future__ import annotations

from typing import Any, Final

from contracts.api.schema.served import ABSENT, Schema, storable

DECISIONS: Final = frozenset(
    {
        "acceptedUpgradeStrategy",
        "blueGreen",
        "breakGlass",
        "failedFirstBoot",
        "release",
        "unseal",
        "upgrade",
        "upgradeRequests",
    }
)
"""Parts of a status that the next reconcile continues from: written whole, or left as stored."""
ADMINOPS_DECISIONS: Final = frozenset({"operatorLogin", "recoveryKeys"})
"""The same for status.adminOps."""


def fit(
    desired: dict[str, Any],
    stored: dict[str, Any],
    schema: Schema | None,
    decisions: frozenset[str],
) -> dict[str, Any]:
    """Return the part of a status that the schema can store; `desired` itself if that is all of it.

    A field that the schema lacks is left out, or its value is cut. A field in `decisions` keeps its
    stored value instead: the next reconcile must not continue from half of a decision.
    """
    if schema is None:
        return desired
    fields = schema.get("properties") or {}
    result = {}
    for name, value in desired.items():
        storable_value = storable(value, fields[name]) if name in fields else ABSENT
        if storable_value != value and name in decisions:
            storable_value = stored.get(name, ABSENT)
        if storable_value is not ABSENT:
            result[name] = storable_value
    return desired if result == desired else result
