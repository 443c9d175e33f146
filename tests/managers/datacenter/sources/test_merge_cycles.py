"""Services with cyclic dependencies: which are kept, and where the cycle is reported."""

import pytest

from managers.datacenter.sources.merge import SourceResult
from tests.managers.datacenter.bodies import desired_service, openbao, record, service
from tests.managers.datacenter.sources.answers import (
    DECLARED,
    HOOK,
    errors,
    good,
    merge_result,
    silent,
    sources_by_service,
)


def test_existing_services_of_a_cycle_are_kept_and_new_ones_are_omitted() -> None:
    before = desired_service(service("a", replicas=1))
    desired_state = merge_result(
        [
            good(DECLARED, service("a", replicas=2, depends_on=("b",)), service("d")),
            good(HOOK, service("b", depends_on=("c",)), service("c", depends_on=("a",))),
        ],
        [record(before)],
    )
    services = {entry.name: entry.service for entry in desired_state.services}
    assert services == {"a": before.service, "d": service("d")}
    text = (
        "dependsOn has a cycle: a -> b -> c -> a; the operator neither creates nor changes the "
        "services a, b, c: remove one of these dependencies"
    )
    assert errors(desired_state) == {"declared": text, "hook/network": text}


def test_a_service_that_depends_on_a_cycle_is_not_part_of_it() -> None:
    desired_state = merge_result(
        [
            good(
                DECLARED,
                service("a", depends_on=("b",)),
                service("b", depends_on=("b2",)),
                service("b2", depends_on=("b",)),
                service("c"),
            )
        ]
    )
    assert sources_by_service(desired_state) == {"a": "declared", "c": "declared"}


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(
            [good(DECLARED, openbao("v", depends_on=("openbao:ready",)))], id="on all vaults"
        ),
        pytest.param([good(DECLARED, service("v", depends_on=("v",)))], id="on itself"),
    ],
)
def test_a_service_that_depends_on_itself_is_omitted(answers: list[SourceResult]) -> None:
    desired_state = merge_result(answers)
    assert sources_by_service(desired_state) == {}
    assert "cycle: v -> v; the operator neither creates" in errors(desired_state)["declared"]


def test_existing_records_in_a_cycle_are_kept_and_reported() -> None:
    records = [
        record(desired_service(service("a", depends_on=("b",)))),
        record(desired_service(service("b", depends_on=("a",)))),
    ]
    desired_state = merge_result([silent()], records)
    assert desired_state.services == (records[0].desired, records[1].desired)
    assert "a -> b -> a" in errors(desired_state)["declared"]


def test_a_kept_record_may_close_another_cycle() -> None:
    """First a and b form a cycle; the kept a depends on c, which is new and depends on a."""
    before = desired_service(service("a", depends_on=("c",)))
    desired_state = merge_result(
        [
            good(
                DECLARED,
                service("a", depends_on=("b",)),
                service("b", depends_on=("a",)),
                service("c", depends_on=("a",)),
            )
        ],
        [record(before)],
    )
    assert desired_state.services == (before,)
    assert "a -> b -> a" in errors(desired_state)["declared"]
    assert "a -> c -> a" in errors(desired_state)["declared"]


def test_an_unknown_dependency_is_not_a_cycle() -> None:
    desired_state = merge_result([good(DECLARED, service("a", depends_on=("b", "openbao:ready")))])
    assert sources_by_service(desired_state) == {"a": "declared"}
    assert errors(desired_state) == {"declared": ""}
