"""Which records are made, changed and retired, and what the state of a datacenter holds back.

The first part runs merge and plan together, pass after pass, on records that are written at once.
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
from managers.datacenter.lifecycle.plan import RecordPlan, plan
from managers.datacenter.sources.merge import MergeResult, SourceResult, merge
from tests.managers.datacenter.bodies import datacenter, desired_service, record, service

DECLARED = ServiceSource("declared")
HOOK = ServiceSource("hook/network")
FRA1 = datacenter()
ACTIVE: State = "Active"


class Place:
    """A datacenter whose records follow each plan at once; retiring ones stay until `let_go`."""

    def __init__(self, *records: ServiceRecord) -> None:
        self.records = records
        self.writes = 0

    def look(self, *answers: SourceResult, deleting: bool = False) -> RecordPlan:
        merge_result = merge(answers, self.records, {}, frozenset())
        record_plan = plan(FRA1, merge_result, self.records, deleting)
        kept = {service_record.name: service_record for service_record in self.records}
        kept.update({entry.name: record(entry) for entry in record_plan.insert})
        kept.update({old.name: replace(old, desired=new) for old, new in record_plan.update})
        kept.update({old.name: replace(old, retiring=True) for old in record_plan.retire})
        self.writes += len(record_plan.insert) + len(record_plan.update) + len(record_plan.retire)
        self.records = tuple(kept.values())
        return record_plan

    def let_go(self) -> None:
        self.records = tuple(
            service_record for service_record in self.records if not service_record.retiring
        )


def wanting(*wishes: DesiredService) -> MergeResult:
    return MergeResult(wishes, (), ())


def writes_by_name(plan: RecordPlan) -> dict[str, str]:
    """What is to be written, by name."""
    return {
        **{entry.name: "insert" for entry in plan.insert},
        **{old.name: "update" for old, _ in plan.update},
        **{old.name: "retire" for old in plan.retire},
    }


# --- merge and plan, pass after pass ------------------------------------------------------------


def test_declared_services_get_a_record_each() -> None:
    record_plan = Place().look(SourceResult(DECLARED, (service("b"), service("a"))))
    assert record_plan == RecordPlan(
        insert=(desired_service(service("a")), desired_service(service("b")))
    )


def test_services_of_a_hook_get_a_record_each() -> None:
    record_plan = Place().look(SourceResult(DECLARED, None), SourceResult(HOOK, (service("a"),)))
    assert record_plan == RecordPlan(insert=(desired_service(service("a"), "hook/network"),))


def test_both_sources_are_merged_and_declared_wins() -> None:
    record_plan = Place().look(
        SourceResult(HOOK, (service("a", replicas=9), service("b"))),
        SourceResult(DECLARED, (service("a", replicas=1),)),
    )
    assert record_plan == RecordPlan(
        insert=(
            desired_service(service("a", replicas=1)),
            desired_service(service("b"), "hook/network"),
        )
    )


def test_a_set_that_does_not_change_plans_nothing() -> None:
    place = Place()
    for _ in range(3):
        place.look(SourceResult(DECLARED, (service("a"),)), SourceResult(HOOK, (service("b"),)))
    assert place.writes == 2


def test_a_service_that_nobody_wants_any_more_retires_and_the_others_stay() -> None:
    place = Place()
    place.look(
        SourceResult(DECLARED, (service("a"), service("b"))), SourceResult(HOOK, (service("c"),))
    )
    record_plan = place.look(
        SourceResult(DECLARED, (service("a"),)), SourceResult(HOOK, (service("c"),))
    )
    assert writes_by_name(record_plan) == {"b": "retire"}


def test_a_hook_that_fails_leaves_its_services_running_until_it_answers_without_them() -> None:
    place = Place()
    place.look(SourceResult(HOOK, (service("a"), service("b"))))
    for _ in range(3):
        assert place.look(SourceResult(HOOK, None, "boom")) == RecordPlan()
    assert writes_by_name(place.look(SourceResult(HOOK, (service("b"),)))) == {"a": "retire"}


def test_two_hooks_with_one_name_do_not_rebuild_the_service_in_turns() -> None:
    place = Place()
    answers = (
        SourceResult(ServiceSource("hook/a"), (service("x", replicas=1),)),
        SourceResult(ServiceSource("hook/b"), (service("x", replicas=2),)),
    )
    for turn in range(100):
        place.look(*(answers if turn % 2 else reversed(answers)))
    assert place.writes == 1
    assert place.records[0].desired.service.replicas == 1


def test_a_service_wanted_again_while_it_retires_is_made_once_it_is_gone() -> None:
    """It must not be stuck: neither as retiring for ever, nor as a second record of its name."""
    place = Place()
    place.look(SourceResult(DECLARED, (service("a"),)))
    place.look(SourceResult(DECLARED, ()))
    for _ in range(3):
        assert place.look(SourceResult(DECLARED, (service("a", replicas=2),))) == RecordPlan()
    place.let_go()
    assert writes_by_name(place.look(SourceResult(DECLARED, (service("a", replicas=2),)))) == {
        "a": "insert"
    }


def test_a_changed_body_changes_the_one_record_in_place() -> None:
    """Never a second record of the name: that would be refused, for ever."""
    place = Place(
        record(desired_service(service("a")), progress=ServiceProgress("Failed", attempts=3))
    )
    record_plan = place.look(SourceResult(DECLARED, (service("a", replicas=2),)))
    assert writes_by_name(record_plan) == {"a": "update"}
    assert [
        (service_record.id, service_record.progress.attempts) for service_record in place.records
    ] == [("record-fra1-a", 3)]


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
    place = Place(record(desired_service(service("a"))))
    assert writes_by_name(place.look(SourceResult(DECLARED, (service("a", **changes),)))) == {
        "a": "update"
    }
    assert place.look(SourceResult(DECLARED, (service("a", **changes),))) == RecordPlan()


def test_a_service_passes_from_one_source_to_another_in_place() -> None:
    place = Place(record(desired_service(service("a"), "hook/network")))
    record_plan = place.look(
        SourceResult(DECLARED, (service("a"),)), SourceResult(HOOK, (service("a"),))
    )
    assert [(new.source.name, old.desired.source.name) for old, new in record_plan.update] == [
        ("declared", "hook/network")
    ]
    assert writes_by_name(
        place.look(SourceResult(DECLARED, ()), SourceResult(HOOK, (service("a"),)))
    ) == {"a": "update"}


# --- plan by itself -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(desired_service(service("a", replicas=1)), {"a": "update"}, id="another body"),
        pytest.param(
            desired_service(service("a"), redeploy="2"), {"a": "update"}, id="only an order"
        ),
        pytest.param(
            desired_service(service("a"), priority=3), {"a": "update"}, id="only a priority"
        ),
        pytest.param(desired_service(service("a"), "set/x"), {"a": "update"}, id="only a source"),
        pytest.param(desired_service(service("a")), {}, id="the same"),
        pytest.param(
            desired_service(service("a", kind="Deployment", labels={})),
            {},
            id="the same by default",
        ),
    ],
)
def test_what_makes_an_update(now: DesiredService, expected: dict[str, str]) -> None:
    assert (
        writes_by_name(plan(FRA1, wanting(now), [record(desired_service(service("a")))], False))
        == expected
    )


MIXED = (
    record(desired_service(service("keep"))),
    record(desired_service(service("change"))),
    record(desired_service(service("drop"))),
    record(desired_service(service("going")), retiring=True),
)
WANTED = wanting(
    desired_service(service("keep")),
    desired_service(service("change", replicas=2)),
    desired_service(service("going")),
    desired_service(service("new")),
)


@pytest.mark.parametrize(
    ("state", "deleting", "expected", "blocked"),
    [
        ("Active", False, {"new": "insert", "change": "update", "drop": "retire"}, ""),
        ("Active", True, {"change": "retire", "drop": "retire", "keep": "retire"}, ""),
        (
            "Draining",
            False,
            {"new": "insert", "change": "update"},
            "spec.state is Draining: no source requests drop any more; set it to Active to retire "
            "them",
        ),
        ("Draining", True, {"change": "retire", "drop": "retire", "keep": "retire"}, ""),
        (
            "Maintenance",
            False,
            {},
            "spec.state is Maintenance: no service is changed (1 would be created, 1 would be "
            "updated, 1 would be retired); set it to Active to continue",
        ),
        (
            "Maintenance",
            True,
            {},
            "spec.state is Maintenance, which blocks the deletion of change, drop, going, keep; "
            "set it to Active or Draining",
        ),
        (
            "Offline",
            False,
            {},
            "spec.state is Offline: no service is changed (1 would be created, 1 would be updated, "
            "1 would be retired); set it to Active to continue",
        ),
        (
            "Offline",
            True,
            {},
            "spec.state is Offline, which blocks the deletion of change, drop, going, keep; set it "
            "to Active or Draining",
        ),
    ],
)
def test_the_state_of_a_datacenter_is_a_gate(
    state: State, deleting: bool, expected: dict[str, str], blocked: str
) -> None:
    record_plan = plan(datacenter(state=state), WANTED, MIXED, deleting)
    assert (writes_by_name(record_plan), record_plan.blocked) == (expected, blocked)


@pytest.mark.parametrize(
    ("state", "records", "deleting", "blocked"),
    [
        ("Draining", MIXED[:1], False, ""),
        ("Maintenance", MIXED[:1], False, "spec.state is Maintenance: no service is changed"),
        ("Offline", MIXED[:1], False, "spec.state is Offline: no service is changed"),
        ("Maintenance", (), True, ""),
        ("Offline", (), True, ""),
    ],
)
def test_nothing_that_waits_is_said_where_nothing_waits(
    state: State, records: tuple[ServiceRecord, ...], deleting: bool, blocked: str
) -> None:
    record_plan = plan(
        datacenter(state=state), wanting(desired_service(service("keep"))), records, deleting
    )
    assert record_plan == RecordPlan(blocked=blocked)


def test_many_names_are_cut() -> None:
    records = [record(desired_service(service(name))) for name in "gfedcba"]
    blocked = plan(datacenter(state="Draining"), wanting(), records, False).blocked
    assert "no source requests a, b, c, d, e and 2 more any more" in blocked


def test_writes_are_by_name_whatever_order_records_and_wishes_come_in() -> None:
    def names(
        records: Iterable[ServiceRecord], merge_result: MergeResult, place: DatacenterInfo = FRA1
    ) -> list[list[str]]:
        record_plan = plan(place, merge_result, records, False)
        return [
            [entry.name for entry in record_plan.insert],
            [old.name for old, _ in record_plan.update],
            [old.name for old in record_plan.retire],
        ]

    records = [record(desired_service(service(name))) for name in ("d", "c", "b", "a")]
    merge_result = wanting(
        *(desired_service(service(name, replicas=3)) for name in ("f", "d", "c", "e")),
    )
    expected = [["e", "f"], ["c", "d"], ["a", "b"]]
    assert names(records, merge_result) == expected
    assert names(reversed(records), wanting(*reversed(merge_result.services))) == expected
