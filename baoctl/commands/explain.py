"""What `baoctl explain` prints of conditions and reasons.

Uses contracts.conditions.catalogue and nothing heavy. Called by baoctl.verbs.explain. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from baoctl.exit_codes import ExitCode, VerbError
from baoctl.options import suggestion
from contracts.conditions.catalogue import REASONS, TYPES, ConditionType, Polarity

READS: dict[Polarity, str] = {
    "good": "True is good news",
    "bad": "True is bad news",
    "neutral": "True is neither good nor bad news",
}


def known_as(word: str, what: str, known: Iterable[str]) -> str:
    """Return the known name that a word spells in whatever case; raises VerbError for none."""
    names = tuple(known)
    by_folded = {name.casefold(): name for name in names}
    found = by_folded.get(word.casefold())
    if found is None:
        meant = suggestion(word, names)
        text = f"there is no {what} {word[:80]!r}{meant}; see baoctl explain {what}s for all"
        raise VerbError(text, ExitCode.NOT_FOUND)
    return found


def reason_text(name: str) -> str:
    """Explain one reason: meaning, next step, and where it may be seen. KeyError for no reason."""
    reason = REASONS[name]
    where = ", ".join(kind.name for kind in TYPES if name in kind.reasons)
    return f"{reason.name}\n  {reason.meaning}\n  {reason.next_step}\n  Seen in: {where}\n"


def condition_text(kind: ConditionType) -> str:
    """Explain one condition and every reason that it may give."""
    lines = [f"{kind.name} ({READS[kind.polarity]})", f"  {kind.meaning}", ""]
    for name in kind.reasons:
        lines += [f"  {name}", f"    {REASONS[name].meaning}", f"    {REASONS[name].next_step}"]
    return "\n".join(lines) + "\n"


def condition_line(kind: ConditionType) -> str:
    """One condition as a line of a list."""
    return f"{kind.name} ({READS[kind.polarity]}): {kind.meaning}"
