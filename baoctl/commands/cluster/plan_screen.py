"""The text of `baoctl plan`.

Uses rich through baoctl.commands.cluster.terminal. Called by baoctl.commands.cluster.plan.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from baoctl.commands.cluster.difference import FieldChange
from baoctl.commands.cluster.forecast import PlanForecast, Verb
from baoctl.commands.cluster.terminal import BAD, BOLD, DIM, GOOD, WARN, safe

VALUE_MAX: Final = 200
"""Maximum characters of a printed value."""
_VERBS: Final[dict[Verb, str]] = {
    "create": "would be created",
    "update": "would change",
    "delete": "would be deleted",
    "none": "would not change",
}
_SIGNS: Final[dict[Verb, tuple[str, str]]] = {
    "create": ("+", GOOD),
    "update": ("~", WARN),
    "delete": ("-", BAD),
    "none": (" ", DIM),
}


def screen(plan: PlanForecast) -> Iterator[RenderableType]:
    """Yield the lines of one cluster."""
    yield Text.assemble(("OpenBaoCluster ", BOLD), (plan.cluster, BOLD), f" {_VERBS[plan.verb]}")
    yield from _fields(plan.spec, "  ")
    if plan.objects:
        yield Text("\nObjects", BOLD)
        for obj in plan.objects:
            sign, style = _SIGNS[obj.verb]
            yield Text.assemble((f"  {sign} ", style), safe(f"{obj.kind} {obj.name}"))
            yield from _fields(obj.fields, "      ")
    elif plan.verb != "none":
        yield Text("\nNo object of the cluster changes; only the operator uses the changed fields.")
    if plan.verb != "none":
        yield Text("\nServers", BOLD)
        yield from (safe(f"  {pod.stateful_set}: {pod.text}") for pod in plan.pods)
        if not plan.pods:
            yield Text("  no server restarts")
    yield from _paragraphs(plan.notes)
    yield from _paragraphs(tuple(f"The pods would wait: {reason}" for reason in plan.blocked), BAD)


def _paragraphs(lines: tuple[str, ...], style: str = "") -> Iterator[Text]:
    if lines:
        yield Text()
        yield from (safe(line, style) for line in lines)


def _fields(fields: tuple[FieldChange, ...], indent: str) -> Iterator[Text]:
    for field in fields:
        if _is_long(field.before) or _is_long(field.after):
            yield safe(f"{indent}{field.path}:")
            yield from _lines(str(field.before or ""), str(field.after or ""), f"{indent}  ")
        else:
            yield safe(f"{indent}{field.path}: {_value(field.before)} -> {_value(field.after)}")


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and "\n" in value


def _lines(before: str, after: str, indent: str) -> Iterator[Text]:
    for line in difflib.ndiff(before.splitlines(), after.splitlines()):
        if line[:1] in "+-":
            yield safe(f"{indent}{line}", GOOD if line.startswith("+") else BAD)


def _value(value: Any) -> str:
    if value is None:
        return "(not set)"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= VALUE_MAX else f"{text[: VALUE_MAX - 1]}…"
