"""A status within a schema that lacks fields of it. Pure; called by the writer of statuses."""

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
"""Parts of a status that the next reconcile continues from: whole, or as they are stored."""
ADMINOPS_DECISIONS: Final = frozenset({"operatorLogin", "recoveryKeys"})
"""The same in status.adminOps."""


def fit(
    desired: dict[str, Any],
    stored: dict[str, Any],
    schema: Schema | None,
    decisions: frozenset[str],
) -> dict[str, Any]:
    """Return what can be written of a status; `desired` itself if that is all of it.

    A part without room is left out, or cut; one of `decisions` stays as it is stored: half of a
    decision would be continued from where nobody stopped.
    """
    if schema is None:
        return desired
    fields = schema.get("properties") or {}
    result = {}
    for name, value in desired.items():
        kept = storable(value, fields[name]) if name in fields else ABSENT
        if kept != value and name in decisions:
            kept = stored.get(name, ABSENT)
        if kept is not ABSENT:
            result[name] = kept
    return desired if result == desired else result
