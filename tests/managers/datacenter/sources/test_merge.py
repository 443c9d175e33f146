"""Which services a datacenter is to have, whatever its sources do, and in whatever order."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from contracts.datacenter.workload_records import ServiceRecord, ServiceSource
from managers.datacenter.sources.merge import (
    ERROR_MAX,
    STILL_REGISTERED,
    UNREGISTERED,
    NameConflict,
    SourceReport,
    SourceResult,
)
from runtime.apply.intent import digest
from tests.managers.datacenter.bodies import desired_service, record, service
from tests.managers.datacenter.sources.answers import (
    DECLARED,
    HOOK,
    SET,
    errors,
    failed_source,
    good,
    merge_result,
    silent,
    sources_by_service,
)

# --- sources that answer ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param([], {}, id="nobody"),
        pytest.param(
            [good(DECLARED, service("b"), service("a"))],
            {"a": "declared", "b": "declared"},
            id="declared only",
        ),
        pytest.param([silent(), good(HOOK, service("a"))], {"a": "hook/network"}, id="hook only"),
        pytest.param(
            [good(DECLARED, service("a")), good(HOOK, service("b")), good(SET, service("c"))],
            {"a": "declared", "b": "hook/network", "c": "set/edge"},
            id="all of them are merged",
        ),
        pytest.param(
            [good(SET, service("a")), good(DECLARED, service("a"))],
            {"a": "declared"},
            id="declared wins over any priority",
        ),
        pytest.param(
            [good(HOOK, service("a")), good(SET, service("a"))],
            {"a": "set/edge"},
            id="the higher priority wins",
        ),
        pytest.param(
            [
                good(ServiceSource("hook/b"), service("a")),
                good(ServiceSource("hook/a"), service("a")),
            ],
            {"a": "hook/a"},
            id="among equals the name that comes first",
        ),
    ],
)
def test_who_gives_a_service(answers: list[SourceResult], expected: dict[str, str]) -> None:
    assert sources_by_service(merge_result(answers)) == expected


def test_the_body_of_the_winner_is_used() -> None:
    desired_state = merge_result(
        [good(HOOK, service("a", replicas=2)), good(SET, service("a", replicas=3))]
    )
    assert [(entry.service.replicas, entry.source) for entry in desired_state.services] == [
        (3, SET)
    ]


def test_each_loser_is_a_conflict_that_names_both_and_what_to_do() -> None:
    desired_state = merge_result(
        [good(HOOK, service("a")), good(SET, service("a")), good(DECLARED, service("a"))]
    )
    assert desired_state.conflicts == (
        NameConflict("a", "declared", "set/edge"),
        NameConflict("a", "declared", "hook/network"),
    )
    assert desired_state.conflicts[0].message == (
        "service a: declared by declared and set/edge; that of declared is used (declared, then "
        "the higher priority, then the name): remove or rename it in set/edge"
    )


def test_two_sources_of_one_name_stay_in_order_for_100_passes() -> None:
    """The order in which sources are known must not decide, or services would be rebuilt."""
    answers = [
        good(ServiceSource("hook/a"), service("x", replicas=1), service("y")),
        good(ServiceSource("hook/b"), service("x", replicas=2)),
        good(ServiceSource("set/c", 5), service("z"), service("y", replicas=4)),
        failed_source(ServiceSource("hook/d")),
        # One that gives a name twice, with different bodies.
        good(ServiceSource("hook/e"), service("w", replicas=7), service("w", replicas=8)),
    ]
    records = [
        record(desired_service(service("x", replicas=2), "hook/b")),
        record(desired_service(service("v"), "hook/d")),
        record(desired_service(service("u"), "hook/gone")),
        record(desired_service(service("t"), "hook/gone")),
    ]
    first = merge_result(answers, records)
    assert sources_by_service(first) == {
        "t": "hook/gone",
        "u": "hook/gone",
        "v": "hook/d",
        "w": "hook/e",
        "x": "hook/a",
        "y": "set/c",
        "z": "set/c",
    }
    rng = random.Random(7)
    for _ in range(100):
        rng.shuffle(answers)
        rng.shuffle(records)
        shuffled = [
            SourceResult(
                result.source,
                result.services and tuple(rng.sample(result.services, len(result.services))),
            )
            if not result.error
            else result
            for result in answers
        ]
        assert merge_result(shuffled, records) == first


def test_a_source_that_gives_a_name_twice_is_in_conflict_with_itself() -> None:
    desired_state = merge_result([good(HOOK, service("a", replicas=1), service("a", replicas=2))])
    assert desired_state.conflicts == (NameConflict("a", "hook/network", "hook/network"),)
    assert len(desired_state.services) == 1


# --- sources that do not ------------------------------------------------------------------------


def test_a_source_that_fails_keeps_what_it_gave() -> None:
    """An error must never retire what runs."""
    before = desired_service(service("a", replicas=3), "hook/network")
    desired_state = merge_result(
        [silent(), failed_source(HOOK, "timed out after 5 s")], [record(before)]
    )
    assert desired_state.services == (before,)
    assert errors(desired_state) == {"declared": "", "hook/network": "timed out after 5 s"}


def test_a_source_that_fails_keeps_its_priority_with_its_services() -> None:
    """An unreadable set has lost its priority, but not the name that it has won."""
    records = [record(desired_service(service("a", replicas=3), "set/edge", 10))]
    desired_state = merge_result(
        [
            failed_source(ServiceSource("set/edge", 0)),
            good(ServiceSource("hook/b", 5), service("a")),
        ],
        records,
    )
    assert sources_by_service(desired_state) == {"a": "set/edge"}
    assert desired_state.conflicts == (NameConflict("a", "set/edge", "hook/b"),)
    assert [report.source for report in desired_state.sources] == [SET, ServiceSource("hook/b", 5)]


@pytest.mark.parametrize("answers", [[silent()], []], ids=["left out", "nobody was asked"])
def test_without_a_list_what_was_declared_is_left_alone(answers: list[SourceResult]) -> None:
    before = desired_service(service("a"))
    desired_state = merge_result(answers, [record(before)])
    assert (desired_state.services, errors(desired_state)) == ((before,), {"declared": ""})


OF_HOOK = record(desired_service(service("a"), "hook/network"))
OF_OTHER = record(desired_service(service("b"), "hook/other"))
GOING = replace(OF_HOOK, retiring=True)
BY_HOOK = {"a": "hook/network"}
ANSWERED = {"declared": ""}
REFUSED = {"hook/network": "refused"}
# Answers, existing records, forgotten sources; the services by source, and the errors.
KEPT: dict[str, tuple[Any, Any, Any, dict[str, str], dict[str, str]]] = {
    "a source that fails keeps its services": (
        [failed_source(HOOK)],
        [OF_HOOK],
        [],
        BY_HOOK,
        REFUSED,
    ),
    "a valid answer retires": ([good(HOOK)], [OF_HOOK], [], {}, {"hook/network": ""}),
    "a source of a higher rank takes the name": (
        [failed_source(HOOK), good(SET, service("a"))],
        [OF_HOOK],
        [],
        {"a": "set/edge"},
        {"set/edge": "", **REFUSED},
    ),
    "an empty list retires what was declared": (
        [good(DECLARED), failed_source(HOOK)],
        [record(desired_service(service("b"))), OF_HOOK],
        [],
        BY_HOOK,
        ANSWERED | REFUSED,
    ),
    "an unregistered source keeps its services": (
        [silent()],
        [OF_HOOK],
        [],
        BY_HOOK,
        {**ANSWERED, "hook/network": UNREGISTERED},
    ),
    "a forgotten source retires": (
        [silent()],
        [OF_HOOK, OF_OTHER],
        ["hook/network"],
        {"b": "hook/other"},
        {**ANSWERED, "hook/other": UNREGISTERED},
    ),
    "a deleted set retires": (
        [silent()],
        [record(desired_service(service("a"), "set/edge"))],
        [],
        {},
        ANSWERED,
    ),
    "a registered source is not forgotten": (
        [failed_source(HOOK)],
        [OF_HOOK],
        ["hook/network"],
        BY_HOOK,
        {"hook/network": f"refused; {STILL_REGISTERED}"},
    ),
    "a failure requests no retiring service": ([failed_source(HOOK)], [GOING], [], {}, REFUSED),
    "an answer requests a retiring service": (
        [good(HOOK, service("a"))],
        [GOING],
        [],
        BY_HOOK,
        {"hook/network": ""},
    ),
}


@pytest.mark.parametrize(
    ("answers", "records", "forgotten", "expected", "reported"), KEPT.values(), ids=KEPT
)
def test_which_services_are_kept(
    answers: list[SourceResult],
    records: list[ServiceRecord],
    forgotten: list[str],
    expected: dict[str, str],
    reported: dict[str, str],
) -> None:
    desired_state = merge_result(answers, records, forgotten=forgotten)
    assert (sources_by_service(desired_state), errors(desired_state)) == (expected, reported)


# --- orders to replace pods ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("redeploy", "records", "expected"),
    [
        pytest.param({}, [], "", id="no order"),
        pytest.param({"a": "2"}, [], "2", id="an order"),
        pytest.param({"b": "2"}, [], "", id="an order for another one"),
        pytest.param(
            {},
            [record(desired_service(service("a"), redeploy="1"))],
            "1",
            id="taken off the list: no new one",
        ),
        pytest.param(
            {"a": "2"},
            [record(desired_service(service("a"), redeploy="1"))],
            "2",
            id="the next order",
        ),
        pytest.param(
            {},
            [record(desired_service(service("a"), redeploy="1"), retiring=True)],
            "",
            id="a record that goes takes its order along",
        ),
    ],
)
@pytest.mark.parametrize("source", [DECLARED, HOOK])
def test_orders_reach_services_of_every_source(
    source: ServiceSource, redeploy: dict[str, str], records: list[ServiceRecord], expected: str
) -> None:
    desired_state = merge_result([good(source, service("a"))], records, redeploy)
    assert [entry.redeploy for entry in desired_state.services] == [expected]


def test_an_order_reaches_what_a_failing_source_keeps() -> None:
    desired_state = merge_result(
        [failed_source(HOOK)], [record(desired_service(service("a"), "hook/network"))], {"a": "2"}
    )
    assert [entry.redeploy for entry in desired_state.services] == ["2"]


# --- reports ------------------------------------------------------------------------------------


def test_sources_are_reported_by_rank_with_what_they_contribute() -> None:
    a, b, c = service("a"), service("b"), service("c")
    desired_state = merge_result(
        [failed_source(HOOK), good(SET, b, a), good(DECLARED, a), good(ServiceSource("hook/none"))],
        [record(desired_service(c, "hook/network"))],
    )
    assert desired_state.sources == (
        SourceReport(DECLARED, 1, digest([a.to_object()]), ""),
        SourceReport(SET, 1, digest([b.to_object()]), ""),
        SourceReport(HOOK, 1, digest([c.to_object()]), "refused"),
        SourceReport(ServiceSource("hook/none"), 0, digest([]), ""),
    )


def test_an_error_fits_into_the_status() -> None:
    assert len(errors(merge_result([failed_source(HOOK, "x" * 5000)]))["hook/network"]) == ERROR_MAX


def test_a_source_that_never_gave_an_answer_has_no_digest() -> None:
    assert merge_result([failed_source(HOOK), silent()]).sources == (
        SourceReport(DECLARED, 0, "", ""),
        SourceReport(HOOK, 0, "", "refused"),
    )


def test_the_digest_of_a_source_is_the_same_while_it_fails() -> None:
    services = (service("b"), service("a"))
    records = [record(desired_service(declared, "hook/network")) for declared in services]
    answered, kept = (
        merge_result([good(HOOK, *services)], records),
        merge_result([failed_source(HOOK)], records),
    )
    assert answered.sources[0].digest == kept.sources[0].digest != ""
