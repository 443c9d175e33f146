"""Events of a blue/green upgrade: what each write and each pass tells, each thing once."""

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


class Told(TwoPools):
    """A world that keeps what is told by its statuses and by the passes that wrote them."""

    def __init__(self, **spec: Any) -> None:
        super().__init__(**spec)
        self.events: list[EventRecord] = []

    def _store(self, fresh: dict[str, Any]) -> None:
        before, after = (ClusterStatus.lenient(status) for status in (self.status, fresh))
        super()._store(fresh)
        self.events += upgrade_events(before, after)
        self.events += self.course.events if self.course is not None else ()

    def names(self) -> list[str]:
        """The reasons of all events, in order."""
        return [event.reason for event in self.events]


def whole() -> Told:
    world = Told()
    world.done()
    return world


def with_read_replicas() -> Told:
    world = Told(readReplicas={"replicas": 1})
    world.done()
    return world


def approve() -> Told:
    world = Told(upgrade={"blueGreen": {"autoPromote": False}})
    world.to("Syncing").drive(60)
    world.order(promote="go")
    world.done()
    return world


def approve_cleanup() -> Told:
    world = Told(upgrade={"blueGreen": {"autoCleanup": False}})
    world.to("DemotingBlue").drive(60)
    world.order(cleanup="go")
    world.done()
    return world


def with_snapshot() -> Told:
    world = Told(backup=BACKUP, upgrade={"preUpgradeSnapshot": True})
    world.done()
    return world


def without_snapshot() -> Told:
    world = Told(backup=BACKUP, upgrade={"preUpgradeSnapshot": True})
    world.backup_ends = "Failed"
    world.drive(60)
    return world


def revert_at_once() -> Told:
    world = Told(upgrade={"preUpgradeSnapshot": True})
    world.backup_ends = "Running"
    world.drive(4)
    world.edit(version=OLD)
    world.drive(10)
    return world


def one_job_fails() -> Told:
    world = Told()
    world.fails = {"bluegreen-join-green-nonvoters": 1}
    world.done()
    return world


def roll_back() -> Told:
    world = Told()
    world.to("DemotingBlue").drive(3)
    world.order(rollback="please")
    world.drive(200)
    return world


def roll_back_too_late() -> Told:
    world = Told()
    world.to("Cleanup")
    world.order(rollback="please")
    world.done()
    return world


def safe_mode() -> Told:
    world = Told()
    world.to("DemotingBlue").drive(3)
    world.fails = {"bluegreen-repair-consensus": FOR_EVER}
    world.order(rollback="please")
    world.drive(400)
    world.fails = {}
    world.edit(breakGlassAck=world.status["breakGlass"]["nonce"])
    world.drive(200)
    return world


class Row(NamedTuple):
    live: Callable[[], Told]
    expected: list[str]


# sentence: (what happens, the events in their order)
LIVES = {
    "all goes well": Row(
        whole,
        ["UpgradeStarted", *PHASES, "TrafficSwitched", "BlueGreenPhase", "UpgradeComplete"]),
    "read replicas follow": Row(
        with_read_replicas,
        [
            "UpgradeStarted", *PHASES, "TrafficSwitched", "BlueGreenPhase", "BlueGreenPhase",
            "UpgradeComplete",
        ]),
    "a person approves": Row(
        approve,
        [
            "UpgradeStarted", *PHASES, "BlueGreenPromotionApproved", "TrafficSwitched",
            "BlueGreenPhase", "UpgradeComplete",
        ]),
    "a person approves the removal": Row(
        approve_cleanup,
        [
            "UpgradeStarted", *PHASES, "TrafficSwitched", "BlueGreenPhase",
            "BlueGreenCleanupApproved", "UpgradeComplete",
        ]),
    "a snapshot comes first": Row(
        with_snapshot,
        [
            "PreUpgradeSnapshotStarted", "UpgradeStarted", "BlueGreenPhase",
            "PreUpgradeSnapshotCompleted", *PHASES[1:], "TrafficSwitched", "BlueGreenPhase",
            "UpgradeComplete",
        ]),
    "no snapshot can be taken": Row(
        without_snapshot,
        [
            "PreUpgradeSnapshotStarted", "UpgradeStarted",
            *(["PreUpgradeSnapshotFailed", "PreUpgradeSnapshotStarted"] * 2), "UpgradeFailed",
        ]),
    "nobody wants it any more": Row(
        revert_at_once,
        ["PreUpgradeSnapshotStarted", "UpgradeStarted", "UpgradeCancelled"]),
    "a Job fails once": Row(
        one_job_fails,
        [
            "UpgradeStarted", *PHASES[:2], "UpgradeJobFailed", *PHASES[2:], "TrafficSwitched",
            "BlueGreenPhase", "UpgradeComplete",
        ]),
    "it goes back": Row(
        roll_back,
        [
            "UpgradeStarted", *PHASES, "TrafficSwitched", "RollbackStarted", "BlueGreenPhase",
            "RollbackComplete",
        ]),
    "it is too late to go back": Row(
        roll_back_too_late,
        [
            "UpgradeStarted", *PHASES, "TrafficSwitched", "BlueGreenPhase", "RollbackRefused",
            "UpgradeComplete",
        ]),
    "going back fails": Row(
        safe_mode,
        [
            "UpgradeStarted", *PHASES, "TrafficSwitched", "RollbackStarted",
            *(["UpgradeJobFailed"] * 4), "BreakGlassEntered", "BreakGlassAcknowledged",
            "BlueGreenPhase", "RollbackComplete",
        ]),
}  # fmt: skip


@pytest.mark.parametrize(("live", "expected"), LIVES.values(), ids=LIVES.keys())
def test_what_is_told_of_a_life(live: Callable[[], Told], expected: list[str]) -> None:
    world = live()
    assert world.names() == expected
    assert all(event.text for event in world.events)
    status = ClusterStatus.lenient(world.status)
    assert upgrade_events(status, status) == ()


def test_every_event_is_on_the_page() -> None:
    part = PAGE.split("Of a blue/green upgrade:")[1].split("## Alerts")[0]
    listed = {
        word for row in re.findall(r"^\| (\w[\w, ]*) \|", part, re.M) for word in row.split(", ")
    }
    reasons = {name for _, names in LIVES.values() for name in names} | {"BlueGreenHoldEntered"}
    assert listed - {"reason"} == reasons


def test_the_texts_name_what_happened() -> None:
    texts = {event.reason: event.text for event in safe_mode().events}
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
def test_a_hold_is_told_when_it_begins(
    before: dict[str, str] | None, after: dict[str, str], expected: list[str]
) -> None:
    was, now = (
        ClusterStatus.model_validate({"conditions": [item] if item else []})
        for item in (before, after)
    )
    assert [upgrade_event.reason for upgrade_event in upgrade_events(was, now)] == expected


def test_a_status_that_is_lost_is_told_by_the_write_that_repeats_it() -> None:
    """From anywhere to anywhere nothing fails, and every text says something."""
    seen = []
    for phase in ("DeployingGreen", "Promoting", "Cleanup", "RollingBack", "RollbackCleanup"):
        body = {"phase": phase, "operationID": "a", "jobFailureCount": 1}
        seen.append(ClusterStatus.model_validate({"blueGreen": body}))
    for before, after in itertools.product((ClusterStatus(), *seen), (ClusterStatus(), *seen)):
        assert all(note.text and note.reason for note in upgrade_events(before, after))
