"""The output of `baoctl bench`: the figures, and how they were measured.

Uses rich through baoctl.commands.cluster.terminal. Called by baoctl.commands.bench.run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Group, RenderableType

from baoctl.commands.bench.figures import OperationFigures
from baoctl.commands.cluster.terminal import safe, table

LOGIN_NOTE = (
    "After each login its token is revoked; this counts for the rate, but not for the latency."
)
FORWARD_NOTE = (
    "A port-forward connects to one pod, and adds latency to each request: compare only with "
    "figures of other port-forwards, or run this in the cluster with --address."
)
STANDBY_NOTE = "A standby forwards requests to the leader."
QUORUM_NOTE = "A write succeeds once a majority of the voters has it in their logs."


def other_run_note(mount: str) -> str:
    """Return the note about the engine of another run."""
    return (
        f"{mount} is the engine of another run, which is active or was killed. If it was killed: "
        f"bao secrets disable {mount}"
    )


@dataclass(frozen=True, slots=True)
class BenchReport:
    """The figures of one run, and how they were measured."""

    namespace: str
    cluster: str
    version: str
    servers: int
    """Number of ready servers."""
    leader: str
    path: str
    """The connection to the servers."""
    connections_to_leader: int
    connections_to_standbys: int
    workers: int
    seconds: float
    """Duration of each operation."""
    size_bytes: int
    """Size of a value in bytes."""
    engine: str
    operations: tuple[OperationFigures, ...]
    notes: tuple[str, ...]


def screen(report: BenchReport) -> RenderableType:
    """Return the report as text."""
    figures = table("OPERATION", "PER SECOND", "P50", "P99", "MAX", "ERRORS")
    for column in figures.columns[1:]:
        column.justify = "right"
    for operation in report.operations:
        figures.add_row(
            safe(operation.operation),
            f"{operation.per_second:,.1f}",
            _duration(operation.p50_ms),
            _duration(operation.p99_ms),
            _duration(operation.max_ms),
            str(operation.errors),
        )
    facts = table("", "")
    facts.show_header = False
    for name, value in _facts(report):
        facts.add_row(safe(name), safe(value))
    return Group(
        figures, "", facts, "", *(safe(note) for note in (*_errors(report), *report.notes))
    )


def _facts(report: BenchReport) -> Iterator[tuple[str, str]]:
    yield "cluster", f"{report.namespace}/{report.cluster}"
    yield "OpenBao", f"{report.version}, {report.servers} servers, leader {report.leader}"
    yield "path", report.path
    to_leader, to_standbys = report.connections_to_leader, report.connections_to_standbys
    yield "connections", f"{to_leader} to the leader, {to_standbys} to standbys"
    yield "load", f"{report.workers} workers, {report.seconds:g} s for each operation"
    if report.engine:
        yield "values", f"{report.size_bytes} bytes each, in {report.engine}"


def _errors(report: BenchReport) -> Iterator[str]:
    for operation in report.operations:
        for error, count in operation.error_counts.items():
            yield f"{operation.operation}: {error} (x{count})"


def _duration(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:.1f} ms"
