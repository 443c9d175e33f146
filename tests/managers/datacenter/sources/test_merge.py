"""Which services a datacenter is to have, whatever its sources do, and in whatever order."""

from __future__ import annotations

import random

import pytest

from contracts.datacenter.workload_records import ServiceRecord, ServiceSource
from managers.datacenter.sources.merge import (
    ERROR_MAX,
    NOBODY,
    NOT_FORGOTTEN,
    NameConflict,
    SourceAnswer,
    SourceReport,
)
from runtime.apply.intent import digest
from tests.managers.datacenter.bodies import row, service, wish
from tests.managers.datacenter.sources.answers import (
    DECLARED,
    HOOK,
    SET,
    errors,
    failed,
    good,
    merged,
    silent,
    wanted,
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
def test_who_gives_a_service(answers: list[SourceAnswer], expected: dict[str, str]) -> None:
    assert wanted(merged(answers)) == expected


def test_the_body_of_the_winner_is_used() -> None:
    found = merged([good(HOOK, service("a", replicas=2)), good(SET, service("a", replicas=3))])
    assert [(one.service.replicas, one.source) for one in found.services] == [(3, SET)]


def test_each_loser_is_a_conflict_that_names_both_and_what_to_do() -> None:
    found = merged(
        [good(HOOK, service("a")), good(SET, service("a")), good(DECLARED, service("a"))]
    )
    assert found.conflicts == (
        NameConflict("a", "declared", "set/edge"),
        NameConflict("a", "declared", "hook/network"),
    )
    assert found.conflicts[0].message == (
        "service a: declared and set/edge both give it; that of declared is used (declared, then "
        "the higher priority, then the name): take it out of set/edge, or name it otherwise there"
    )


def test_two_sources_of_one_name_stay_in_order_for_100_passes() -> None:
    """The order in which sources are known must not decide, or services would be rebuilt."""
    answers = [
        good(ServiceSource("hook/a"), service("x", replicas=1), service("y")),
        good(ServiceSource("hook/b"), service("x", replicas=2)),
        good(ServiceSource("set/c", 5), service("z"), service("y", replicas=4)),
        failed(ServiceSource("hook/d")),
        # One that gives a name twice, with different bodies.
        good(ServiceSource("hook/e"), service("w", replicas=7), service("w", replicas=8)),
    ]
    rows = [
        row(wish(service("x", replicas=2), "hook/b")),
        row(wish(service("v"), "hook/d")),
        row(wish(service("u"), "hook/gone")),
        row(wish(service("t"), "hook/gone")),
    ]
    first = merged(answers, rows)
    assert wanted(first) == {
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
        rng.shuffle(rows)
        shuffled = [
            SourceAnswer(
                one.source, one.services and tuple(rng.sample(one.services, len(one.services)))
            )
            if not one.error
            else one
            for one in answers
        ]
        assert merged(shuffled, rows) == first


def test_a_source_that_gives_a_name_twice_is_in_conflict_with_itself() -> None:
    found = merged([good(HOOK, service("a", replicas=1), service("a", replicas=2))])
    assert found.conflicts == (NameConflict("a", "hook/network", "hook/network"),)
    assert len(found.services) == 1


# --- sources that do not ------------------------------------------------------------------------


def test_a_source_that_fails_keeps_what_it_gave() -> None:
    """An error must never retire what runs."""
    before = wish(service("a", replicas=3), "hook/network")
    found = merged([silent(), failed(HOOK, "gave no answer within 5 s")], [row(before)])
    assert found.services == (before,)
    assert errors(found) == {"declared": "", "hook/network": "gave no answer within 5 s"}


def test_only_a_successful_answer_retires() -> None:
    rows = [row(wish(service("a"), "hook/network"))]
    assert wanted(merged([failed(HOOK)], rows)) == {"a": "hook/network"}
    assert wanted(merged([good(HOOK)], rows)) == {}


def test_a_source_that_fails_keeps_its_priority_with_its_services() -> None:
    """An unreadable set has lost its priority, but not the name that it has won."""
    rows = [row(wish(service("a", replicas=3), "set/edge", 10))]
    found = merged(
        [failed(ServiceSource("set/edge", 0)), good(ServiceSource("hook/b", 5), service("a"))], rows
    )
    assert wanted(found) == {"a": "set/edge"}
    assert found.conflicts == (NameConflict("a", "set/edge", "hook/b"),)
    assert [report.source for report in found.sources] == [SET, ServiceSource("hook/b", 5)]


def test_one_that_ranks_higher_takes_the_name_of_a_source_that_fails() -> None:
    rows = [row(wish(service("a", replicas=3), "hook/network"))]
    found = merged([failed(HOOK), good(SET, service("a"))], rows)
    assert wanted(found) == {"a": "set/edge"}


@pytest.mark.parametrize("answers", [[silent()], []], ids=["left out", "nobody was asked"])
def test_without_a_list_what_was_declared_is_left_alone(answers: list[SourceAnswer]) -> None:
    before = wish(service("a"))
    found = merged(answers, [row(before)])
    assert (found.services, errors(found)) == ((before,), {"declared": ""})


def test_an_empty_list_retires_what_was_declared_and_nothing_else() -> None:
    rows = [row(wish(service("a"))), row(wish(service("b"), "hook/network"))]
    assert wanted(merged([good(DECLARED), failed(HOOK)], rows)) == {"b": "hook/network"}


def test_a_source_that_nobody_registers_any_more_keeps_its_services_and_says_so() -> None:
    found = merged([silent()], [row(wish(service("a"), "hook/network"))])
    assert wanted(found) == {"a": "hook/network"}
    assert errors(found)["hook/network"] == NOBODY
    assert "spec.forgetSources" in NOBODY


def test_a_source_that_is_forgotten_retires() -> None:
    rows = [row(wish(service("a"), "hook/network")), row(wish(service("b"), "hook/other"))]
    found = merged([silent()], rows, forgotten=["hook/network"])
    assert wanted(found) == {"b": "hook/other"}
    assert errors(found) == {"declared": "", "hook/other": NOBODY}


def test_a_set_that_is_gone_retires_without_a_word() -> None:
    found = merged([silent()], [row(wish(service("a"), "set/edge"))])
    assert (wanted(found), errors(found)) == ({}, {"declared": ""})


def test_a_registered_source_that_fails_is_not_forgotten() -> None:
    rows = [row(wish(service("a"), "hook/network"))]
    found = merged([failed(HOOK, "boom")], rows, forgotten=["hook/network"])
    assert wanted(found) == {"a": "hook/network"}
    assert errors(found) == {"hook/network": f"boom; {NOT_FORGOTTEN}"}


def test_what_is_retiring_already_is_not_wanted_back_by_a_failure() -> None:
    rows = [row(wish(service("a"), "hook/network"), retiring=True)]
    assert wanted(merged([failed(HOOK)], rows)) == {}
    assert wanted(merged([good(HOOK, service("a"))], rows)) == {"a": "hook/network"}


# --- orders to replace pods ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("redeploy", "rows", "expected"),
    [
        pytest.param({}, [], "", id="no order"),
        pytest.param({"a": "2"}, [], "2", id="an order"),
        pytest.param({"b": "2"}, [], "", id="an order for another one"),
        pytest.param(
            {}, [row(wish(service("a"), redeploy="1"))], "1", id="taken off the list: no new one"
        ),
        pytest.param({"a": "2"}, [row(wish(service("a"), redeploy="1"))], "2", id="the next order"),
        pytest.param(
            {},
            [row(wish(service("a"), redeploy="1"), retiring=True)],
            "",
            id="a row that goes takes its order along",
        ),
    ],
)
@pytest.mark.parametrize("source", [DECLARED, HOOK])
def test_orders_reach_services_of_every_source(
    source: ServiceSource, redeploy: dict[str, str], rows: list[ServiceRecord], expected: str
) -> None:
    found = merged([good(source, service("a"))], rows, redeploy)
    assert [one.redeploy for one in found.services] == [expected]


def test_an_order_reaches_what_a_failing_source_keeps() -> None:
    found = merged([failed(HOOK)], [row(wish(service("a"), "hook/network"))], {"a": "2"})
    assert [one.redeploy for one in found.services] == ["2"]


# --- reports ------------------------------------------------------------------------------------


def test_sources_are_reported_by_rank_with_what_they_contribute() -> None:
    a, b, c = service("a"), service("b"), service("c")
    found = merged(
        [failed(HOOK), good(SET, b, a), good(DECLARED, a), good(ServiceSource("hook/none"))],
        [row(wish(c, "hook/network"))],
    )
    assert found.sources == (
        SourceReport(DECLARED, 1, digest([a.to_object()]), ""),
        SourceReport(SET, 1, digest([b.to_object()]), ""),
        SourceReport(HOOK, 1, digest([c.to_object()]), "refused"),
        SourceReport(ServiceSource("hook/none"), 0, digest([]), ""),
    )


def test_an_error_fits_into_the_status() -> None:
    assert len(errors(merged([failed(HOOK, "x" * 5000)]))["hook/network"]) == ERROR_MAX


def test_a_source_that_never_gave_an_answer_has_no_digest() -> None:
    assert merged([failed(HOOK), silent()]).sources == (
        SourceReport(DECLARED, 0, "", ""),
        SourceReport(HOOK, 0, "", "refused"),
    )


def test_the_digest_of_a_source_is_the_same_while_it_fails() -> None:
    services = (service("b"), service("a"))
    rows = [row(wish(one, "hook/network")) for one in services]
    answered, kept = merged([good(HOOK, *services)], rows), merged([failed(HOOK)], rows)
    assert answered.sources[0].digest == kept.sources[0].digest != ""
