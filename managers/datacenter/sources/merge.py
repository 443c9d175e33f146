"""Merges the results of all sources into the desired services of a datacenter. Pure.

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
"""Maximum length of the error of a source in the status."""

UNREGISTERED: Final = (
    "this source is not registered; its services are kept: register it again, or add it to "
    "spec.forgetSources to retire them"
)
STILL_REGISTERED: Final = (
    "spec.forgetSources has no effect on a registered source: unregister it first"
)


@dataclass(frozen=True, slots=True)
class SourceResult:
    """The result of one source for one datacenter.

    `services` is None if the source failed, and `error` has the reason. It is also None, without an
    error, if the source declares nothing. In both cases its previous services are kept.
    """

    source: ServiceSource
    services: tuple[BootstrapService, ...] | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class NameConflict:
    """Two sources have a service of the same name; `winner` and `loser` are the sources."""

    name: str
    winner: str
    loser: str

    @property
    def message(self) -> str:
        """Return the message for users."""
        return (
            f"service {self.name} has two sources, {self.winner} and {self.loser}; the operator "
            f"uses the service of {self.winner} (precedence: declared, higher priority, name): "
            f"remove or rename the service in {self.loser}"
        )


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The state of a source: the number of its services, and its error if it is degraded.

    `digest` is the digest of the bodies of its services (while the source fails, of the bodies in
    the kept records); "" if it never had any.
    """

    source: ServiceSource
    services: int
    digest: str
    error: str


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The desired services of a datacenter, sorted by name; sources by rank."""

    services: tuple[DesiredService, ...]
    conflicts: tuple[NameConflict, ...]
    sources: tuple[SourceReport, ...]


@dataclass(frozen=True, slots=True)
class _SourceRequest:
    """The services that a source requests, from its result or from its existing records."""

    source: ServiceSource
    services: tuple[DesiredService, ...]
    error: str
    valid: bool


def merge(
    results: Iterable[SourceResult],
    records: Iterable[ServiceRecord],
    redeploy: Mapping[str, str],
    forget: frozenset[str],
) -> MergeResult:
    """Merge the results. The first source by rank wins a name, whatever the order of `results`.

    The records of a source without a valid result are kept. The records of an unregistered source
    are kept unless it is in `forget`, or is a BootstrapServiceSet: such a set was deleted, because
    the caller waits until the informer of sets is synced. `redeploy` has tokens by service.
    """
    # A retiring record was not in the last result of its source.
    existing = {record.name: record for record in records if not record.retiring}
    requests = _requests(results, existing, forget)
    winners, conflicts = _resolve_names(
        service for request in requests for service in request.services
    )
    services_by_name, cycles = _break_cycles(winners, existing)
    services = tuple(
        _with_redeploy_token(services_by_name[name], redeploy, existing)
        for name in sorted(services_by_name)
    )
    return MergeResult(services, conflicts, tuple(_reports(requests, services, cycles)))


# --- requests -----------------------------------------------------------------------------------


def _requests(
    results: Iterable[SourceResult], existing: Mapping[str, ServiceRecord], forget: frozenset[str]
) -> list[_SourceRequest]:
    by_source: dict[str, list[DesiredService]] = {}
    for record in existing.values():
        by_source.setdefault(record.desired.source.name, []).append(record.desired)
    requests = []
    for result in results:
        previous = by_source.pop(result.source.name, [])
        requests.append(_from_result(result) or _from_records(result, previous, forget))
    for name, previous in by_source.items():
        if name in forget or name.startswith(SET_PREFIX):
            continue
        error = "" if name == DECLARED else UNREGISTERED
        requests.append(_SourceRequest(_first(previous), tuple(previous), error, valid=False))
    return sorted(requests, key=lambda request: request.source.rank)


def _from_result(result: SourceResult) -> _SourceRequest | None:
    if result.services is None:
        return None
    services = tuple(DesiredService(service, result.source) for service in result.services)
    return _SourceRequest(result.source, services, result.error, valid=True)


def _from_records(
    result: SourceResult, previous: list[DesiredService], forget: frozenset[str]
) -> _SourceRequest:
    error = result.error
    if error and result.source.name in forget:
        error = f"{error}; {STILL_REGISTERED}"
    # The result of an invalid source may lack the priority.
    source = _first(previous) if previous else result.source
    return _SourceRequest(source, tuple(previous), error, valid=False)


def _first(services: Iterable[DesiredService]) -> ServiceSource:
    return min((service.source for service in services), key=lambda source: source.rank)


def _resolve_names(
    candidates: Iterable[DesiredService],
) -> tuple[dict[str, DesiredService], tuple[NameConflict, ...]]:
    """Assign each name to its first source by rank, and return the conflicts."""
    # The digest makes the result stable if a source has a name twice.
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


def _with_redeploy_token(
    service: DesiredService, redeploy: Mapping[str, str], existing: Mapping[str, ServiceRecord]
) -> DesiredService:
    # Keep the token when it is removed from the datacenter: its removal would restart the pods.
    previous = existing[service.name].desired.redeploy if service.name in existing else ""
    return replace(service, redeploy=redeploy.get(service.name, previous))


# --- dependency cycles --------------------------------------------------------------------------


def _break_cycles(
    winners: Mapping[str, DesiredService], existing: Mapping[str, ServiceRecord]
) -> tuple[dict[str, DesiredService], dict[str, list[str]]]:
    """Use the existing records for the services of a cycle, and drop those without a record.

    Also returns the messages, by name of source. A kept record may be part of another cycle; an
    existing record is never removed.
    """
    services_by_name = dict(winners)
    resolved: set[str] = set()
    messages: dict[str, list[str]] = {}
    while True:
        graph = _dependency_graph(services_by_name)
        cycles = [cycle for cycle in _cycles(graph) if not resolved.issuperset(cycle)]
        if not cycles:
            return services_by_name, messages
        for cycle in cycles:
            text = _cycle_message(graph, cycle)
            for source in dict.fromkeys(winners[name].source.name for name in cycle):
                messages.setdefault(source, []).append(text)
        for name in {name for cycle in cycles for name in cycle} - resolved:
            resolved.add(name)
            if name in existing:
                services_by_name[name] = existing[name].desired
            else:
                del services_by_name[name]


def _dependency_graph(services: Mapping[str, DesiredService]) -> dict[str, set[str]]:
    """Return the dependencies of each service, among the desired ones."""
    required = dependencies(service.service for service in services.values())
    return {name: services.keys() & names for name, names in required.items()}


def _cycles(graph: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Group the names that depend on themselves, directly or transitively; sorted."""
    reachable_from = {name: _reachable(graph, name) for name in _not_startable(graph)}
    cyclic = sorted(name for name, reachable in reachable_from.items() if name in reachable)
    cycles = dict.fromkeys(
        tuple(
            other
            for other in cyclic
            if other in reachable_from[name] and name in reachable_from[other]
        )
        for name in cyclic
    )
    return list(cycles)


def _not_startable(graph: Mapping[str, set[str]]) -> set[str]:
    """Return the names that can never start, because of a cycle; usually none."""
    left = set(graph)
    while free := {name for name in left if not graph[name] & left}:
        left -= free
    return left


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    visited: set[str] = set()
    frontier = set(graph[start])
    while frontier:
        visited |= frontier
        frontier = set().union(*(graph[name] for name in frontier)) - visited
    return visited


def _cycle_message(graph: Mapping[str, set[str]], cycle: tuple[str, ...]) -> str:
    path = find_cycle({name: sorted(graph[name].intersection(cycle)) for name in cycle}) or cycle
    return (
        f"dependsOn has a cycle: {' -> '.join(path)}; the operator neither creates nor changes "
        f"the services {', '.join(cycle)}: remove one of these dependencies"
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
            digest([body.to_object() for body in bodies]) if bodies or request.valid else ""
        )
        error = "; ".join(filter(None, (request.error, *cycles.get(request.source.name, ()))))
        short = error if len(error) <= ERROR_MAX else f"{error[: ERROR_MAX - 3]}..."
        yield SourceReport(request.source, len(bodies), contribution, short)
