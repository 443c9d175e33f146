"""Dependencies among the services of a datacenter and among the containers of a service.

Uses graphlib and contracts.datacenter. Called by contracts.datacenter.rules.all_rules, which
refuses cycles, and by managers.datacenter, which creates and retires services in order. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import TypeAlias

from contracts.datacenter.service_spec import OPENBAO_READY, BootstrapService, ServicePart
from contracts.datacenter.workload_records import ServiceRecord

Graph: TypeAlias = Mapping[str, Sequence[str]]
"""Names, and the names that each depends on."""


def find_cycle(graph: Graph) -> tuple[str, ...] | None:
    """A cycle of dependencies; None without one.

    Each name depends on the next one; the last is the first again, the one that sorts first. The
    same for the same graph, however it is ordered.
    """
    sorter = TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)})
    try:
        sorter.prepare()
    except CycleError as error:
        # graphlib tells it the other way round: each comes before the next one.
        names: list[str] = list(reversed(error.args[1]))[:-1]
        first = names.index(min(names))
        return (*names[first:], *names[:first], names[first])
    return None


def dependencies(services: Iterable[BootstrapService]) -> dict[str, tuple[str, ...]]:
    """The names that each service depends on, openbao:ready as every OpenBaoCluster among them.

    Names that no service has stay in; openbao:ready stays as it is while there is no cluster.
    """
    listed = tuple(services)
    vaults = tuple(one.name for one in listed if one.kind == "OpenBaoCluster")
    return {one.name: _resolved(one, vaults) for one in listed}


def _resolved(service: BootstrapService, vaults: tuple[str, ...]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for name in service.depends_on:
        names.update(dict.fromkeys(vaults if vaults and name == OPENBAO_READY else (name,)))
    return tuple(names)


def creation_order(services: Iterable[BootstrapService]) -> tuple[BootstrapService, ...]:
    """The services, each behind what it depends on, and as they are listed where that is free.

    Names must be unique. What is part of a circle, or behind one, comes last.
    """
    listed = {one.name: one for one in services}
    return tuple(listed[name] for name in _ordered(dependencies(listed.values())))


def part_order(service: BootstrapService) -> tuple[ServicePart, ...]:
    """The inits and sidecars of a service in the order in which they are started.

    Each behind what it depends on, and as they are listed where that is free.
    """
    helpers = {part.name: part for part in service.services if part.role != "Main"}
    graph = {name: part.depends_on for name, part in helpers.items()}
    return tuple(helpers[name] for name in _ordered(graph))


def _ordered(graph: Graph) -> tuple[str, ...]:
    names = tuple(graph)
    index_of = {name: index for index, name in enumerate(names)}
    sorter = TopologicalSorter(
        {name: [other for other in graph[name] if other in index_of] for name in names}
    )
    # Goes on with what no circle blocks.
    with suppress(CycleError):
        sorter.prepare()
    done: dict[str, None] = {}
    free: list[int] = []
    while True:
        for name in sorter.get_ready():
            heappush(free, index_of[name])
        if not free:
            return (*done, *(name for name in names if name not in done))
        name = names[heappop(free)]
        done[name] = None
        sorter.done(name)


def waits_for(
    record: ServiceRecord, records: Iterable[ServiceRecord], is_running: Callable[[str], bool]
) -> tuple[str, ...]:
    """The names that a service waits for before its creation, in the order of its body.

    `records` are those of its datacenter, `is_running` is called with their names. It waits for a
    name without a record too, and for openbao:ready while there is no OpenBaoCluster.
    """
    services = {other.name: other.desired.service for other in records}
    services[record.name] = record.desired.service
    names = dependencies(services.values())[record.name]
    return tuple(name for name in names if name not in services or not is_running(name))


def held_by(record: ServiceRecord, records: Iterable[ServiceRecord]) -> tuple[str, ...]:
    """The services that depend on a service, sorted: it is not retired before they are gone.

    `records` are those of its datacenter that exist. A service that depends on it in a cycle does
    not hold it, or neither of them would ever be removed.
    """
    services = {other.name: other.desired.service for other in records}
    services[record.name] = record.desired.service
    graph = dependencies(services.values())
    below = _below(record.name, graph)
    return tuple(name for name in sorted(graph) if record.name in graph[name] and name not in below)


def _below(name: str, graph: Graph) -> set[str]:
    """Everything that a name depends on, directly or not, and the name itself."""
    names: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in names:
            names.add(one)
            waiting.extend(graph.get(one, ()))
    return names
