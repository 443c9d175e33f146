"""`baoctl status`: reads and prints a cluster once or repeatedly, or lists clusters.

Uses baoctl.commands.cluster.fetch to read and baoctl.commands.cluster.status_screen to print.
Called by baoctl.verbs.clusters.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from baoctl.commands.api_client import Session, error_of, run_in_session
from baoctl.commands.cluster.fetch import no_clusters_text, observe, read_clusters
from baoctl.commands.cluster.status import StatusView, list_row, view_of
from baoctl.commands.cluster.status_screen import listing, screen
from baoctl.commands.cluster.terminal import DIM, console, emit, present, report_empty
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.conditions.message import clean_message
from runtime.errors import Transient, TransportError

PERIOD: Final = 2.0
"""Seconds between two reads of a watch."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of one read: the value, its text and the exit status."""

    value: Any
    text: RenderableType
    exit_code: ExitCode


def show(name: str | None, access: Access, *, output: str, watch: bool) -> ExitCode:
    """Print the cluster with a name, or all clusters if there is no name. Raises RequestError."""

    async def run(api: Session) -> ExitCode:
        async def read() -> CommandResult:
            if name is None:
                return await _list(api, access, wide=output == "wide")
            return _single(view_of(await observe(api, name)), wide=output == "wide")

        out = console()
        if watch:
            return await _watch(api, read, out)
        result = await read()
        if not result.value:
            report_empty(str(result.text), result.value, output)
            return result.exit_code
        present(result.value, result.text, output, out)
        return result.exit_code

    return run_in_session("status", run, access)


def _single(view: StatusView, *, wide: bool) -> CommandResult:
    return CommandResult(view, screen(view, wide=wide), view.exit_code)


async def _list(api: Session, access: Access, *, wide: bool) -> CommandResult:
    clusters = await read_clusters(api, all_namespaces=access.all_namespaces)
    rows = [list_row(cluster, api.clock.now()) for cluster in clusters]
    if not rows:
        return CommandResult(rows, Text(await no_clusters_text(api, access)), ExitCode.GOOD)
    good = all(row.ready for row in rows)
    table = listing(rows, wide=wide, namespaces=access.all_namespaces)
    return CommandResult(rows, table, ExitCode.GOOD if good else ExitCode.NOT_READY)


async def _watch(
    api: Session, read: Callable[[], Awaitable[CommandResult]], out: Console
) -> ExitCode:
    """Print the result after every change, until the user interrupts the verb."""
    last: object = None
    with Live(console=out, auto_refresh=False, screen=out.is_terminal) as live:
        while True:
            try:
                result = await read()
            except Transient as error:
                if last is None:
                    raise
                live.update(Text(f"{_line(error)}; trying again", DIM), refresh=True)
            else:
                if out.is_terminal:
                    live.update(result.text, refresh=True)
                elif result.value != last:
                    emit(out, result.text)
                last = result.value
            await api.clock.sleep(PERIOD)


def _line(error: Transient) -> str:
    return str(error_of(error)) if isinstance(error, TransportError) else clean_message(str(error))
