"""What the command prints, and its record as JSON. Pure; called by the command."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from e2e.demo import table
from tests.mutants.verdict import Result

COLUMNS = ("mutants", "killed", "timeout", "survived", "undecided", "percent")
_CHANGE = 100
_TEXT = 90


def line(number: int, count: int, result: Result) -> str:
    """One mutant that was run."""
    head = f"[{number}/{count}] {result.outcome} {result.seconds:.0f} s  {result.mutant.place}"
    why = f"\n      {result.test} {_short(result.text, _TEXT)}".rstrip() if result.cause else ""
    return f"{head}  {_change(result)}{why}"


def _change(result: Result) -> str:
    return f"{result.mutant.operator}: {_short(result.mutant.change, _CHANGE)}"


def _short(text: str, length: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= length else f"{words[: length - 3]}..."


def tables(results: Sequence[Result]) -> str:
    """A table per package, one per operator, one of what killed, and the mutants that are left."""
    killed = [result for result in results if result.outcome in ("killed", "timeout")]
    parts = [
        _table("package", results, _package),
        _table("operator", results, lambda result: result.mutant.operator),
        table.plain(("killed by", "mutants"), _counts(killed)),
    ]
    for outcome in ("survived", "undecided"):
        left = sorted(
            (result for result in results if result.outcome == outcome), key=lambda o: o.mutant
        )
        if left:
            parts.append("\n".join([f"{outcome}:", *map(_survivor_line, left)]))
    return "\n\n".join(parts)


def _package(result: Result) -> str:
    return str(PurePosixPath(result.mutant.path).parent)


def _survivor_line(result: Result) -> str:
    return f"  {result.mutant.place}  {_change(result)}"


def _table(head: str, results: Sequence[Result], group: Callable[[Result], str]) -> str:
    groups: Mapping[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[group(result)].append(result)
    rows = [_row(name, groups[name]) for name in sorted(groups)]
    return table.plain((head, *COLUMNS), [*rows, _row("all", results)])


def _row(name: str, results: Sequence[Result]) -> tuple[str, ...]:
    outcomes: list[str] = [result.outcome for result in results]
    killed, timeout, survived, has_no_key_ring = map(
        outcomes.count, ("killed", "timeout", "survived", "undecided")
    )
    decided = killed + timeout + survived
    percent = f"{100 * (killed + timeout) / decided:.0f}" if decided else "-"
    counts = (len(outcomes), killed, timeout, survived, has_no_key_ring)
    return (name, *map(str, counts), percent)


def _counts(killed: Sequence[Result]) -> list[tuple[str, str]]:
    causes = [result.cause for result in killed]
    return [(cause, str(causes.count(cause))) for cause in sorted({*causes})]


def record(head: Mapping[str, Any], results: Sequence[Result]) -> str:
    """The whole measurement as JSON: the settings, and all that is known about each mutant."""
    mutants = [
        {
            "path": result.mutant.path,
            "line": result.mutant.line,
            "column": result.mutant.column,
            "operator": result.mutant.operator,
            "before": result.mutant.before,
            "after": result.mutant.after,
            "outcome": result.outcome,
            "cause": result.cause,
            "test": result.test,
            "text": result.text,
            "seconds": round(result.seconds, 1),
            "files": result.files,
        }
        for result in sorted(results, key=lambda result: result.mutant)
    ]
    return json.dumps({**head, "mutants": mutants}, indent=1) + "\n"
