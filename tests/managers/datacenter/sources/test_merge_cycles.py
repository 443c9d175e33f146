"""Services that depend on each other in a cycle: what is kept, and who is told."""

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


def test_services_of_a_circle_stay_as_their_records_are_and_new_ones_are_left_out() -> None:
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


def test_what_leads_into_a_circle_is_no_part_of_it() -> None:
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
def test_a_service_that_waits_for_itself_is_left_out(answers: list[SourceResult]) -> None:
    desired_state = merge_result(answers)
    assert sources_by_service(desired_state) == {}
    assert "cycle: v -> v; the operator neither creates" in errors(desired_state)["declared"]


def test_records_that_wait_for_each_other_already_are_kept_and_told_of() -> None:
    records = [
        record(desired_service(service("a", depends_on=("b",)))),
        record(desired_service(service("b", depends_on=("a",)))),
    ]
    desired_state = merge_result([silent()], records)
    assert desired_state.services == (records[0].desired, records[1].desired)
    assert "a -> b -> a" in errors(desired_state)["declared"]


def test_a_record_that_is_put_back_may_close_the_next_circle() -> None:
    """First a and b wait for each other; a as it was waits for c, which is new and waits for a."""
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


def test_a_name_that_nobody_gives_makes_no_circle() -> None:
    desired_state = merge_result([good(DECLARED, service("a", depends_on=("b", "openbao:ready")))])
    assert sources_by_service(desired_state) == {"a": "declared"}
    assert errors(desired_state) == {"declared": ""}
