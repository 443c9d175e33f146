"""Rules about the containers of a service: their order, variables, ports and health.

Uses contracts.datacenter.dependencies and contracts.datacenter.rules.service. Collected by
contracts.datacenter.rules.all_rules.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from contracts.api.rules.rule import Offence
from contracts.api.values.field_path import values_at
from contracts.api.values.pattern import Pattern
from contracts.datacenter import dependencies
from contracts.datacenter.rules.service import FORBIDDEN, Find, ServiceRule
from contracts.datacenter.service_spec import (
    BootstrapService,
    HealthCheck,
    ServicePart,
    ServicePort,
)

_PARTS = "services[]"
_PORTS = "services[].ports[]"
_LETTER = Pattern("[a-z]")


def each_twice(
    service: BootstrapService, path: str, key: Callable[[Any], Hashable]
) -> Iterator[Offence]:
    """Whatever at a path has the key of something before it."""
    seen: set[Hashable] = set()
    for location, value in values_at(service, path):
        mark = key(value)
        if mark in seen:
            yield location, mark
        seen.add(mark)


def _of_main(service: BootstrapService) -> Iterator[Offence]:
    for path, part in values_at(service, _PARTS):
        if part.role == "Main" and part.depends_on:
            yield f"{path}.dependsOn", part.depends_on[0]


def _unknown_part(service: BootstrapService) -> Iterator[Offence]:
    helpers = {part.name for part in service.services if part.role != "Main"}
    for path, name in values_at(service, "services[].dependsOn[]"):
        if name not in helpers:
            yield path, name


def _circle(service: BootstrapService) -> Iterator[Offence]:
    graph = {part.name: part.depends_on for part in service.services}
    cycle = dependencies.find_cycle(graph)
    if cycle is not None:
        yield "services", " -> ".join(cycle)


def _of_init(service: BootstrapService) -> Iterator[Offence]:
    for path, part in values_at(service, _PARTS):
        if part.role == "Init":
            yield from ((f"{path}.{field}", part.name) for field in _served(part))


def _served(part: ServicePart) -> Iterator[str]:
    if part.ports:
        yield "ports"
    if part.health_check is not None:
        yield "healthCheck"


def _variable(service: BootstrapService) -> Iterator[Offence]:
    for path, variable in values_at(service, "services[].env[]"):
        if (variable.value is None) == (variable.secret is None):
            yield path, variable.name


def _check(service: BootstrapService) -> Iterator[Offence]:
    for path, check in values_at(service, "services[].healthCheck"):
        if check is not None and not _is_one(check):
            yield path, None


def _is_one(check: HealthCheck) -> bool:
    if check.command:
        return check.port is None and check.http_path is None
    return check.port is not None


def _port_name(service: BootstrapService) -> Iterator[Offence]:
    for path, port in values_at(service, _PORTS):
        if "--" in port.name or not _LETTER.found_in(port.name):
            yield f"{path}.name", port.name


def _number(port: ServicePort) -> str:
    return f"{port.port}/{port.protocol}"


def _outer_number(port: ServicePort) -> str:
    return f"{port.service_port or port.port}/{port.protocol}"


def _ports_twice(key: Callable[[ServicePort], str]) -> Find:
    return lambda service: each_twice(service, _PORTS, key)


def _once(number: str) -> str:
    """CEL for: no two ports of a container have the same number and protocol."""
    ours, theirs = number.format("a"), number.format("b")
    same = f"{ours} == {theirs} && a.protocol == b.protocol"
    return f"!has(self.ports) || self.ports.all(a, self.ports.exists_one(b, {same}))"


_OUTER = "(has({0}.servicePort) ? {0}.servicePort : {0}.port)"

PART_RULES: tuple[ServiceRule, ...] = (
    ServiceRule(
        id="main-depends",
        at=_PARTS,
        field=f"{_PARTS}.dependsOn",
        message=(
            "must be empty for role Main, which starts behind every Init and Sidecar anyway; "
            "remove it"
        ),
        find=_of_main,
        cel="self.role != 'Main' || !has(self.dependsOn) || size(self.dependsOn) == 0",
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="part-depends",
        at="services",
        field="services",
        message=(
            "must name Inits and Sidecars of the same service in dependsOn; correct the name, or "
            "use dependsOn of the service for another service"
        ),
        find=_unknown_part,
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
            "must not depend on each other in a circle, or none of them would ever start; remove "
            "one of the dependsOn"
        ),
        find=_circle,
        # No more than two of them: CEL knows no way along a graph.
        cel=(
            "self.all(p, !has(p.dependsOn) || self.all(q, !has(q.dependsOn) || "
            "!(p.name in q.dependsOn && q.name in p.dependsOn)))"
        ),
    ),
    ServiceRule(
        id="init-serves",
        at=_PARTS,
        field=_PARTS,
        message=(
            "must have neither ports nor healthCheck with role Init, for it ends before anything "
            "is served; remove them or make it a Sidecar"
        ),
        find=_of_init,
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
        find=_variable,
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
        message="must hold a letter and no two hyphens in a row; http is a good one",
        find=_port_name,
        cel=f"!self.name.contains('--') && {_LETTER.cel('self.name')}",
        got="self.name",
    ),
    ServiceRule(
        id="port-number",
        at=_PARTS,
        field=f"{_PARTS}.ports",
        message=(
            "must take each port and protocol once in all containers of the service, for they "
            "share one address; choose another port"
        ),
        find=_ports_twice(_number),
        cel=_once("{0}.port"),
    ),
    ServiceRule(
        id="service-port",
        at=_PARTS,
        field=f"{_PARTS}.ports",
        message=(
            "must take each servicePort and protocol once in all containers of the service (left "
            "out, it is port); choose another servicePort"
        ),
        find=_ports_twice(_outer_number),
        cel=_once(_OUTER),
    ),
    ServiceRule(
        id="port-names",
        field="services",
        message=(
            "must give each name of a port once in all containers of the service, for they are "
            "ports of one Service; rename one"
        ),
        find=lambda service: each_twice(service, _PORTS, lambda port: port.name),
    ),
)
