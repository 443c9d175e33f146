"""Which rows a datacenter gets, changes and lets go. Pure.

Uses managers.datacenter.sources.merge for what is wanted. Called by whoever carries it out on a
store; a row is then brought forward by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from contracts.datacenter.objects import State
from contracts.datacenter.workload_records import DatacenterInfo, DesiredService, ServiceRecord
from managers.datacenter.sources.merge import Merged

SHOWN: Final = 5
"""Names of services that a message lists."""


@dataclass(frozen=True, slots=True)
class DatacenterGate:
    """What the state of a datacenter lets happen to its rows."""

    writes: bool
    """Rows are made and changed, and all of them retire with the datacenter."""
    prunes: bool
    """A row that nobody wants any more retires."""


GATES: Final[Mapping[State, DatacenterGate]] = {
    "Active": DatacenterGate(writes=True, prunes=True),
    "Draining": DatacenterGate(writes=True, prunes=False),
    "Maintenance": DatacenterGate(writes=False, prunes=False),
    "Offline": DatacenterGate(writes=False, prunes=False),
}


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The writes that bring the rows to what is wanted, each by name; none when they are there.

    `held` says what the state of the datacenter keeps from happening, and what to do; "" when it
    keeps nothing.
    """

    insert: tuple[DesiredService, ...] = ()
    update: tuple[tuple[ServiceRecord, DesiredService], ...] = ()
    retire: tuple[ServiceRecord, ...] = ()
    held: str = ""


def plan(
    datacenter: DatacenterInfo, merged: Merged, rows: Iterable[ServiceRecord], deleting: bool
) -> RowPlan:
    """Compare what is wanted with the rows.

    A row that is retiring is left alone; when its name is wanted again, it is made anew once it is
    gone. With `deleting` every row retires, whatever is wanted.
    """
    known = sorted(rows, key=lambda row: row.name)
    gate = GATES[datacenter.state]
    wanted = _all_gone(known) if deleting else _compared(merged.wishes, known)
    if not gate.writes:
        held = _waiting(datacenter.state, known) if deleting else _closed(datacenter.state, wanted)
        return RowPlan(held=held)
    if gate.prunes or deleting or not wanted.retire:
        return wanted
    return RowPlan(wanted.insert, wanted.update, held=_kept(datacenter.state, wanted.retire))


def _all_gone(rows: Iterable[ServiceRecord]) -> RowPlan:
    return RowPlan(retire=tuple(row for row in rows if not row.retiring))


def _compared(wishes: Iterable[DesiredService], rows: Iterable[ServiceRecord]) -> RowPlan:
    wanted = {wish.name: wish for wish in wishes}
    taken = {row.name for row in rows}
    staying = [row for row in rows if not row.retiring]
    return RowPlan(
        insert=tuple(wanted[name] for name in sorted(wanted.keys() - taken)),
        update=tuple(
            (row, wanted[row.name])
            for row in staying
            if row.name in wanted and (row.moved or _differs(row.wish, wanted[row.name]))
        ),
        retire=tuple(row for row in staying if row.name not in wanted),
    )


def _differs(before: DesiredService, now: DesiredService) -> bool:
    # By digest: bodies that are written differently and mean the same are the same.
    return before.source != now.source or before.digest != now.digest


def _waiting(state: State, rows: Sequence[ServiceRecord]) -> str:
    if not rows:
        return ""
    return (
        f"spec.state is {state}: the deletion waits: {_named(rows)} would have to retire; set "
        "it to Active or Draining"
    )


def _closed(state: State, wanted: RowPlan) -> str:
    counts = {
        "made": len(wanted.insert),
        "changed": len(wanted.update),
        "retired": len(wanted.retire),
    }
    ahead = ", ".join(f"{count} would be {what}" for what, count in counts.items() if count)
    waiting = f" ({ahead}); set it to Active to go on" if ahead else ""
    return f"spec.state is {state}: no service is changed{waiting}"


def _kept(state: State, rows: Sequence[ServiceRecord]) -> str:
    return (
        f"spec.state is {state}: nobody wants {_named(rows)} any more, and they stay; set it to "
        "Active to retire them"
    )


def _named(rows: Sequence[ServiceRecord]) -> str:
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return ", ".join(row.name for row in rows[:SHOWN]) + more
