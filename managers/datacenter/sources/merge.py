"""Merges the answers of all sources into the desired services of a datacenter. Pure.

Uses contracts.datacenter. Called by managers.datacenter.lifecycle.service; its result goes to
managers.datacenter.lifecycle.plan and into the status of the datacenter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from contracts.datacenter.dependencies import dependencies, find_cycle
from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import (
    DECLARED,
    DesiredService,
    ServiceRecord,
    ServiceSource,
)
from runtime.apply.intent import digest

SET_PREFIX: Final = "set/"
HOOK_PREFIX: Final = "hook/"
ERROR_MAX: Final = 1024
"""Most characters of the error of a source in the status."""

NOBODY: Final = (
    "nobody answers for this source; its services stay as they are: register it again, or name it "
    "in spec.forgetSources to retire them"
)
NOT_FORGOTTEN: Final = (
    "spec.forgetSources names it to no effect while it is registered: unregister it first"
)


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """The answer of one source for one datacenter.

    `services` is None for a source that failed, with the reason in `error`; without an error it
    has no answer yet: its previous contribution stays, and it is not degraded.
    """

    source: ServiceSource
    services: tuple[BootstrapService, ...] | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class NameConflict:
    """Two sources contribute the same name; `winner` and `loser` are their names."""

    name: str
    winner: str
    loser: str

    @property
    def message(self) -> str:
        """Name the winner, the rule, and what to do."""
        return (
            f"service {self.name}: {self.winner} and {self.loser} both give it; that of "
            f"{self.winner} is used (declared, then the higher priority, then the name): take it "
            f"out of {self.loser}, or name it otherwise there"
        )


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The state of a source: how many services it contributes, and why it is degraded.

    `digest` is that of the bodies that it contributes, "" if it never contributed; while it fails,
    that of the records that are kept for it.
    """

    source: ServiceSource
    services: int
    digest: str
    error: str


@dataclass(frozen=True, slots=True)
class Merged:
    """The desired services of a datacenter, sorted by name; sources by rank."""

    services: tuple[DesiredService, ...]
    conflicts: tuple[NameConflict, ...]
    sources: tuple[SourceReport, ...]


@dataclass(frozen=True, slots=True)
class _SourceRequest:
    """The services that a source requests, by its answer or by its existing records."""

    source: ServiceSource
    services: tuple[DesiredService, ...]
    error: str
    good: bool


def merge(
    answers: Iterable[SourceAnswer],
    records: Iterable[ServiceRecord],
    redeploy: Mapping[str, str],
    forgotten: frozenset[str],
) -> Merged:
    """Merge the answers; the first source by rank wins a name, independent of their order.

    A source without a valid answer keeps its records. So does one that is not registered, unless it
    is in `forgotten` or is a BootstrapServiceSet, which is then deleted: the caller waits until the
    informer of sets is synced. `redeploy` has redeploy tokens by name of service.
    """
    # A retiring record was not in the last answer of its source.
    present = {record.name: record for record in records if not record.retiring}
    requests = _requests(answers, present, forgotten)
    winners, conflicts = _resolve_names(
        service for request in requests for service in request.services
    )
    chosen, cycles = _break_cycles(winners, present)
    services = tuple(_ordered(chosen[name], redeploy, present) for name in sorted(chosen))
    return Merged(services, conflicts, tuple(_reports(requests, services, cycles)))


# --- requests -----------------------------------------------------------------------------------


def _requests(
    answers: Iterable[SourceAnswer], present: Mapping[str, ServiceRecord], forgotten: frozenset[str]
) -> list[_SourceRequest]:
    earlier: dict[str, list[DesiredService]] = {}
    for record in present.values():
        earlier.setdefault(record.desired.source.name, []).append(record.desired)
    requests = []
    for answer in answers:
        before = earlier.pop(answer.source.name, [])
        requests.append(_from_answer(answer) or _from_records(answer, before, forgotten))
    for name, before in earlier.items():
        if name in forgotten or name.startswith(SET_PREFIX):
            continue
        error = "" if name == DECLARED else NOBODY
        requests.append(_SourceRequest(_first(before), tuple(before), error, good=False))
    return sorted(requests, key=lambda request: request.source.rank)


def _from_answer(answer: SourceAnswer) -> _SourceRequest | None:
    if answer.services is None:
        return None
    services = tuple(DesiredService(service, answer.source) for service in answer.services)
    return _SourceRequest(answer.source, services, answer.error, good=True)


def _from_records(
    answer: SourceAnswer, before: list[DesiredService], forgotten: frozenset[str]
) -> _SourceRequest:
    error = answer.error
    if error and answer.source.name in forgotten:
        error = f"{error}; {NOT_FORGOTTEN}"
    # An invalid source may have lost its priority with the rest.
    source = _first(before) if before else answer.source
    return _SourceRequest(source, tuple(before), error, good=False)


def _first(services: Iterable[DesiredService]) -> ServiceSource:
    return min((service.source for service in services), key=lambda source: source.rank)


def _resolve_names(
    candidates: Iterable[DesiredService],
) -> tuple[dict[str, DesiredService], tuple[NameConflict, ...]]:
    """Assign each name to its first source by rank, and return the conflicts."""
    # The digest decides if one source contributes a name twice: its order may change.
    ranked = sorted(
        candidates, key=lambda service: (service.name, service.source.rank, service.digest)
    )
    winners: dict[str, DesiredService] = {}
    conflicts: dict[NameConflict, None] = {}
    for service in ranked:
        winner = winners.setdefault(service.name, service)
        if winner is not service:
            conflicts[NameConflict(service.name, winner.source.name, service.source.name)] = None
    return winners, tuple(conflicts)


def _ordered(
    service: DesiredService, redeploy: Mapping[str, str], present: Mapping[str, ServiceRecord]
) -> DesiredService:
    # A removed token was carried out; dropping it from the record would roll the pods again.
    before = present[service.name].desired.redeploy if service.name in present else ""
    return replace(service, redeploy=redeploy.get(service.name, before))


# --- dependency cycles --------------------------------------------------------------------------


def _break_cycles(
    winners: Mapping[str, DesiredService], present: Mapping[str, ServiceRecord]
) -> tuple[dict[str, DesiredService], dict[str, list[str]]]:
    """Keep the services of a cycle as their records have them, and drop those without a record.

    Also returns the messages, by name of source. Restoring a record may close another cycle; an
    existing record is never removed.
    """
    chosen = dict(winners)
    settled: set[str] = set()
    messages: dict[str, list[str]] = {}
    while True:
        graph = _waits(chosen)
        cycles = [cycle for cycle in _cycles(graph) if not settled.issuperset(cycle)]
        if not cycles:
            return chosen, messages
        for cycle in cycles:
            text = _cycle_message(graph, cycle)
            for source in dict.fromkeys(winners[name].source.name for name in cycle):
                messages.setdefault(source, []).append(text)
        for name in {name for cycle in cycles for name in cycle} - settled:
            settled.add(name)
            if name in present:
                chosen[name] = present[name].desired
            else:
                del chosen[name]


def _waits(services: Mapping[str, DesiredService]) -> dict[str, set[str]]:
    """Return the dependencies of each service, among the desired ones."""
    required = dependencies(service.service for service in services.values())
    return {name: services.keys() & names for name, names in required.items()}


def _cycles(graph: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Group the names that depend on themselves, directly or transitively; sorted."""
    behind = {name: _reached(graph, name) for name in _unresolved(graph)}
    looped = sorted(name for name, reachable in behind.items() if name in reachable)
    cycles = dict.fromkeys(
        tuple(other for other in looped if other in behind[name] and name in behind[other])
        for name in looped
    )
    return list(cycles)


def _unresolved(graph: Mapping[str, set[str]]) -> set[str]:
    """Return the names that remain after all that can start are removed; usually none."""
    left = set(graph)
    while free := {name for name in left if not graph[name] & left}:
        left -= free
    return left


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    ahead = set(graph[start])
    while ahead:
        reached |= ahead
        ahead = set().union(*(graph[name] for name in ahead)) - reached
    return reached


def _cycle_message(graph: Mapping[str, set[str]], cycle: tuple[str, ...]) -> str:
    path = find_cycle({name: sorted(graph[name].intersection(cycle)) for name in cycle}) or cycle
    return (
        f"dependsOn goes round in a circle: {' -> '.join(path)}; what there is of "
        f"{', '.join(cycle)} stays as it was, and nothing is made anew: take one of them out"
    )


# --- reports of sources -------------------------------------------------------------------------


def _reports(
    requests: Iterable[_SourceRequest],
    services: Iterable[DesiredService],
    cycles: Mapping[str, list[str]],
) -> Iterator[SourceReport]:
    bodies_by_source: dict[str, list[BootstrapService]] = {}
    for service in services:
        bodies_by_source.setdefault(service.source.name, []).append(service.service)
    for request in requests:
        bodies = bodies_by_source.get(request.source.name, [])
        contribution = (
            digest([body.to_object() for body in bodies]) if bodies or request.good else ""
        )
        error = "; ".join(filter(None, (request.error, *cycles.get(request.source.name, ()))))
        short = error if len(error) <= ERROR_MAX else f"{error[: ERROR_MAX - 3]}..."
        yield SourceReport(request.source, len(bodies), contribution, short)
