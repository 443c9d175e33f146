"""The catalogue of conditions in words: for `baoctl explain`, and for docs/status.md.

Uses contracts.conditions.catalogue and nothing heavy. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.conditions.catalogue import REASONS, TYPES, ConditionType, Polarity

READS: dict[Polarity, str] = {
    "good": "True is good news",
    "bad": "True is bad news",
    "neutral": "True is neither good nor bad news",
}
NOTHING = "Nothing to do."


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


def shown() -> str:
    """Every type and every reason of it, a line each: what no later version may take away."""
    lines = []
    for kind in TYPES:
        lines.append(f"{kind.name} {kind.polarity}")
        lines += [f"{kind.name}/{reason}" for reason in sorted(kind.reasons)]
    return "\n".join(lines) + "\n"


def markdown() -> str:
    """The tables of docs/status.md."""
    return "\n".join((*_types(), "", *_reasons())) + "\n"


def _types() -> Iterator[str]:
    yield "| condition | True is | what it says | reasons |"
    yield "| --- | --- | --- | --- |"
    summary = _summary_reasons()
    for kind in TYPES:
        reasons = "all below that a pass may end with"
        if not summary <= frozenset(kind.reasons):
            reasons = ", ".join(kind.reasons)
        yield f"| {kind.name} | {kind.polarity} | {kind.meaning} | {reasons} |"


def _summary_reasons() -> frozenset[str]:
    return frozenset(next(kind.reasons for kind in TYPES if kind.name == "Stalled"))


def _reasons() -> Iterator[str]:
    yield "| reason | what it means | next step |"
    yield "| --- | --- | --- |"
    for name in sorted(REASONS):
        yield f"| {name} | {REASONS[name].meaning} | {REASONS[name].next_step} |"
