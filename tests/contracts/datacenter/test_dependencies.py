"""The order of services and containers: behind what they depend on, and never in a circle."""

from dataclasses import replace
from itertools import pairwise

import pytest

from contracts.datacenter.dependencies import (
    container_order,
    creation_order,
    dependencies,
    dependents,
    find_cycle,
    unmet_dependencies,
)
from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    ServiceRecord,
    ServiceSource,
)
from tests.contracts.datacenter.services import helper, part, service, vault

INFO = DatacenterInfo("fra1", "uid", "dc-fra1")


def parse_service(name: str, *depends_on: str, kind: str = "Deployment") -> BootstrapService:
    body = vault(name) if kind == "OpenBaoCluster" else service(name)
    return BootstrapService.model_validate({**body, "dependsOn": list(depends_on)})


def cluster(name: str, *depends_on: str) -> BootstrapService:
    return parse_service(name, *depends_on, kind="OpenBaoCluster")


def record(body: BootstrapService) -> ServiceRecord:
    return ServiceRecord(f"id-{body.name}", INFO, DesiredService(body, ServiceSource("declared")))


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({}, None),
        ({"a": ("b", "c"), "b": ("c",), "c": ()}, None),
        ({"a": ("nobody",)}, None),
        ({"a": ("a",)}, ("a", "a")),
        ({"a": ("b",), "b": ("a",)}, ("a", "b", "a")),
        ({"c": ("a",), "b": ("c",), "a": ("b",)}, ("a", "b", "c", "a")),
        ({"z": ("x",), "x": ("y",), "y": ("x",)}, ("x", "y", "x")),
        ({"x": ("y",), "y": ("z", "a"), "z": (), "a": ("x", "z")}, ("a", "x", "y", "a")),
    ],
)
def test_a_circle_is_named_from_its_first_name(
    graph: dict[str, tuple[str, ...]], expected: tuple[str, ...] | None
) -> None:
    assert find_cycle(graph) == expected
    assert find_cycle(dict(reversed(graph.items()))) == expected


def test_each_name_of_a_circle_depends_on_the_next() -> None:
    graph = {str(n): [str((n * 7 + 3) % 10)] for n in range(10)}
    cycle = find_cycle(graph)
    assert cycle is not None
    assert cycle[0] == cycle[-1] == min(cycle)
    assert all(after in graph[before] for before, after in pairwise(cycle))


def test_all_vaults_are_waited_for_and_each_name_once() -> None:
    services = [
        parse_service("a", "openbao:ready", "v2", "gone"),
        cluster("v2"),
        cluster("v1", "b"),
        parse_service("b"),
    ]
    assert dependencies(services) == {"a": ("v2", "v1", "gone"), "v2": (), "v1": ("b",), "b": ()}
    assert dependencies([parse_service("a", "openbao:ready")]) == {"a": ("openbao:ready",)}


@pytest.mark.parametrize(
    ("services", "expected"),
    [
        ([], ""),
        ([parse_service("c"), parse_service("a"), parse_service("b")], "c a b"),
        ([parse_service("a", "c"), parse_service("b"), parse_service("c")], "b c a"),
        (
            [
                parse_service("a", "b"),
                parse_service("b", "c"),
                parse_service("c"),
                parse_service("d"),
            ],
            "c b a d",
        ),
        (
            [parse_service("a", "openbao:ready"), parse_service("b", "nobody"), cluster("v", "b")],
            "b v a",
        ),
        (
            [
                parse_service("a", "b"),
                parse_service("b", "a"),
                parse_service("c", "a"),
                parse_service("d"),
            ],
            "d a b c",
        ),
        ([parse_service("a", "a"), parse_service("b")], "b a"),
    ],
)
def test_services_are_made_behind_what_they_depend_on(
    services: list[BootstrapService], expected: str
) -> None:
    assert [
        bootstrap_service.name for bootstrap_service in creation_order(services)
    ] == expected.split()


def test_an_order_of_services_holds_the_services_themselves() -> None:
    services = [parse_service("a", "b"), parse_service("b")]
    assert creation_order(services) == (services[1], services[0])


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([part()], ""),
        ([helper("b"), part(), helper("a", "Init")], "b a"),
        ([part(), helper("a", dependsOn=["b"]), helper("b", "Init"), helper("c")], "b a c"),
        (
            [helper("c", dependsOn=["a"]), helper("b", dependsOn=["a"]), helper("a"), part()],
            "a c b",
        ),
    ],
)
def test_inits_and_sidecars_start_behind_what_they_depend_on(
    parts: list[dict[str, object]], expected: str
) -> None:
    body = BootstrapService.model_validate(service(services=parts))
    assert [container.name for container in container_order(body)] == expected.split()


@pytest.mark.parametrize(
    ("depends_on", "running", "expected"),
    [
        ((), "", ()),
        (("b",), "", ("b",)),
        (("b",), "b", ()),
        (("gone",), "gone", ("gone",)),
        (("c", "b"), "c", ("b",)),
        (("c", "b"), "", ("c", "b")),
        (("openbao:ready",), "b c", ("v1", "v2")),
        (("openbao:ready",), "v2", ("v1",)),
        (("openbao:ready", "b"), "v1 v2", ("b",)),
    ],
)
def test_a_record_waits_for_what_is_missing_or_not_ready(
    depends_on: tuple[str, ...], running: str, expected: tuple[str, ...]
) -> None:
    records = [
        record(bootstrap_service)
        for bootstrap_service in (
            parse_service("b"),
            parse_service("c"),
            cluster("v1"),
            cluster("v2"),
        )
    ]
    service_record = record(parse_service("a", *depends_on))
    assert (
        unmet_dependencies(service_record, [*records, service_record], running.split().__contains__)
        == expected
    )
    assert unmet_dependencies(service_record, records, running.split().__contains__) == expected


def test_no_vault_at_all_is_waited_for() -> None:
    service_record = record(parse_service("a", "openbao:ready"))
    everything = ["a", "b", "openbao:ready"]
    unmet = unmet_dependencies(
        service_record, [service_record, record(parse_service("b"))], everything.__contains__
    )
    assert unmet == ("openbao:ready",)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("b", ("a", "v")), ("v", ("a",)), ("a", ()), ("x", ()), ("y", ("z",)), ("s", ())],
)
def test_a_record_is_held_by_those_that_depend_on_it(name: str, expected: tuple[str, ...]) -> None:
    """x and y depend on each other: neither may hold the other, and z holds y alone."""
    bodies = [
        parse_service("a", "openbao:ready", "b"),
        cluster("v", "b"),
        parse_service("b"),
        parse_service("x", "y"),
        parse_service("y", "x"),
        parse_service("z", "y"),
        parse_service("s", "s"),
    ]
    records = {body.name: record(body) for body in bodies}
    assert dependents(records[name], records.values()) == expected


def test_a_record_on_its_way_out_holds_as_well() -> None:
    first, second = record(parse_service("a", "b")), record(parse_service("b"))
    assert dependents(second, [replace(first, retiring=True), second]) == ("a",)
    assert dependents(second, [second]) == ()
