"""Renders the catalog of conditions: the tables of docs/status.md, and the list of its entries.

Uses contracts.conditions.catalog. Called by baoctl.generate.main. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.conditions.catalog import REASONS, TYPES


def catalog_lines() -> str:
    """Return one line per type and reason. A later version must not remove a line."""
    lines = []
    for kind in TYPES:
        lines.append(f"{kind.name} {kind.polarity}")
        lines += [f"{kind.name}/{reason}" for reason in sorted(kind.reasons)]
    return "\n".join(lines) + "\n"


def markdown() -> str:
    """Return the tables of docs/status.md."""
    return "\n".join((*_types(), "", *_reasons())) + "\n"


def _types() -> Iterator[str]:
    yield "| condition | True is | meaning | reasons |"
    yield "| --- | --- | --- | --- |"
    summary = _summary_reasons()
    for kind in TYPES:
        reasons = "every reason below that a reconcile can end with"
        if not summary <= frozenset(kind.reasons):
            reasons = ", ".join(kind.reasons)
        yield f"| {kind.name} | {kind.polarity} | {kind.meaning} | {reasons} |"


def _summary_reasons() -> frozenset[str]:
    return frozenset(next(kind.reasons for kind in TYPES if kind.name == "Stalled"))


def _reasons() -> Iterator[str]:
    yield "| reason | meaning | next step |"
    yield "| --- | --- | --- |"
    for name in sorted(REASONS):
        yield f"| {name} | {REASONS[name].meaning} | {REASONS[name].next_step} |"
