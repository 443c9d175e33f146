"""`baoctl events`: the events of a cluster and its objects, the newest last.

Uses rich through baoctl.commands.cluster.terminal. Called by baoctl.verbs.clusters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from rich.table import Table
from rich.text import Text

from baoctl.commands.api_client import Session, run_in_session
from baoctl.commands.cluster.fetch import EVENTS_MAX, is_about_cluster, read_cluster
from baoctl.commands.cluster.findings_of_operator import last_seen
from baoctl.commands.cluster.observed import age, number, part, text
from baoctl.commands.cluster.terminal import WARN, present, safe, table
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from runtime.builtin_kinds import CORE_EVENT
from runtime.client.listing import ListOptions
from runtime.types import Object

_NO_EVENTS: Final = "No events. By default the API server deletes events after one hour."


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event."""

    age: str
    warns: bool
    reason: str
    about: str
    count: int
    message: str


def events(name: str, access: Access, *, output: str) -> ExitCode:
    """Print the events of a cluster. Raises RequestError."""

    async def run(api: Session) -> tuple[EventRow, ...]:
        await read_cluster(api, name)
        listing = await api.client.list(
            CORE_EVENT, api.namespace, options=ListOptions(limit=EVENTS_MAX)
        )
        return rows_of(name, listing.items, api.clock.now())

    rows = run_in_session("events", run, access)
    present(rows, screen(rows) if rows else Text(_NO_EVENTS), output)
    return ExitCode.GOOD


def rows_of(cluster: str, objects: Iterable[Object], now: datetime) -> tuple[EventRow, ...]:
    """Return the events about a cluster, the newest last."""
    related = (event for event in objects if is_about_cluster(cluster, event))
    rows = sorted(((last_seen(event) or now, event) for event in related), key=lambda row: row[0])
    return tuple(_row(event, now - last) for last, event in rows)


def _row(event: Object, since: timedelta) -> EventRow:
    series = number(part(event, "series").get("count"))
    return EventRow(
        age=age(since),
        warns=text(event, "type") == "Warning",
        reason=text(event, "reason"),
        about=f"{text(event, 'involvedObject', 'kind')}/{text(event, 'involvedObject', 'name')}",
        count=series or number(event.get("count")) or 1,
        message=text(event, "message"),
    )


def screen(rows: Iterable[EventRow]) -> Table:
    """Return the events as a table."""
    event_table = table("AGE", "REASON", "OBJECT", "MESSAGE")
    for row in rows:
        times = f" ({row.count} times)" if row.count > 1 else ""
        reason = safe(row.reason, WARN if row.warns else "")
        event_table.add_row(row.age, reason, safe(row.about), safe(row.message + times))
    return event_table
