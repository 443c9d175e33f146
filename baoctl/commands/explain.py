"""The text of `baoctl explain` for conditions and reasons.

Pure. Uses contracts.conditions.catalogue. Called by baoctl.verbs.explain.
"""

from __future__ import annotations

from collections.abc import Iterable

from baoctl.exit_codes import ExitCode, VerbError
from baoctl.options import suggestion
from contracts.conditions.catalogue import REASONS, TYPES, ConditionType, Polarity

POLARITY_TEXTS: dict[Polarity, str] = {
    "good": "True is healthy",
    "bad": "True is a problem",
    "neutral": "informational",
}


def matching_name(word: str, what: str, known: Iterable[str]) -> str:
    """Return the known name that equals a word, ignoring case. Raises VerbError if none does."""
    names = tuple(known)
    by_folded = {name.casefold(): name for name in names}
    name = by_folded.get(word.casefold())
    if name is None:
        hint = suggestion(word, names)
        text = f"there is no {what} {word[:80]!r}{hint}; baoctl explain {what}s lists them all"
        raise VerbError(text, ExitCode.NOT_FOUND)
    return name


def reason_text(name: str) -> str:
    """Explain one reason: meaning, next step and conditions. Raises KeyError if it is unknown."""
    reason = REASONS[name]
    conditions = ", ".join(kind.name for kind in TYPES if name in kind.reasons)
    return f"{reason.name}\n  {reason.meaning}\n  {reason.next_step}\n  Conditions: {conditions}\n"


def condition_text(kind: ConditionType) -> str:
    """Explain one condition and all of its reasons."""
    lines = [f"{kind.name} ({POLARITY_TEXTS[kind.polarity]})", f"  {kind.meaning}", ""]
    for name in kind.reasons:
        lines += [f"  {name}", f"    {REASONS[name].meaning}", f"    {REASONS[name].next_step}"]
    return "\n".join(lines) + "\n"


def condition_line(kind: ConditionType) -> str:
    """Return the line of a condition in the list of conditions."""
    return f"{kind.name} ({POLARITY_TEXTS[kind.polarity]}): {kind.meaning}"
