"""The message about admission policies that are missing or differ. Pure."""

from __future__ import annotations

from contracts.records.environment import AdmissionFacts

# A message could contain more names, but one command installs all policies.
SHOWN = 4


def policies_message(facts: AdmissionFacts | None) -> str:
    """Name the missing or different objects and the next step; "" for none, or before a read."""
    if facts is None or not facts.problem_count:
        return ""
    sections = (
        ("Missing", facts.missing),
        ("Different from this release", facts.different),
        ("Not readable by the operator", facts.unreadable),
    )
    text = "; ".join(f"{title}: {_short_list(names)}" for title, names in sections if names)
    return f"{text}. Apply deploy/admission of this release, or the overlay that includes it"


def _short_list(names: tuple[str, ...]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
