"""Plans which service records of a datacenter are inserted, updated and retired. Pure.

Uses managers.datacenter.sources.merge for the desired services. Called by
managers.datacenter.lifecycle.service, which writes the plan to a store; records are then driven one
by one.
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
    """What the state of a datacenter allows for its records."""

    writes: bool
    """Records may be inserted and updated, and all retire with the datacenter."""
    prunes: bool
    """A record that no source requests any more retires."""


GATES: Final[Mapping[State, DatacenterGate]] = {
    "Active": DatacenterGate(writes=True, prunes=True),
    "Draining": DatacenterGate(writes=True, prunes=False),
    "Maintenance": DatacenterGate(writes=False, prunes=False),
    "Offline": DatacenterGate(writes=False, prunes=False),
}


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The writes that bring the records to the desired state, each by name; empty without a change.

    `held` is the message about changes that the state of the datacenter prevents, and what to do;
    "" without any.
    """

    insert: tuple[DesiredService, ...] = ()
    update: tuple[tuple[ServiceRecord, DesiredService], ...] = ()
    retire: tuple[ServiceRecord, ...] = ()
    held: str = ""


def plan(
    datacenter: DatacenterInfo, merged: Merged, records: Iterable[ServiceRecord], deleting: bool
) -> RowPlan:
    """Compare the desired services with the records.

    A retiring record is left alone; if its name is requested again, it is recreated once it is
    gone. With `deleting` every record retires, whatever is requested.
    """
    existing = sorted(records, key=lambda record: record.name)
    gate = GATES[datacenter.state]
    changes = _all_gone(existing) if deleting else _compared(merged.services, existing)
    if not gate.writes:
        held = (
            _waiting(datacenter.state, existing) if deleting else _closed(datacenter.state, changes)
        )
        return RowPlan(held=held)
    if gate.prunes or deleting or not changes.retire:
        return changes
    return RowPlan(
        changes.insert, changes.update, held=_held_back(datacenter.state, changes.retire)
    )


def _all_gone(records: Iterable[ServiceRecord]) -> RowPlan:
    return RowPlan(retire=tuple(record for record in records if not record.retiring))


def _compared(services: Iterable[DesiredService], records: Iterable[ServiceRecord]) -> RowPlan:
    desired = {service.name: service for service in services}
    names = {record.name for record in records}
    staying = [record for record in records if not record.retiring]
    return RowPlan(
        insert=tuple(desired[name] for name in sorted(desired.keys() - names)),
        update=tuple(
            (record, desired[record.name])
            for record in staying
            if record.name in desired
            and (record.moved or _differs(record.desired, desired[record.name]))
        ),
        retire=tuple(record for record in staying if record.name not in desired),
    )


def _differs(before: DesiredService, after: DesiredService) -> bool:
    # By digest: bodies that differ only in notation are equal.
    return before.source != after.source or before.digest != after.digest


def _waiting(state: State, records: Sequence[ServiceRecord]) -> str:
    if not records:
        return ""
    return (
        f"spec.state is {state}: the deletion waits: {_named(records)} would have to retire; set "
        "it to Active or Draining"
    )


def _closed(state: State, changes: RowPlan) -> str:
    counts = {
        "made": len(changes.insert),
        "changed": len(changes.update),
        "retired": len(changes.retire),
    }
    ahead = ", ".join(f"{count} would be {what}" for what, count in counts.items() if count)
    waiting = f" ({ahead}); set it to Active to go on" if ahead else ""
    return f"spec.state is {state}: no service is changed{waiting}"


def _held_back(state: State, records: Sequence[ServiceRecord]) -> str:
    return (
        f"spec.state is {state}: nobody wants {_named(records)} any more, and they stay; set it to "
        "Active to retire them"
    )


def _named(records: Sequence[ServiceRecord]) -> str:
    more = f" and {len(records) - SHOWN} more" if len(records) > SHOWN else ""
    return ", ".join(record.name for record in records[:SHOWN]) + more
