"""Events of a blue/green upgrade: each is sent once."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from contracts.api.cluster.status import ClusterStatus
from contracts.records.event import EventRecord
from managers.upgrade.events import upgrade_events
from tests.house.checkout import ROOT
from tests.managers.upgrade.two_pools import FOR_EVER, NEW, OLD, TwoPools

PAGE = (ROOT / "docs" / "upgrade-metrics.md").read_text(encoding="utf-8")
PHASES = ["BlueGreenPhase"] * 4
BACKUP = {"schedule": "0 3 * * *", "target": {"provider": "s3", "bucket": "b"}}


class RecordedEvents(TwoPools):
    """A world that records the events of its statuses and reconciles."""

    def __init__(self, **spec: Any) -> None:
        super().__init__(**spec)
        self.events: list[EventRecord] = []

    def _store(self, fresh: dict[str, Any]) -> None:
        before, after = (ClusterStatus.lenient(status) for status in (self.status, fresh))
        super()._store(fresh)
        self.events += upgrade_events(before, after)
        self.events += self.decision.events if self.decision is not None else ()

    def names(self) -> list[str]:
        """The reasons of all events, in order."""
        return [event.reason for event in self.events]


Act = Callable[[RecordedEvents], object]


def to(phase: str, passes: int = 0) -> Act:
    return lambda world: world.to(phase).drive(passes)


def order(**tokens: str) -> Act:
    return lambda world: world.order(**tokens)


def drive(passes: int) -> Act:
    return lambda world: world.drive(passes)


def change(**attributes: Any) -> Act:
    return lambda world: world.__dict__.update(attributes)


def acknowledge(world: RecordedEvents) -> None:
    world.edit(breakGlassAck=world.status["breakGlass"]["nonce"])


class Row(NamedTuple):
    acts: tuple[Act, ...]
    expected: list[str]
    spec: dict[str, Any] = {}  # noqa: RUF012  only read

    def live(self) -> RecordedEvents:
        world = RecordedEvents(**self.spec)
        for act in self.acts:
            act(world)
        return world


SNAPSHOT_FIRST: dict[str, Any] = {"backup": BACKUP, "upgrade": {"preUpgradeSnapshot": True}}
BACK_FAILS = (
    to("DemotingBlue", 3),
    change(fails={"bluegreen-repair-consensus": FOR_EVER}),
    order(rollback="please"),
    drive(400),
    change(fails={}),
    acknowledge,
    drive(200),
)
SWITCHED = ["UpgradeStarted", *PHASES, "TrafficSwitched"]

# sentence: (what happens, the events in their order, the spec)
LIVES = {
    "a success": Row(
        (RecordedEvents.done,), [*SWITCHED, "BlueGreenPhase", "UpgradeComplete"]),
    "a success with read replicas": Row(
        (RecordedEvents.done,), [*SWITCHED, "BlueGreenPhase", "BlueGreenPhase", "UpgradeComplete"],
        {"readReplicas": {"replicas": 1}}),
    "an approved promotion": Row(
        (to("Syncing", 60), order(promote="go"), RecordedEvents.done),
        [
            "UpgradeStarted", *PHASES, "BlueGreenPromotionApproved", "TrafficSwitched",
            "BlueGreenPhase", "UpgradeComplete",
        ],
        {"upgrade": {"blueGreen": {"autoPromote": False}}}),
    "an approved cleanup": Row(
        (to("DemotingBlue", 60), order(cleanup="go"), RecordedEvents.done),
        [*SWITCHED, "BlueGreenPhase", "BlueGreenCleanupApproved", "UpgradeComplete"],
        {"upgrade": {"blueGreen": {"autoCleanup": False}}}),
    "a snapshot comes first": Row(
        (RecordedEvents.done,),
        [
            "PreUpgradeSnapshotStarted", "UpgradeStarted", "BlueGreenPhase",
            "PreUpgradeSnapshotCompleted", *PHASES[1:], "TrafficSwitched", "BlueGreenPhase",
            "UpgradeComplete",
        ],
        SNAPSHOT_FIRST),
    "failed snapshots": Row(
        (change(backup_ends="Failed"), drive(60)),
        [
            "PreUpgradeSnapshotStarted", "UpgradeStarted",
            *(["PreUpgradeSnapshotFailed", "PreUpgradeSnapshotStarted"] * 2), "UpgradeFailed",
        ],
        SNAPSHOT_FIRST),
    "a reverted version": Row(
        (change(backup_ends="Running"), drive(4), lambda world: world.edit(version=OLD), drive(10)),
        ["PreUpgradeSnapshotStarted", "UpgradeStarted", "UpgradeCancelled"],
        {"upgrade": {"preUpgradeSnapshot": True}}),
    "a Job fails once": Row(
        (change(fails={"bluegreen-join-green-nonvoters": 1}), RecordedEvents.done),
        [
            "UpgradeStarted", *PHASES[:2], "UpgradeJobFailed", *PHASES[2:], "TrafficSwitched",
            "BlueGreenPhase", "UpgradeComplete",
        ]),
    "a rollback": Row(
        (to("DemotingBlue", 3), order(rollback="please"), drive(200)),
        [*SWITCHED, "RollbackStarted", "BlueGreenPhase", "RollbackComplete"]),
    "a rollback after the point of no return": Row(
        (to("Cleanup"), order(rollback="please"), RecordedEvents.done),
        [*SWITCHED, "BlueGreenPhase", "RollbackRefused", "UpgradeComplete"]),
    "a failed rollback": Row(
        BACK_FAILS,
        [
            *SWITCHED, "RollbackStarted", *(["UpgradeJobFailed"] * 4), "BreakGlassEntered",
            "BreakGlassAcknowledged", "BlueGreenPhase", "RollbackComplete",
        ]),
}  # fmt: skip


@pytest.mark.parametrize("row", LIVES.values(), ids=LIVES.keys())
def test_the_events_of_an_upgrade(row: Row) -> None:
    world = row.live()
    assert world.names() == row.expected
    assert all(event.text for event in world.events)
    status = ClusterStatus.lenient(world.status)
    assert upgrade_events(status, status) == ()


def test_every_event_is_on_the_page() -> None:
    part = PAGE.split("Of a blue/green upgrade:")[1].split("## Alerts")[0]
    listed = {
        word for row in re.findall(r"^\| (\w[\w, ]*) \|", part, re.M) for word in row.split(", ")
    }
    reasons = {name for row in LIVES.values() for name in row.expected} | {"BlueGreenHoldEntered"}
    assert listed - {"reason"} == reasons


def test_the_texts_name_what_happened() -> None:
    texts = {event.reason: event.text for event in LIVES["a failed rollback"].live().events}
    assert NEW in texts["TrafficSwitched"]
    assert texts["RollbackComplete"].startswith(f"{OLD} still serves; {NEW} was removed")
    assert texts["BlueGreenPhase"] == "RollbackCleanup: green is removed"


HELD = {"type": "Upgrading", "status": "True", "reason": "BlueGreenHold", "message": "approve it"}
RUNS = {**HELD, "reason": "InProgress", "message": "green follows"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (RUNS, HELD, ["BlueGreenHoldEntered"]),
        (None, HELD, ["BlueGreenHoldEntered"]),
        (HELD, HELD, []),
        (HELD, {**HELD, "message": "in other words"}, []),
        (HELD, RUNS, []),
    ],
)
def test_a_hold_causes_one_event(
    before: dict[str, str] | None, after: dict[str, str], expected: list[str]
) -> None:
    was, now = (
        ClusterStatus.model_validate({"conditions": [item] if item else []})
        for item in (before, after)
    )
    assert [upgrade_event.reason for upgrade_event in upgrade_events(was, now)] == expected


def test_every_change_of_status_has_a_valid_event() -> None:
    """For each pair of statuses nothing raises, and every text has content."""
    seen = []
    for phase in ("DeployingGreen", "Promoting", "Cleanup", "RollingBack", "RollbackCleanup"):
        body = {"phase": phase, "operationID": "a", "jobFailureCount": 1}
        seen.append(ClusterStatus.model_validate({"blueGreen": body}))
    for before, after in itertools.product((ClusterStatus(), *seen), (ClusterStatus(), *seen)):
        assert all(note.text and note.reason for note in upgrade_events(before, after))
