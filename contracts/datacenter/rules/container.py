"""Rules about the containers of a service: their order, variables, ports and health checks.

Uses contracts.datacenter.dependencies and contracts.datacenter.rules.service. Collected by
contracts.datacenter.rules.all_rules.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from contracts.api.rules.rule import InvalidField
from contracts.api.values.field_path import values_at
from contracts.api.values.pattern import Pattern
from contracts.datacenter import dependencies
from contracts.datacenter.rules.service import FORBIDDEN, Find, ServiceRule
from contracts.datacenter.service_spec import (
    BootstrapService,
    HealthCheck,
    ServiceContainer,
    ServicePort,
)

_CONTAINERS = "services[]"
_PORTS = "services[].ports[]"
_LETTER = Pattern("[a-z]")


def duplicates(
    service: BootstrapService, path: str, key: Callable[[Any], Hashable]
) -> Iterator[InvalidField]:
    """Return the values at a path whose key equals that of an earlier one."""
    seen: set[Hashable] = set()
    for location, value in values_at(service, path):
        value_key = key(value)
        if value_key in seen:
            yield location, value_key
        seen.add(value_key)


def _main_dependencies(service: BootstrapService) -> Iterator[InvalidField]:
    for path, container in values_at(service, _CONTAINERS):
        if container.role == "Main" and container.depends_on:
            yield f"{path}.dependsOn", container.depends_on[0]


def _unknown_container(service: BootstrapService) -> Iterator[InvalidField]:
    non_main = {container.name for container in service.services if container.role != "Main"}
    for path, name in values_at(service, "services[].dependsOn[]"):
        if name not in non_main:
            yield path, name


def _cycle(service: BootstrapService) -> Iterator[InvalidField]:
    graph = {container.name: container.depends_on for container in service.services}
    cycle = dependencies.find_cycle(graph)
    if cycle is not None:
        yield "services", " -> ".join(cycle)


def _init_serves(service: BootstrapService) -> Iterator[InvalidField]:
    for path, container in values_at(service, _CONTAINERS):
        if container.role == "Init":
            yield from ((f"{path}.{field}", container.name) for field in _serving_fields(container))


def _serving_fields(container: ServiceContainer) -> Iterator[str]:
    if container.ports:
        yield "ports"
    if container.health_check is not None:
        yield "healthCheck"


def _env_value(service: BootstrapService) -> Iterator[InvalidField]:
    for path, variable in values_at(service, "services[].env[]"):
        if (variable.value is None) == (variable.secret is None):
            yield path, variable.name


def _check(service: BootstrapService) -> Iterator[InvalidField]:
    for path, check in values_at(service, "services[].healthCheck"):
        if check is not None and not _is_valid_check(check):
            yield path, None


def _is_valid_check(check: HealthCheck) -> bool:
    if check.command:
        return check.port is None and check.http_path is None
    return check.port is not None


def _port_name(service: BootstrapService) -> Iterator[InvalidField]:
    for path, port in values_at(service, _PORTS):
        if "--" in port.name or not _LETTER.found_in(port.name):
            yield f"{path}.name", port.name


def _port_number(port: ServicePort) -> str:
    return f"{port.port}/{port.protocol}"


def _service_port_number(port: ServicePort) -> str:
    return f"{port.service_port or port.port}/{port.protocol}"


def _duplicate_ports(key: Callable[[ServicePort], str]) -> Find:
    return lambda service: duplicates(service, _PORTS, key)


def _unique_ports(number: str) -> str:
    """Return CEL: no two ports of a container have the same number and protocol."""
    first, second = number.format("a"), number.format("b")
    same = f"{first} == {second} && a.protocol == b.protocol"
    return f"!has(self.ports) || self.ports.all(a, self.ports.exists_one(b, {same}))"


_SERVICE_PORT = "(has({0}.servicePort) ? {0}.servicePort : {0}.port)"

CONTAINER_RULES: tuple[ServiceRule, ...] = (
    ServiceRule(
        id="main-depends",
        at=_CONTAINERS,
        field=f"{_CONTAINERS}.dependsOn",
        message=(
            "must be empty for role Main, which starts after every Init and Sidecar anyway; "
            "remove it"
        ),
        find=_main_dependencies,
        cel="self.role != 'Main' || !has(self.dependsOn) || size(self.dependsOn) == 0",
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="part-depends",
        at="services",
        field="services",
        message=(
            "must name Init and Sidecar containers of the same service in dependsOn; correct the "
            "name, or use dependsOn of the service for another service"
        ),
        find=_unknown_container,
        cel=(
            "self.all(p, !has(p.dependsOn) || "
            "p.dependsOn.all(d, self.exists(q, q.name == d && q.role != 'Main')))"
        ),
    ),
    ServiceRule(
        id="part-circle",
        at="services",
        field="services",
        message=(
            "must not depend on each other in a cycle, because none of them would ever start; "
            "remove one of the dependsOn"
        ),
        find=_cycle,
        # Cycles of two only: CEL cannot traverse a graph.
        cel=(
            "self.all(p, !has(p.dependsOn) || self.all(q, !has(q.dependsOn) || "
            "!(p.name in q.dependsOn && q.name in p.dependsOn)))"
        ),
    ),
    ServiceRule(
        id="init-serves",
        at=_CONTAINERS,
        field=_CONTAINERS,
        message=(
            "must have neither ports nor healthCheck with role Init, because it completes before "
            "the Main container starts; remove them or make it a Sidecar"
        ),
        find=_init_serves,
        cel=(
            "self.role != 'Init' || "
            "(!has(self.healthCheck) && (!has(self.ports) || size(self.ports) == 0))"
        ),
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="variable",
        at="services[].env[]",
        field="services[].env[]",
        message="must have exactly one of value and secret; remove one or add one",
        find=_env_value,
        cel="has(self.value) != has(self.secret)",
        got="self.name",
    ),
    ServiceRule(
        id="health-check",
        at="services[].healthCheck",
        field="services[].healthCheck",
        message="must have either port, with or without httpPath, or command; remove the other",
        find=_check,
        cel=(
            "has(self.command) && size(self.command) > 0 ? "
            "!has(self.port) && !has(self.httpPath) : has(self.port)"
        ),
    ),
    ServiceRule(
        id="port-name",
        at=_PORTS,
        field=f"{_PORTS}.name",
        message="must have a letter and no consecutive hyphens, such as http",
        find=_port_name,
        cel=f"!self.name.contains('--') && {_LETTER.cel('self.name')}",
        got="self.name",
    ),
    ServiceRule(
        id="port-number",
        at=_CONTAINERS,
        field=f"{_CONTAINERS}.ports",
        message=(
            "must have each port and protocol once in all containers of the service, because they "
            "share the address of the pod; choose another port"
        ),
        find=_duplicate_ports(_port_number),
        cel=_unique_ports("{0}.port"),
    ),
    ServiceRule(
        id="service-port",
        at=_CONTAINERS,
        field=f"{_CONTAINERS}.ports",
        message=(
            "must have each servicePort and protocol once in all containers of the service (left "
            "out, it is port); choose another servicePort"
        ),
        find=_duplicate_ports(_service_port_number),
        cel=_unique_ports(_SERVICE_PORT),
    ),
    ServiceRule(
        id="port-names",
        field="services",
        message=(
            "must have each name of a port once in all containers of the service, because they are "
            "ports of one Service; rename one"
        ),
        find=lambda service: duplicates(service, _PORTS, lambda port: port.name),
    ),
)
