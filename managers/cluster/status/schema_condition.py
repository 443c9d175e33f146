"""The condition SchemaOutdated: CustomResourceDefinitions of another release. Pure."""

from __future__ import annotations

from contracts.conditions.condition import ConditionUpdate

# A message has room for more, but one command adds them all.
SHOWN = 6


def schema_outdated(missing_fields: tuple[str, ...]) -> ConditionUpdate | None:
    """Name the fields that the API server lacks; None when it has them all."""
    if not missing_fields:
        return None
    more = f" and {len(missing_fields) - SHOWN} more" if len(missing_fields) > SHOWN else ""
    message = (
        "The CustomResourceDefinitions on the API server lack fields of this operator, which it "
        f"omits: {', '.join(missing_fields[:SHOWN])}{more}. Apply those of its release"
    )
    return ConditionUpdate("SchemaOutdated", "True", "SchemaOutdated", message)
