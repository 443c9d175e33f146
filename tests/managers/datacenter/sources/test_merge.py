"""The desired services of a datacenter, for any state and order of its sources."""

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

# --- sources with results -----------------------------------------------------------------------


A, B, C = service("a"), service("b"), service("c")
HOOK_A, HOOK_B = ServiceSource("hook/a"), ServiceSource("hook/b")
# sentence: (results, the services by source)
GIVEN: dict[str, tuple[list[SourceResult], dict[str, str]]] = {
    "nobody": ([], {}),
    "declared only": ([good(DECLARED, B, A)], {"a": "declared", "b": "declared"}),
    "hook only": ([silent(), good(HOOK, A)], {"a": "hook/network"}),
    "all of them are merged": (
        [good(DECLARED, A), good(HOOK, B), good(SET, C)],
        {"a": "declared", "b": "hook/network", "c": "set/edge"},
    ),
    "declared wins over any priority": ([good(SET, A), good(DECLARED, A)], {"a": "declared"}),
    "the higher priority wins": ([good(HOOK, A), good(SET, A)], {"a": "set/edge"}),
    "the first name of equal priorities": ([good(HOOK_B, A), good(HOOK_A, A)], {"a": "hook/a"}),
}


@pytest.mark.parametrize(("answers", "expected"), GIVEN.values(), ids=GIVEN)
def test_which_source_provides_a_service(
    answers: list[SourceResult], expected: dict[str, str]
) -> None:
    assert sources_by_service(merge_result(answers)) == expected


def test_each_conflict_names_both_sources_and_the_next_step() -> None:
    bodies = (service("a", replicas=n) for n in (2, 3, 4))
    desired_state = merge_result([*map(good, (HOOK, SET, DECLARED), bodies)])
    assert [entry.service.replicas for entry in desired_state.services] == [4]
    assert desired_state.conflicts == (
        NameConflict("a", "declared", "set/edge"),
        NameConflict("a", "declared", "hook/network"),
    )
    assert desired_state.conflicts[0].message == (
        "service a has two sources, declared and set/edge; the operator uses the service of "
        "declared (precedence: declared, higher priority, name): remove or rename the service in "
        "set/edge"
    )


def test_conflicting_sources_keep_their_order_in_100_reconciles() -> None:
    """If the order of sources decided, services would be recreated."""
    answers = [
        good(ServiceSource("hook/a"), service("x", replicas=1), service("y")),
        good(ServiceSource("hook/b"), service("x", replicas=2)),
        good(ServiceSource("set/c", 5), service("z"), service("y", replicas=4)),
        failed_source(ServiceSource("hook/d")),
        # A source with a duplicate name and different bodies.
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


def test_a_source_with_a_duplicate_name_conflicts_with_itself() -> None:
    desired_state = merge_result([good(HOOK, service("a", replicas=1), service("a", replicas=2))])
    assert desired_state.conflicts == (NameConflict("a", "hook/network", "hook/network"),)
    assert len(desired_state.services) == 1


# --- failing sources ----------------------------------------------------------------------------


def test_a_failing_source_keeps_its_priority_and_services() -> None:
    """An unreadable set has no priority any more, but keeps its services."""
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


@pytest.mark.parametrize("answers", [[silent()], []], ids=["left out", "no sources"])
def test_without_a_declared_list_its_services_are_kept(answers: list[SourceResult]) -> None:
    before = desired_service(service("a"))
    desired_state = merge_result(answers, [record(before)])
    assert (desired_state.services, errors(desired_state)) == ((before,), {"declared": ""})


OF_HOOK = record(desired_service(service("a"), "hook/network"))
OF_OTHER = record(desired_service(service("b"), "hook/other"))
GOING = replace(OF_HOOK, retiring=True)
BY_HOOK = {"a": "hook/network"}
ANSWERED = {"declared": ""}
REFUSED = {"hook/network": "refused"}
LOST = {**ANSWERED, "hook/network": UNREGISTERED}
FAILS = failed_source(HOOK)
OF_SET = record(desired_service(A, "set/edge"))
KEPT: dict[str, tuple[Any, Any, Any, dict[str, str], dict[str, str]]] = {
    "a failing source keeps its services": ([FAILS], [OF_HOOK], [], BY_HOOK, REFUSED),
    "a valid result retires": ([good(HOOK)], [OF_HOOK], [], {}, {"hook/network": ""}),
    "a source of a higher rank wins the name": (
        [FAILS, good(SET, A)],
        [OF_HOOK],
        [],
        {"a": "set/edge"},
        {"set/edge": "", **REFUSED},
    ),
    "an empty list retires declared services": (
        [good(DECLARED), FAILS],
        [record(desired_service(B)), OF_HOOK],
        [],
        BY_HOOK,
        ANSWERED | REFUSED,
    ),
    "an unregistered source keeps its services": ([silent()], [OF_HOOK], [], BY_HOOK, LOST),
    "a forgotten source retires": (
        [silent()],
        [OF_HOOK, OF_OTHER],
        ["hook/network"],
        {"b": "hook/other"},
        {**ANSWERED, "hook/other": UNREGISTERED},
    ),
    "a deleted set retires": ([silent()], [OF_SET], [], {}, ANSWERED),
    "a registered source is not forgotten": (
        [FAILS],
        [OF_HOOK],
        ["hook/network"],
        BY_HOOK,
        {"hook/network": f"refused; {STILL_REGISTERED}"},
    ),
    "a failure requests no retiring service": ([FAILS], [GOING], [], {}, REFUSED),
    "a retiring one is requested": ([good(HOOK, A)], [GOING], [], BY_HOOK, {"hook/network": ""}),
}


@pytest.mark.parametrize(
    ("answers", "records", "forgotten", "expected", "reported"), KEPT.values(), ids=KEPT
)
def test_which_services_of_failing_sources_are_kept(
    answers: list[SourceResult],
    records: list[ServiceRecord],
    forgotten: list[str],
    expected: dict[str, str],
    reported: dict[str, str],
) -> None:
    desired_state = merge_result(answers, records, forgotten=forgotten)
    assert (sources_by_service(desired_state), errors(desired_state)) == (expected, reported)


# --- redeploy tokens ----------------------------------------------------------------------------


ORDERED = record(desired_service(A, redeploy="1"))
# sentence: (redeploy tokens, existing records, the token of the service)
ORDERS: dict[str, tuple[dict[str, str], list[ServiceRecord], str]] = {
    "no order": ({}, [], ""),
    "an order": ({"a": "2"}, [], "2"),
    "a token for another service": ({"b": "2"}, [], ""),
    "a token removed from the list": ({}, [ORDERED], "1"),
    "the next token": ({"a": "2"}, [ORDERED], "2"),
    "a token of a retiring record": ({}, [replace(ORDERED, retiring=True)], ""),
}


@pytest.mark.parametrize(("redeploy", "records", "expected"), ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("source", [DECLARED, HOOK])
def test_a_redeploy_applies_to_services_of_every_source(
    source: ServiceSource, redeploy: dict[str, str], records: list[ServiceRecord], expected: str
) -> None:
    desired_state = merge_result([good(source, A)], records, redeploy)
    assert [entry.redeploy for entry in desired_state.services] == [expected]


def test_a_redeploy_applies_to_kept_services_of_a_failing_source() -> None:
    """An error must never retire a running service."""
    before = desired_service(service("a", replicas=3), "hook/network")
    for redeploy, expected in (({}, before), ({"a": "2"}, replace(before, redeploy="2"))):
        desired_state = merge_result([failed_source(HOOK)], [record(before)], redeploy)
        assert desired_state.services == (expected,)


# --- reports ------------------------------------------------------------------------------------


def test_sources_are_reported_by_rank_with_their_services() -> None:
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


def test_a_source_that_never_succeeded_has_no_digest() -> None:
    assert merge_result([failed_source(HOOK), silent()]).sources == (
        SourceReport(DECLARED, 0, "", ""),
        SourceReport(HOOK, 0, "", "refused"),
    )


def test_the_digest_of_a_source_is_the_same_while_it_fails() -> None:
    services = (service("b"), service("a"))
    records = [record(desired_service(declared, "hook/network")) for declared in services]
    answered = merge_result([good(HOOK, *services)], records)
    kept = merge_result([failed_source(HOOK)], records)
    assert answered.sources[0].digest == kept.sources[0].digest != ""
