"""managers.upgrade.events: the events of an upgrade, each once."""

from __future__ import annotations

import itertools

import pytest

from contracts.api.cluster.status import ClusterStatus
from managers.upgrade.events import upgrade_events
from tests.managers.upgrade.statuses import BEGUN, FAILED, ROLLS, status

SNAPS = {**BEGUN, "phase": "Snapshot", "snapshot": "before-1"}
RETRIED = {"lastHandledRetry": "again"}


def events_between(before: ClusterStatus, after: ClusterStatus) -> list[tuple[str, str]]:
    return [(note.kind, note.reason) for note in upgrade_events(before, after)]


NOTHING = status(None)

# sentence: (status before, status after, events)
CHANGES: dict[str, tuple[ClusterStatus, ClusterStatus, list[tuple[str, str]]]] = {
    "no upgrade": (NOTHING, NOTHING, []),
    "the start": (NOTHING, status(BEGUN), [("Normal", "UpgradeStarted")]),
    "progress": (status(BEGUN), status(ROLLS, "2.5.0"), []),
    "a server was upgraded": (status(ROLLS), status({**ROLLS, "completedPods": [2]}), []),
    "a step-down": (
        status(ROLLS),
        status({**ROLLS, "stepDownJob": "upgrade-x"}),
        [("Normal", "StepDownStarted")],
    ),
    "completed": (
        status(ROLLS, "2.5.0"), status(None, "2.5.0"), [("Normal", "UpgradeComplete")],
    ),
    "completed after a failure": (
        status(FAILED, "2.5.0"), status(None, "2.5.0"), [("Normal", "UpgradeComplete")],
    ),
    "reverted before a server was replaced": (
        status(BEGUN), NOTHING, [("Normal", "UpgradeCancelled")],
    ),
    "another version requested": (
        status(ROLLS, "2.5.0"),
        status({**ROLLS, "id": "u2", "targetVersion": "2.5.1"}, "2.5.1"),
        [("Normal", "UpgradeStarted")],
    ),
    "a failure": (status(ROLLS), status(FAILED), [("Warning", "UpgradeFailed")]),
    "an unchanged failure": (status(FAILED), status(FAILED), []),
    "a retry": (
        status(FAILED),
        status({**ROLLS, "id": "u2"}, upgradeRequests=RETRIED),
        [("Normal", "RollingRetryAccepted")],
    ),
    "a retry request without effect": (
        status(ROLLS), status(ROLLS, upgradeRequests=RETRIED), [],
    ),
    "another version after a failure": (
        status(FAILED),
        status({**ROLLS, "id": "u2", "targetVersion": "2.5.1"}),
        [("Normal", "UpgradeStarted")],
    ),
    "a snapshot comes first": (
        status(BEGUN), status(SNAPS), [("Normal", "PreUpgradeSnapshotStarted")],
    ),
    "the snapshot is complete": (
        status(SNAPS),
        status({**SNAPS, "phase": "Rolling"}, "2.5.0"),
        [("Normal", "PreUpgradeSnapshotCompleted")],
    ),
    "the snapshot failed and is repeated": (
        status(SNAPS),
        status({**SNAPS, "snapshot": "before-2"}),
        [("Warning", "PreUpgradeSnapshotFailed"), ("Normal", "PreUpgradeSnapshotStarted")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_which_changes_cause_an_event(
    before: ClusterStatus, after: ClusterStatus, expected: list[tuple[str, str]]
) -> None:
    assert events_between(before, after) == expected


EVERY = [seen for before, after, _ in CHANGES.values() for seen in (before, after)]


def test_an_unchanged_status_causes_no_event() -> None:
    for seen in EVERY:
        assert upgrade_events(seen, seen) == ()


def test_every_change_of_status_has_a_valid_event() -> None:
    """For each pair of statuses: the texts name the versions, and nothing raises."""
    for before, after in itertools.product(EVERY, EVERY):
        for note in upgrade_events(before, after):
            assert note.text
            assert note.reason[0].isupper()


def test_a_failure_names_its_reason_and_the_versions() -> None:
    ((note),) = upgrade_events(status(ROLLS), status(FAILED))
    assert note.text == "From 2.4.0 to 2.5.0: PodNotReady: x-2 is not back"
