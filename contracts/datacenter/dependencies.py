"""Dependencies among the services of a datacenter and among the containers of a service.

Uses graphlib and contracts.datacenter. Called by contracts.datacenter.rules.all_rules, which
rejects cycles, and by managers.datacenter, which creates and retires services in order. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import TypeAlias

from contracts.datacenter.names import OPENBAO_READY
from contracts.datacenter.service_spec import BootstrapService, ServiceContainer
from contracts.datacenter.workload_records import ServiceRecord

Graph: TypeAlias = Mapping[str, Sequence[str]]
"""Names, each with the names that it depends on."""


def find_cycle(graph: Graph) -> tuple[str, ...] | None:
    """Return a cycle of dependencies; None without one.

    Each name depends on the next one. The first name is the one that sorts first, and is repeated
    at the end. The result does not depend on the order of the graph.
    """
    sorter = TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)})
    try:
        sorter.prepare()
    except CycleError as error:
        # graphlib returns the reverse order: each name is a dependency of the next one.
        names: list[str] = list(reversed(error.args[1]))[:-1]
        first = names.index(min(names))
        return (*names[first:], *names[:first], names[first])
    return None


def dependencies(services: Iterable[BootstrapService]) -> dict[str, tuple[str, ...]]:
    """Return the dependencies of each service; openbao:ready is every OpenBaoCluster among them.

    Names of missing services are kept, and so is openbao:ready while there is no OpenBaoCluster.
    """
    listed = tuple(services)
    vaults = tuple(service.name for service in listed if service.kind == "OpenBaoCluster")
    return {service.name: _dependencies_of(service, vaults) for service in listed}


def _dependencies_of(service: BootstrapService, vaults: tuple[str, ...]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for name in service.depends_on:
        names.update(dict.fromkeys(vaults if vaults and name == OPENBAO_READY else (name,)))
    return tuple(names)


def creation_order(services: Iterable[BootstrapService]) -> tuple[BootstrapService, ...]:
    """Return the services, each after its dependencies, otherwise in the order of the list.

    Names must be unique. Services in a cycle, and those that depend on one, come last.
    """
    listed = {service.name: service for service in services}
    return tuple(listed[name] for name in _topological_order(dependencies(listed.values())))


def container_order(service: BootstrapService) -> tuple[ServiceContainer, ...]:
    """Return the init and sidecar containers of a service in their start order.

    Each comes after its dependencies, otherwise in the order of the list.
    """
    non_main = {
        container.name: container for container in service.services if container.role != "Main"
    }
    graph = {name: container.depends_on for name, container in non_main.items()}
    return tuple(non_main[name] for name in _topological_order(graph))


def _topological_order(graph: Graph) -> tuple[str, ...]:
    names = tuple(graph)
    index_of = {name: index for index, name in enumerate(names)}
    sorter = TopologicalSorter(
        {name: [other for other in graph[name] if other in index_of] for name in names}
    )
    # The names outside of a cycle are sorted nevertheless.
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


def unmet_dependencies(
    record: ServiceRecord, records: Iterable[ServiceRecord], is_running: Callable[[str], bool]
) -> tuple[str, ...]:
    """Return the dependencies that block the creation of a service, in the order of its body.

    `records` are those of its datacenter; `is_running` is called with their names. A name without
    a record is unmet, and so is openbao:ready while there is no OpenBaoCluster.
    """
    services = {other.name: other.desired.service for other in records}
    services[record.name] = record.desired.service
    names = dependencies(services.values())[record.name]
    return tuple(name for name in names if name not in services or not is_running(name))


def dependents(record: ServiceRecord, records: Iterable[ServiceRecord]) -> tuple[str, ...]:
    """Return the services that block the removal of a service because they depend on it, sorted.

    `records` are the existing ones of its datacenter. A service in a dependency cycle with it does
    not block it: otherwise neither could be removed.
    """
    services = {other.name: other.desired.service for other in records}
    services[record.name] = record.desired.service
    graph = dependencies(services.values())
    required = _transitive_dependencies(record.name, graph)
    return tuple(
        name for name in sorted(graph) if record.name in graph[name] and name not in required
    )


def _transitive_dependencies(name: str, graph: Graph) -> set[str]:
    """Return the direct and indirect dependencies of a name, and the name itself."""
    names: set[str] = set()
    waiting = [name]
    while waiting:
        service = waiting.pop()
        if service not in names:
            names.add(service)
            waiting.extend(graph.get(service, ()))
    return names
