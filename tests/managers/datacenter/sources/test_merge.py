"""Which services a datacenter is to have, whatever its sources do, and in whatever order."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

import pytest

from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import Row, Source
from managers.datacenter.sources.merge import (
    ERROR_MAX,
    NOBODY,
    NOT_FORGOTTEN,
    Answer,
    Conflict,
    Merged,
    SourceReport,
    merge,
)
from runtime.apply.intent import digest
from tests.managers.datacenter.bodies import openbao, row, service, wish

DECLARED = Source("declared")
HOOK = Source("hook/network")
SET = Source("set/edge", 10)


def good(source: Source, *services: BootstrapService) -> Answer:
    return Answer(source, services)


def failed(source: Source, error: str = "refused") -> Answer:
    return Answer(source, None, error)


def silent() -> Answer:
    return Answer(DECLARED, None)


def merged(
    answers: Iterable[Answer],
    rows: Iterable[Row] = (),
    redeploy: Mapping[str, str] | None = None,
    forgotten: Iterable[str] = (),
) -> Merged:
    return merge(answers, rows, redeploy or {}, frozenset(forgotten))


def wanted(found: Merged) -> dict[str, str]:
    """Names of services, and where they come from."""
    return {one.name: one.source.name for one in found.wishes}


def errors(found: Merged) -> dict[str, str]:
    return {report.source.name: report.error for report in found.sources}


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
            [good(Source("hook/b"), service("a")), good(Source("hook/a"), service("a"))],
            {"a": "hook/a"},
            id="among equals the name that comes first",
        ),
    ],
)
def test_who_gives_a_service(answers: list[Answer], expected: dict[str, str]) -> None:
    assert wanted(merged(answers)) == expected


def test_the_body_of_the_winner_is_used() -> None:
    found = merged([good(HOOK, service("a", replicas=2)), good(SET, service("a", replicas=3))])
    assert [(one.service.replicas, one.source) for one in found.wishes] == [(3, SET)]


def test_each_loser_is_a_conflict_that_names_both_and_what_to_do() -> None:
    found = merged(
        [good(HOOK, service("a")), good(SET, service("a")), good(DECLARED, service("a"))]
    )
    assert found.conflicts == (
        Conflict("a", "declared", "set/edge"),
        Conflict("a", "declared", "hook/network"),
    )
    assert found.conflicts[0].message == (
        "service a: declared and set/edge both give it; that of declared is used (declared, then "
        "the higher priority, then the name): take it out of set/edge, or name it otherwise there"
    )


def test_two_sources_of_one_name_stay_in_order_for_100_passes() -> None:
    """The order in which sources are known must not decide, or services would be rebuilt."""
    answers = [
        good(Source("hook/a"), service("x", replicas=1), service("y")),
        good(Source("hook/b"), service("x", replicas=2)),
        good(Source("set/c", 5), service("z"), service("y", replicas=4)),
        failed(Source("hook/d")),
        # One that gives a name twice, with different bodies.
        good(Source("hook/e"), service("w", replicas=7), service("w", replicas=8)),
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
            Answer(one.source, one.services and tuple(rng.sample(one.services, len(one.services))))
            if not one.error
            else one
            for one in answers
        ]
        assert merged(shuffled, rows) == first


def test_a_source_that_gives_a_name_twice_is_in_conflict_with_itself() -> None:
    found = merged([good(HOOK, service("a", replicas=1), service("a", replicas=2))])
    assert found.conflicts == (Conflict("a", "hook/network", "hook/network"),)
    assert len(found.wishes) == 1


# --- sources that do not ------------------------------------------------------------------------


def test_a_source_that_fails_keeps_what_it_gave() -> None:
    """An error must never retire what runs."""
    before = wish(service("a", replicas=3), "hook/network")
    found = merged([silent(), failed(HOOK, "gave no answer within 5 s")], [row(before)])
    assert found.wishes == (before,)
    assert errors(found) == {"declared": "", "hook/network": "gave no answer within 5 s"}


def test_only_a_successful_answer_retires() -> None:
    rows = [row(wish(service("a"), "hook/network"))]
    assert wanted(merged([failed(HOOK)], rows)) == {"a": "hook/network"}
    assert wanted(merged([good(HOOK)], rows)) == {}


def test_a_source_that_fails_keeps_its_priority_with_its_services() -> None:
    """An unreadable set has lost its priority, but not the name that it has won."""
    rows = [row(wish(service("a", replicas=3), "set/edge", 10))]
    found = merged([failed(Source("set/edge", 0)), good(Source("hook/b", 5), service("a"))], rows)
    assert wanted(found) == {"a": "set/edge"}
    assert found.conflicts == (Conflict("a", "set/edge", "hook/b"),)
    assert [report.source for report in found.sources] == [SET, Source("hook/b", 5)]


def test_one_that_ranks_higher_takes_the_name_of_a_source_that_fails() -> None:
    rows = [row(wish(service("a", replicas=3), "hook/network"))]
    found = merged([failed(HOOK), good(SET, service("a"))], rows)
    assert wanted(found) == {"a": "set/edge"}


@pytest.mark.parametrize("answers", [[silent()], []], ids=["left out", "nobody was asked"])
def test_without_a_list_what_was_declared_is_left_alone(answers: list[Answer]) -> None:
    before = wish(service("a"))
    found = merged(answers, [row(before)])
    assert (found.wishes, errors(found)) == ((before,), {"declared": ""})


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
    source: Source, redeploy: dict[str, str], rows: list[Row], expected: str
) -> None:
    found = merged([good(source, service("a"))], rows, redeploy)
    assert [one.redeploy for one in found.wishes] == [expected]


def test_an_order_reaches_what_a_failing_source_keeps() -> None:
    found = merged([failed(HOOK)], [row(wish(service("a"), "hook/network"))], {"a": "2"})
    assert [one.redeploy for one in found.wishes] == ["2"]


# --- circles ------------------------------------------------------------------------------------


def test_services_of_a_circle_stay_as_their_rows_are_and_new_ones_are_left_out() -> None:
    before = wish(service("a", replicas=1))
    found = merged(
        [
            good(DECLARED, service("a", replicas=2, depends_on=("b",)), service("d")),
            good(HOOK, service("b", depends_on=("c",)), service("c", depends_on=("a",))),
        ],
        [row(before)],
    )
    assert {one.name: one.service for one in found.wishes} == {
        "a": before.service,
        "d": service("d"),
    }
    text = (
        "dependsOn goes round in a circle: a -> b -> c -> a; what there is of a, b, c stays as it "
        "was, and nothing is made anew: take one of them out"
    )
    assert errors(found) == {"declared": text, "hook/network": text}


def test_what_leads_into_a_circle_is_no_part_of_it() -> None:
    found = merged(
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
    assert wanted(found) == {"a": "declared", "c": "declared"}


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(
            [good(DECLARED, openbao("v", depends_on=("openbao:ready",)))], id="on all vaults"
        ),
        pytest.param([good(DECLARED, service("v", depends_on=("v",)))], id="on itself"),
    ],
)
def test_a_service_that_waits_for_itself_is_left_out(answers: list[Answer]) -> None:
    found = merged(answers)
    assert wanted(found) == {}
    assert "circle: v -> v; what" in errors(found)["declared"]


def test_a_vault_may_not_wait_for_what_waits_for_vaults() -> None:
    found = merged(
        [
            good(DECLARED, openbao("v", depends_on=("a",)), openbao("w")),
            good(HOOK, service("a", depends_on=("openbao:ready",))),
        ]
    )
    assert wanted(found) == {"w": "declared"}


def test_rows_that_wait_for_each_other_already_are_kept_and_told_of() -> None:
    rows = [row(wish(service("a", depends_on=("b",)))), row(wish(service("b", depends_on=("a",))))]
    found = merged([silent()], rows)
    assert found.wishes == (rows[0].wish, rows[1].wish)
    assert "a -> b -> a" in errors(found)["declared"]


def test_a_row_that_is_put_back_may_close_the_next_circle() -> None:
    """First a and b wait for each other; a as it was waits for c, which is new and waits for a."""
    before = wish(service("a", depends_on=("c",)))
    found = merged(
        [
            good(
                DECLARED,
                service("a", depends_on=("b",)),
                service("b", depends_on=("a",)),
                service("c", depends_on=("a",)),
            )
        ],
        [row(before)],
    )
    assert found.wishes == (before,)
    assert "a -> b -> a" in errors(found)["declared"]
    assert "a -> c -> a" in errors(found)["declared"]


def test_a_name_that_nobody_gives_makes_no_circle() -> None:
    found = merged([good(DECLARED, service("a", depends_on=("b", "openbao:ready")))])
    assert (wanted(found), errors(found)) == ({"a": "declared"}, {"declared": ""})


# --- reports ------------------------------------------------------------------------------------


def test_sources_are_reported_by_rank_with_what_they_contribute() -> None:
    a, b, c = service("a"), service("b"), service("c")
    found = merged(
        [failed(HOOK), good(SET, b, a), good(DECLARED, a), good(Source("hook/none"))],
        [row(wish(c, "hook/network"))],
    )
    assert found.sources == (
        SourceReport(DECLARED, 1, digest([a.to_object()]), ""),
        SourceReport(SET, 1, digest([b.to_object()]), ""),
        SourceReport(HOOK, 1, digest([c.to_object()]), "refused"),
        SourceReport(Source("hook/none"), 0, digest([]), ""),
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
