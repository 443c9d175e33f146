"""Message about admission policies that are missing or differ. Pure."""

from __future__ import annotations

from contracts.records.environment import AdmissionFacts

# A message has room for more, but one command installs all of them.
SHOWN = 4


def policies_lacking(facts: AdmissionFacts | None) -> str:
    """Name what is missing or differs, and the next step; "" when nothing is, or not read yet."""
    if facts is None or not facts.lacking:
        return ""
    sections = (
        ("Not in place", facts.missing),
        ("Other than in this release", facts.different),
        ("The operator may not look at", facts.unreadable),
    )
    text = "; ".join(f"{what}: {_listed(names)}" for what, names in sections if names)
    return f"{text}. Apply deploy/admission of this release, or the overlay that it is part of"


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
