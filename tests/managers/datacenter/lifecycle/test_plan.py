"""Which records are created, changed and retired, and which writes the datacenter state blocks."""

from collections.abc import Iterable

import pytest

from contracts.datacenter.objects import State
from contracts.datacenter.workload_records import DatacenterInfo, DesiredService, ServiceRecord
from managers.datacenter.lifecycle.plan import RecordPlan, plan
from managers.datacenter.sources.merge import MergeResult
from tests.managers.datacenter.bodies import datacenter, desired_service, record, service

FRA1 = datacenter()


def wanting(*wishes: DesiredService) -> MergeResult:
    return MergeResult(wishes, (), ())


def writes_by_name(plan: RecordPlan) -> dict[str, str]:
    """The planned writes by name."""
    return {
        **{entry.name: "insert" for entry in plan.insert},
        **{old.name: "update" for old, _ in plan.update},
        **{old.name: "retire" for old in plan.retire},
    }


# sentence: (the desired service, whether it is an update)
CHANGES: dict[str, tuple[DesiredService, bool]] = {
    "another body": (desired_service(service("a", replicas=1)), True),
    "only a redeploy token": (desired_service(service("a"), redeploy="2"), True),
    "only a priority": (desired_service(service("a"), priority=3), True),
    "only a source": (desired_service(service("a"), "set/x"), True),
    "the same": (desired_service(service("a")), False),
    "the same with explicit defaults": (
        desired_service(service("a", kind="Deployment", labels={})),
        False,
    ),
}


@pytest.mark.parametrize(("now", "updates"), CHANGES.values(), ids=CHANGES)
def test_which_changes_cause_an_update(now: DesiredService, updates: bool) -> None:
    record_plan = plan(FRA1, wanting(now), [record(desired_service(service("a")))], False)
    assert writes_by_name(record_plan) == ({"a": "update"} if updates else {})


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


RETIRE_ALL = {"change": "retire", "drop": "retire", "keep": "retire"}


@pytest.mark.parametrize(
    ("state", "deleting", "expected", "blocked"),
    [
        ("Active", False, {"new": "insert", "change": "update", "drop": "retire"}, ""),
        ("Active", True, RETIRE_ALL, ""),
        (
            "Draining",
            False,
            {"new": "insert", "change": "update"},
            "spec.state is Draining: no source requests drop any more; set it to Active to retire "
            "them",
        ),
        ("Draining", True, RETIRE_ALL, ""),
        *(
            (state, deleting, {}, f"spec.state is {state}{blocked}")
            for state in ("Maintenance", "Offline")
            for deleting, blocked in (
                (
                    False,
                    ": no service is changed (1 would be created, 1 would be updated, 1 would be "
                    "retired); set it to Active to continue",
                ),
                (
                    True,
                    ", which blocks the deletion of change, drop, going, keep; set it to Active or "
                    "Draining",
                ),
            )
        ),
    ],
)
def test_the_state_of_a_datacenter_limits_the_writes(
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
def test_the_message_names_only_blocked_writes(
    state: State, records: tuple[ServiceRecord, ...], deleting: bool, blocked: str
) -> None:
    record_plan = plan(
        datacenter(state=state), wanting(desired_service(service("keep"))), records, deleting
    )
    assert record_plan == RecordPlan(blocked=blocked)


def test_a_long_list_of_names_is_truncated() -> None:
    records = [record(desired_service(service(name))) for name in "gfedcba"]
    blocked = plan(datacenter(state="Draining"), wanting(), records, False).blocked
    assert "no source requests a, b, c, d, e and 2 more any more" in blocked


def test_writes_are_sorted_by_name() -> None:
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
