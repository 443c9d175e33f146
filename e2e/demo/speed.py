"""The figures at the end of the demo: timeline, requests, memory."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from e2e.demo import audit, table
from e2e.demo.errors import DemoError
from e2e.demo.pod_process import Memory
from e2e.demo.timeline import Milestone


@dataclass(slots=True)
class AuditReader:
    """Counts the requests of the operator in the audit log, from the start of the demo on."""

    log: Path | None
    _offset: int = 0

    def __post_init__(self) -> None:
        if self.log is not None:
            self._offset = self.log.stat().st_size

    def tally(self, since: datetime, until: datetime) -> audit.Tally | None:
        """Count from ``since`` to ``until``; None without an audit log."""
        return None if self.log is None else self.count(since, until)

    def count(self, since: datetime, until: datetime) -> audit.Tally:
        """The same. Raises DemoError without an audit log."""
        if self.log is None:
            raise DemoError("there is no audit log to count requests in")
        with self.log.open("rb") as file:
            if self._offset:
                # The log may have ended within a line: skip the rest of it.
                file.seek(self._offset - 1)
                file.readline()
            return audit.tally(audit.parse(file), since, until)


def wall(monotonic: float) -> datetime:
    """Return the wall-clock time of a time.monotonic() value."""
    return datetime.fromtimestamp(time.time() - time.monotonic() + monotonic, UTC)


def milestone_rows(milestones: Sequence[Milestone]) -> list[tuple[str, str]]:
    """One row per milestone, sorted by time."""
    ordered = sorted(milestones, key=lambda mark: mark.seconds)
    return [(mark.name, f"{mark.seconds:.1f} s") for mark in ordered]


def request_row(name: str, tally: audit.Tally) -> table.Row:
    """One row: all, reads, watches opened, writes."""
    return (name, *map(str, (tally.total, tally.reads, tally.watches, tally.writes)))


def requests_table(rows: Sequence[table.Row]) -> str:
    """Format request counts for a terminal."""
    return table.plain(("operator's API requests", "all", "reads", "watches", "writes"), rows)


def by_resource(tally: audit.Tally) -> dict[str, int]:
    """Return the requests per verb and resource, the most frequent first."""
    ordered = sorted(tally.by_resource.items(), key=lambda item: (-item[1], item[0]))
    return {f"{verb} {resource}": count for (verb, resource), count in ordered}


def memory_rows(memories: Sequence[Memory]) -> list[tuple[str, str, str]]:
    """One row per pod: current and peak resident memory."""
    return [
        (pod_memory.pod, f"{pod_memory.now:.0f} MB", f"{pod_memory.peak:.0f} MB")
        for pod_memory in memories
    ]
