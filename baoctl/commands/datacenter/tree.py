"""Formats a datacenter as a tree of text: its sources, its problems and its services.

Pure. Uses baoctl.commands.datacenter.status. Called by baoctl.commands.datacenter.watch. It escapes
the texts of the API server, so that they cannot move the cursor or hide a line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

import click

from baoctl.commands.datacenter.view import UNREADABLE, ServiceView, SourceView, View
from contracts.conditions.message import clean_message
from contracts.datacenter.names import OPENBAO_READY
from contracts.datacenter.reasons import READY
from contracts.rfc3339 import rfc3339

Colorize: TypeAlias = Callable[[str, str], str]
"""Adds a color to a text; the color "" leaves it unchanged."""
Cell: TypeAlias = tuple[str, str]
"""An escaped text and its color."""

COLORS: Final[Mapping[str, str]] = {
    "Provisioning": "blue",
    "Running": "green",
    "Failed": "red",
    "Retiring": "yellow",
    UNREADABLE: "red",
}
_READY_COLORS: Final[Mapping[str, str]] = {"True": "green", "False": "red"}
_REMOVAL_STATES: Final = ("Retiring", "Retired")
_SERVICE_REASONS: Final = ("ServicesFailed", "ServicesNotRunning")
"""Reasons that are not printed, because the lines of the services show the details."""
_NOT_RECONCILED: Final = "not reconciled yet: check that the operator runs with DATACENTERS=true"
_MINUTES_FROM: Final = 120


@dataclass(frozen=True, slots=True)
class _Line:
    """A service in the tree, with the prefixes of its line and of the lines below it."""

    prefix: str
    child_prefix: str
    service: ServiceView


def plain(text: str, color: str) -> str:
    """Return the text without a color."""
    del color
    return text


def color_text(text: str, color: str) -> str:
    """Return the text with a color for a terminal."""
    return click.style(text, fg=color) if color else text


def as_text(view: View, now: datetime, *, verbose: bool = False, colorize: Colorize = plain) -> str:
    """Return a view as text. `verbose` adds the objects of each service."""
    sections = (
        _sources(view.sources, colorize),
        *((note, []) for note in _notes(view)),
        _services(view.workloads, now, colorize, verbose=verbose),
    )
    lines = [_head(view, colorize)]
    for position, (title, body) in enumerate(sections):
        branch, child_prefix = _branch(position, sections)
        lines.append(f"{branch}{title}")
        lines += [f"{child_prefix}{line}" for line in body]
    return "\n".join(lines) + "\n"


def _head(view: View, colorize: Colorize) -> str:
    ready = view.condition(READY)
    status, reason = (ready.status, ready.reason) if ready else ("Unknown", "")
    cells = [
        view.name,
        f"{view.state}, being deleted" if view.deleting else view.state,
        "/".join((view.region or "-", view.zone)) if view.zone else view.region or "-",
        f"namespace {view.namespace or '-'}",
        f"{view.running}/{view.services} running",
    ]
    readiness = colorize(f"Ready={status}", _READY_COLORS.get(status, ""))
    return "  ".join((*map(clean_message, cells), f"{readiness} {clean_message(reason)}".rstrip()))


def _notes(view: View) -> Iterator[str]:
    for problem in view.problems:
        yield clean_message(problem)
    ready = view.condition(READY)
    if ready is None:
        yield _NOT_RECONCILED
    elif view.is_stale:
        yield (
            f"its status is for generation {view.observed_generation}, its spec has generation "
            f"{view.generation}: not reconciled yet"
        )
    if ready is not None and ready.status != "True" and ready.reason not in _SERVICE_REASONS:
        yield clean_message(f"{ready.reason}: {ready.message}")
    if view.conflict:
        yield clean_message(f"conflict: {view.conflict}")


# --- sources ------------------------------------------------------------------------------------


def _sources(sources: Sequence[SourceView], colorize: Colorize) -> tuple[str, list[str]]:
    if not sources:
        return "no source was read yet", []
    table = [
        [
            (f"{_branch(position, sources)[0]}{clean_message(source.name)}", ""),
            (f"({source.priority})" if source.priority else "", ""),
            _contribution(source),
        ]
        for position, source in enumerate(sources)
    ]
    return "sources", _columns(table, colorize)


def _branch(position: int, of: Sequence[object]) -> tuple[str, str]:
    """Return the prefix of the line at this position, and that of the lines below it."""
    return ("└─ ", "   ") if position == len(of) - 1 else ("├─ ", "│  ")


def _contribution(source: SourceView) -> Cell:
    count = f"{source.services} service{'' if source.services == 1 else 's'}"
    if not source.error:
        return count, ""
    since = source.last_good_time
    last_response = f"last valid response at {rfc3339(since)}" if since else "no valid response yet"
    return f"{count}, DEGRADED: {clean_message(source.error)} ({last_response})", "red"


# --- services -----------------------------------------------------------------------------------


def _services(
    services: Sequence[ServiceView], now: datetime, colorize: Colorize, *, verbose: bool
) -> tuple[str, list[str]]:
    if not services:
        return "no services", []
    lines = list(_tree(services))
    table = [_cells(line, now) for line in lines]
    printed = []
    for line, row in zip(lines, _columns(table, colorize), strict=True):
        printed.append(row)
        if verbose:
            printed += [f"{line.child_prefix}{text}" for text in _objects(line.service)]
    return "services", printed


def _cells(line: _Line, now: datetime) -> list[Cell]:
    service = line.service
    return [
        (f"{line.prefix}{clean_message(service.name)}", ""),
        (clean_message(service.state), COLORS.get(service.state, "")),
        (clean_message(service.kind), ""),
        (clean_message(service.ready), ""),
        (clean_message(service.source), ""),
        ("; ".join(map(clean_message, _details(service, now))), ""),
    ]


def _details(service: ServiceView, now: datetime) -> Iterator[str]:
    if service.problem:
        yield service.problem
    if service.retiring and service.state not in _REMOVAL_STATES:
        yield "will be removed"
    if service.outdated:
        yield "not reconciled since its spec changed"
    if service.error_reason:
        attempt = "" if service.outdated else f"attempt {service.attempts}, {_next(service, now)}: "
        yield f"{attempt}{service.error_reason}: {service.error}"
    if service.message and service.state != "Running" and service.message != service.error:
        yield service.message


def _next(service: ServiceView, now: datetime) -> str:
    if service.next_retry is None:
        return "no retry until its spec changes"
    retry_at = rfc3339(service.next_retry)
    seconds_left = math.ceil((service.next_retry - now).total_seconds())
    moment = retry_at.partition("T")[2] if retry_at[:10] == rfc3339(now)[:10] else retry_at
    return f"next at {moment} ({_time_left(seconds_left)})"


def _time_left(seconds: int) -> str:
    if seconds <= 0:
        return "due"
    return f"in {seconds} s" if seconds < _MINUTES_FROM else f"in {seconds // 60} min"


def _objects(service: ServiceView) -> Iterator[str]:
    if service.provider_ref:
        yield clean_message(f"object: {service.provider_ref}")
    for name, ref in sorted(service.service_refs.items()):
        yield clean_message(f"{name}: {ref}")


def _columns(table: Sequence[Sequence[Cell]], colorize: Colorize) -> list[str]:
    """Align all columns except the last one; omit empty columns."""
    widths = [max(len(text) for text, _ in column) for column in zip(*table, strict=True)]
    used = [index for index, width in enumerate(widths) if width]
    return [
        "  ".join(
            colorize(row[index][0].ljust(0 if index == used[-1] else widths[index]), row[index][1])
            for index in used
        ).rstrip()
        for row in table
    ]


# --- parents --------------------------------------------------------------------------


def _tree(services: Sequence[ServiceView]) -> Iterator[_Line]:
    """Yield each service once, by name, under the first service that it depends on."""
    children_of: dict[int | None, list[int]] = {}
    for index, parent in enumerate(_parents(services)):
        children_of.setdefault(parent, []).append(index)
    # Not recursive, because all services may be one chain of dependencies.
    stack = _branches("", children_of.get(None, ()))
    while stack:
        prefix, child_prefix, index = stack.pop()
        children = children_of.get(index, ())
        yield _Line(prefix, f"{child_prefix}{'│  ' if children else '   '}", services[index])
        stack += _branches(child_prefix, children)


def _branches(parent_prefix: str, indices: Sequence[int]) -> list[tuple[str, str, int]]:
    """Return the prefixes of these services and of the lines below them, in reverse order."""
    branches = []
    for position, index in enumerate(indices):
        branch, child_prefix = _branch(position, indices)
        branches.append((f"{parent_prefix}{branch}", f"{parent_prefix}{child_prefix}", index))
    return branches[::-1]


def _parents(services: Sequence[ServiceView]) -> list[int | None]:
    """Return the index of the parent of each service; None for the first level."""
    index_of = {service.name: index for index, service in reversed(list(enumerate(services)))}
    clusters = tuple(service.name for service in services if service.kind == "OpenBaoCluster")
    parents = [
        _first_dependency(index, service, index_of, clusters)
        for index, service in enumerate(services)
    ]
    done: set[int] = set()
    for start in range(len(services)):
        path: dict[int, None] = {}
        at: int | None = start
        while at is not None and at not in done and at not in path:
            path[at] = None
            at = parents[at]
        if at is not None and at in path:
            # The first member of a cycle becomes its root; otherwise it would be below itself.
            members = list(path)
            parents[min(members[members.index(at) :])] = None
        done.update(path)
    return parents


def _first_dependency(
    index: int, service: ServiceView, index_of: Mapping[str, int], clusters: Sequence[str]
) -> int | None:
    for name in service.depends_on:
        for dependency in clusters if name == OPENBAO_READY else (name,):
            if index_of.get(dependency, index) != index:
                return index_of[dependency]
    return None
