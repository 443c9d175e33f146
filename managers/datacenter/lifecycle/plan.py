"""Plans which service records of a datacenter are inserted, updated and retired. Pure.

Uses managers.datacenter.sources.merge for the desired services. Called by
managers.datacenter.lifecycle.service, which executes the plan; the records are then reconciled one
by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from contracts.datacenter.objects import State
from contracts.datacenter.workload_records import DatacenterInfo, DesiredService, ServiceRecord
from managers.datacenter.sources.merge import MergeResult

NAMES_MAX: Final = 5
"""Maximum number of services that a message names."""


@dataclass(frozen=True, slots=True)
class DatacenterGate:
    """The changes that a state of a datacenter allows."""

    writes: bool
    """Records may be inserted and updated, and are retired when the datacenter is deleted."""
    prunes: bool
    """A record is retired when no source requests it any more."""


GATES: Final[Mapping[State, DatacenterGate]] = {
    "Active": DatacenterGate(writes=True, prunes=True),
    "Draining": DatacenterGate(writes=True, prunes=False),
    "Maintenance": DatacenterGate(writes=False, prunes=False),
    "Offline": DatacenterGate(writes=False, prunes=False),
}


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """The writes that bring the records to the desired state, sorted by name.

    `blocked` is the message about changes that the state of the datacenter blocks; "" without any.
    """

    insert: tuple[DesiredService, ...] = ()
    update: tuple[tuple[ServiceRecord, DesiredService], ...] = ()
    retire: tuple[ServiceRecord, ...] = ()
    blocked: str = ""


def plan(
    datacenter: DatacenterInfo,
    merge_result: MergeResult,
    records: Iterable[ServiceRecord],
    deleting: bool,
) -> RecordPlan:
    """Compare the desired services with the records.

    A retiring record is not changed; if its name is requested again, it is recreated after its
    removal. If `deleting`, every record is retired.
    """
    existing = sorted(records, key=lambda record: record.name)
    gate = GATES[datacenter.state]
    changes = _retire_all(existing) if deleting else _compare(merge_result.services, existing)
    if not gate.writes:
        blocked = (
            _deletion_blocked(datacenter.state, existing)
            if deleting
            else _changes_blocked(datacenter.state, changes)
        )
        return RecordPlan(blocked=blocked)
    if gate.prunes or deleting or not changes.retire:
        return changes
    return RecordPlan(
        changes.insert,
        changes.update,
        blocked=_retirement_blocked(datacenter.state, changes.retire),
    )


def _retire_all(records: Iterable[ServiceRecord]) -> RecordPlan:
    return RecordPlan(retire=tuple(record for record in records if not record.retiring))


def _compare(services: Iterable[DesiredService], records: Iterable[ServiceRecord]) -> RecordPlan:
    desired = {service.name: service for service in services}
    names = {record.name for record in records}
    active = [record for record in records if not record.retiring]
    return RecordPlan(
        insert=tuple(desired[name] for name in sorted(desired.keys() - names)),
        update=tuple(
            (record, desired[record.name])
            for record in active
            if record.name in desired
            and (record.provider_changed or _differs(record.desired, desired[record.name]))
        ),
        retire=tuple(record for record in active if record.name not in desired),
    )


def _differs(before: DesiredService, after: DesiredService) -> bool:
    # Compare digests: bodies that differ only in notation are equal.
    return before.source != after.source or before.digest != after.digest


def _deletion_blocked(state: State, records: Sequence[ServiceRecord]) -> str:
    if not records:
        return ""
    return (
        f"spec.state is {state}, which blocks the deletion of {_names(records)}; set "
        "it to Active or Draining"
    )


def _changes_blocked(state: State, changes: RecordPlan) -> str:
    counts = {
        "created": len(changes.insert),
        "updated": len(changes.update),
        "retired": len(changes.retire),
    }
    pending = ", ".join(f"{count} would be {what}" for what, count in counts.items() if count)
    hint = f" ({pending}); set it to Active to continue" if pending else ""
    return f"spec.state is {state}: no service is changed{hint}"


def _retirement_blocked(state: State, records: Sequence[ServiceRecord]) -> str:
    return (
        f"spec.state is {state}: no source requests {_names(records)} any more; set it to "
        "Active to retire them"
    )


def _names(records: Iterable[ServiceRecord]) -> str:
    return list_names([record.name for record in records])


def list_names(names: Sequence[str]) -> str:
    """Return names for a message, at most NAMES_MAX of them."""
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return ", ".join(names[:NAMES_MAX]) + more
