"""The order of services and containers: after their dependencies, and without cycles."""

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


NAMES = "abcdef"
# Each name depends on any names, including itself and a missing one.
GRAPHS = st.fixed_dictionaries(
    {name: st.lists(st.sampled_from([*NAMES, "gone"]), unique=True) for name in NAMES}
)
# Only on names before it, so that there is no cycle.
FORWARD = st.fixed_dictionaries(
    {
        name: st.lists(st.sampled_from([*NAMES[: NAMES.index(name)], "gone"]), unique=True)
        for name in NAMES
    }
)


@given(GRAPHS, st.randoms())
def test_a_cycle_is_named_from_its_first_name(graph: dict[str, list[str]], rng: Random) -> None:
    cycle = find_cycle(graph)
    shuffled = {name: rng.sample(graph[name], len(graph[name])) for name in rng.sample(NAMES, 6)}
    assert find_cycle(shuffled) == cycle
    if cycle is not None:
        assert cycle[0] == cycle[-1] == min(cycle)
        assert len(cycle) == len(set(cycle)) + 1
        assert all(after in graph[before] for before, after in pairwise(cycle))


@given(FORWARD)
def test_a_graph_without_a_cycle_has_none(graph: dict[str, list[str]]) -> None:
    assert find_cycle(graph) is None


@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_a_cycle_is_found(length: int) -> None:
    ring = NAMES[:length]
    graph = {name: [ring[at - 1]] for at, name in enumerate(ring)}
    assert find_cycle({**graph, "z": ["a"]}) == (*"a", *reversed(ring))


def test_dependencies_include_all_vaults_and_each_name_once() -> None:
    services = [
        parse_service("a", "openbao:ready", "v2", "gone"),
        cluster("v2"),
        cluster("v1", "b"),
        parse_service("b"),
    ]
    assert dependencies(services) == {"a": ("v2", "v1", "gone"), "v2": (), "v1": ("b",), "b": ()}
    assert dependencies([parse_service("a", "openbao:ready")]) == {"a": ("openbao:ready",)}


@given(FORWARD, st.permutations(NAMES))
def test_services_follow_their_dependencies_and_keep_their_order(
    graph: dict[str, list[str]], listed: list[str]
) -> None:
    order = [s.name for s in creation_order(parse_service(name, *graph[name]) for name in listed)]
    assert sorted(order) == sorted(NAMES)
    for at, name in enumerate(order):
        assert not set(graph[name]) & set(order[at:])
        # A service that is listed earlier and has no open dependencies does not come later.
        free = [other for other in order[at:] if not set(graph[other]) & set(order[at:])]
        assert name == min(free, key=listed.index)


@pytest.mark.parametrize(
    ("services", "expected"),
    [
        ([parse_service("a", "openbao:ready"), parse_service("b"), cluster("v", "b")], "b v a"),
        (
            [*(parse_service(*names) for names in ("ab", "ba", "ca")), parse_service("d")],
            "d a b c",
        ),
        ([parse_service("a", "a"), parse_service("b")], "b a"),
    ],
)
def test_vaults_come_before_their_users_and_cycles_last(
    services: list[BootstrapService], expected: str
) -> None:
    assert [ordered.name for ordered in creation_order(services)] == expected.split()


def test_creation_order_returns_the_given_services() -> None:
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
def test_init_containers_and_sidecars_start_after_their_dependencies(
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
def test_a_record_waits_for_missing_and_unready_dependencies(
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


def test_a_record_waits_if_no_vault_exists() -> None:
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
def test_a_record_has_the_dependents_that_name_it(name: str, expected: tuple[str, ...]) -> None:
    """x and y depend on each other: neither is a dependent of the other; z is one of y."""
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


def test_a_retiring_record_is_a_dependent_too() -> None:
    first, second = record(parse_service("a", "b")), record(parse_service("b"))
    assert dependents(second, [replace(first, retiring=True), second]) == ("a",)
    assert dependents(second, [second]) == ()
