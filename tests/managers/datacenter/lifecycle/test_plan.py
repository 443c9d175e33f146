"""Which rows are made, changed and retired, and what the state of a datacenter holds back.

The first part runs merge and plan together, pass after pass, on rows that are carried out at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from contracts.datacenter.objects import State
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    ServiceProgress,
    ServiceRecord,
    ServiceSource,
)
from managers.datacenter.lifecycle.plan import RowPlan, plan
from managers.datacenter.sources.merge import Merged, SourceAnswer, merge
from tests.managers.datacenter.bodies import datacenter, row, service, wish

DECLARED = ServiceSource("declared")
HOOK = ServiceSource("hook/network")
FRA1 = datacenter()
ACTIVE: State = "Active"


class Place:
    """A datacenter whose rows follow each plan at once; retiring ones stay until `let_go`."""

    def __init__(self, *rows: ServiceRecord) -> None:
        self.rows = rows
        self.writes = 0

    def look(self, *answers: SourceAnswer, deleting: bool = False) -> RowPlan:
        merged = merge(answers, self.rows, {}, frozenset())
        found = plan(FRA1, merged, self.rows, deleting)
        kept = {one.name: one for one in self.rows}
        kept.update({one.name: row(one) for one in found.insert})
        kept.update({old.name: replace(old, desired=new) for old, new in found.update})
        kept.update({old.name: replace(old, retiring=True) for old in found.retire})
        self.writes += len(found.insert) + len(found.update) + len(found.retire)
        self.rows = tuple(kept.values())
        return found

    def let_go(self) -> None:
        self.rows = tuple(one for one in self.rows if not one.retiring)


def wanting(*wishes: DesiredService) -> Merged:
    return Merged(wishes, (), ())


def said(found: RowPlan) -> dict[str, str]:
    """What is to be written, by name."""
    return {
        **{one.name: "insert" for one in found.insert},
        **{old.name: "update" for old, _ in found.update},
        **{old.name: "retire" for old in found.retire},
    }


# --- merge and plan, pass after pass ------------------------------------------------------------


def test_declared_services_get_a_row_each() -> None:
    found = Place().look(SourceAnswer(DECLARED, (service("b"), service("a"))))
    assert found == RowPlan(insert=(wish(service("a")), wish(service("b"))))


def test_services_of_a_hook_get_a_row_each() -> None:
    found = Place().look(SourceAnswer(DECLARED, None), SourceAnswer(HOOK, (service("a"),)))
    assert found == RowPlan(insert=(wish(service("a"), "hook/network"),))


def test_both_sources_are_merged_and_declared_wins() -> None:
    found = Place().look(
        SourceAnswer(HOOK, (service("a", replicas=9), service("b"))),
        SourceAnswer(DECLARED, (service("a", replicas=1),)),
    )
    assert found == RowPlan(
        insert=(wish(service("a", replicas=1)), wish(service("b"), "hook/network"))
    )


def test_a_set_that_does_not_change_plans_nothing() -> None:
    place = Place()
    for _ in range(3):
        place.look(SourceAnswer(DECLARED, (service("a"),)), SourceAnswer(HOOK, (service("b"),)))
    assert place.writes == 2


def test_a_service_that_nobody_wants_any_more_retires_and_the_others_stay() -> None:
    place = Place()
    place.look(
        SourceAnswer(DECLARED, (service("a"), service("b"))), SourceAnswer(HOOK, (service("c"),))
    )
    found = place.look(SourceAnswer(DECLARED, (service("a"),)), SourceAnswer(HOOK, (service("c"),)))
    assert said(found) == {"b": "retire"}


def test_a_hook_that_fails_leaves_its_services_running_until_it_answers_without_them() -> None:
    place = Place()
    place.look(SourceAnswer(HOOK, (service("a"), service("b"))))
    for _ in range(3):
        assert place.look(SourceAnswer(HOOK, None, "boom")) == RowPlan()
    assert said(place.look(SourceAnswer(HOOK, (service("b"),)))) == {"a": "retire"}


def test_two_hooks_with_one_name_do_not_rebuild_the_service_in_turns() -> None:
    place = Place()
    answers = (
        SourceAnswer(ServiceSource("hook/a"), (service("x", replicas=1),)),
        SourceAnswer(ServiceSource("hook/b"), (service("x", replicas=2),)),
    )
    for turn in range(100):
        place.look(*(answers if turn % 2 else reversed(answers)))
    assert place.writes == 1
    assert place.rows[0].desired.service.replicas == 1


def test_a_service_wanted_again_while_it_retires_is_made_once_it_is_gone() -> None:
    """It must not be stuck: neither as retiring for ever, nor as a second row of its name."""
    place = Place()
    place.look(SourceAnswer(DECLARED, (service("a"),)))
    place.look(SourceAnswer(DECLARED, ()))
    for _ in range(3):
        assert place.look(SourceAnswer(DECLARED, (service("a", replicas=2),))) == RowPlan()
    place.let_go()
    assert said(place.look(SourceAnswer(DECLARED, (service("a", replicas=2),)))) == {"a": "insert"}


def test_a_changed_body_changes_the_one_row_in_place() -> None:
    """Never a second row of the name: that would be refused, for ever."""
    place = Place(row(wish(service("a")), progress=ServiceProgress("Failed", attempts=3)))
    found = place.look(SourceAnswer(DECLARED, (service("a", replicas=2),)))
    assert said(found) == {"a": "update"}
    assert [(one.id, one.progress.attempts) for one in place.rows] == [("row-fra1-a", 3)]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"replicas": 2}, id="replicas alone"),
        pytest.param({"labels": {"team": "platform"}}, id="labels alone"),
        pytest.param({"annotations": {"a": "b"}}, id="annotations alone"),
        pytest.param({"kind": "DaemonSet"}, id="kind alone"),
        pytest.param({"depends_on": ("b",)}, id="what it waits for alone"),
        pytest.param({"deletion_policy": "Orphan"}, id="its policy alone"),
    ],
)
def test_every_field_of_a_body_counts(changes: dict[str, object]) -> None:
    place = Place(row(wish(service("a"))))
    assert said(place.look(SourceAnswer(DECLARED, (service("a", **changes),)))) == {"a": "update"}
    assert place.look(SourceAnswer(DECLARED, (service("a", **changes),))) == RowPlan()


def test_a_service_passes_from_one_source_to_another_in_place() -> None:
    place = Place(row(wish(service("a"), "hook/network")))
    found = place.look(SourceAnswer(DECLARED, (service("a"),)), SourceAnswer(HOOK, (service("a"),)))
    assert [(new.source.name, old.desired.source.name) for old, new in found.update] == [
        ("declared", "hook/network")
    ]
    assert said(place.look(SourceAnswer(DECLARED, ()), SourceAnswer(HOOK, (service("a"),)))) == {
        "a": "update"
    }


# --- plan by itself -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(wish(service("a", replicas=1)), {"a": "update"}, id="another body"),
        pytest.param(wish(service("a"), redeploy="2"), {"a": "update"}, id="only an order"),
        pytest.param(wish(service("a"), priority=3), {"a": "update"}, id="only a priority"),
        pytest.param(wish(service("a"), "set/x"), {"a": "update"}, id="only a source"),
        pytest.param(wish(service("a")), {}, id="the same"),
        pytest.param(
            wish(service("a", kind="Deployment", labels={})), {}, id="the same by default"
        ),
    ],
)
def test_what_makes_an_update(now: DesiredService, expected: dict[str, str]) -> None:
    assert said(plan(FRA1, wanting(now), [row(wish(service("a")))], False)) == expected


MIXED = (
    row(wish(service("keep"))),
    row(wish(service("change"))),
    row(wish(service("drop"))),
    row(wish(service("going")), retiring=True),
)
WANTED = wanting(
    wish(service("keep")),
    wish(service("change", replicas=2)),
    wish(service("going")),
    wish(service("new")),
)


@pytest.mark.parametrize(
    ("state", "deleting", "expected", "held"),
    [
        ("Active", False, {"new": "insert", "change": "update", "drop": "retire"}, ""),
        ("Active", True, {"change": "retire", "drop": "retire", "keep": "retire"}, ""),
        (
            "Draining",
            False,
            {"new": "insert", "change": "update"},
            "spec.state is Draining: nobody wants drop any more, and they stay; set it to Active "
            "to retire them",
        ),
        ("Draining", True, {"change": "retire", "drop": "retire", "keep": "retire"}, ""),
        (
            "Maintenance",
            False,
            {},
            "spec.state is Maintenance: no service is changed (1 would be made, 1 would be "
            "changed, 1 would be retired); set it to Active to go on",
        ),
        (
            "Maintenance",
            True,
            {},
            "spec.state is Maintenance: the deletion waits: change, drop, going, keep would have "
            "to retire; set it to Active or Draining",
        ),
        (
            "Offline",
            False,
            {},
            "spec.state is Offline: no service is changed (1 would be made, 1 would be changed, "
            "1 would be retired); set it to Active to go on",
        ),
        (
            "Offline",
            True,
            {},
            "spec.state is Offline: the deletion waits: change, drop, going, keep would have to "
            "retire; set it to Active or Draining",
        ),
    ],
)
def test_the_state_of_a_datacenter_is_a_gate(
    state: State, deleting: bool, expected: dict[str, str], held: str
) -> None:
    found = plan(datacenter(state=state), WANTED, MIXED, deleting)
    assert (said(found), found.held) == (expected, held)


@pytest.mark.parametrize(
    ("state", "rows", "deleting", "held"),
    [
        ("Draining", MIXED[:1], False, ""),
        ("Maintenance", MIXED[:1], False, "spec.state is Maintenance: no service is changed"),
        ("Offline", MIXED[:1], False, "spec.state is Offline: no service is changed"),
        ("Maintenance", (), True, ""),
        ("Offline", (), True, ""),
    ],
)
def test_nothing_that_waits_is_said_where_nothing_waits(
    state: State, rows: tuple[ServiceRecord, ...], deleting: bool, held: str
) -> None:
    found = plan(datacenter(state=state), wanting(wish(service("keep"))), rows, deleting)
    assert found == RowPlan(held=held)


def test_many_names_are_cut() -> None:
    rows = [row(wish(service(name))) for name in "gfedcba"]
    held = plan(datacenter(state="Draining"), wanting(), rows, False).held
    assert "nobody wants a, b, c, d, e and 2 more any more" in held


def test_writes_are_by_name_whatever_order_rows_and_wishes_come_in() -> None:
    def names(
        rows: Iterable[ServiceRecord], merged: Merged, place: DatacenterInfo = FRA1
    ) -> list[list[str]]:
        found = plan(place, merged, rows, False)
        return [
            [one.name for one in found.insert],
            [old.name for old, _ in found.update],
            [old.name for old in found.retire],
        ]

    rows = [row(wish(service(name))) for name in ("d", "c", "b", "a")]
    merged = wanting(
        *(wish(service(name, replicas=3)) for name in ("f", "d", "c", "e")),
    )
    expected = [["e", "f"], ["c", "d"], ["a", "b"]]
    assert names(rows, merged) == expected
    assert names(reversed(rows), wanting(*reversed(merged.services))) == expected
