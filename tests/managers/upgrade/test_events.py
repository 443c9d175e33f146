"""managers.upgrade.events: an upgrade as a person hears of it, each thing once."""

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

# sentence: (status before, status after, what is told)
CHANGES: dict[str, tuple[ClusterStatus, ClusterStatus, list[tuple[str, str]]]] = {
    "nothing is asked for": (NOTHING, NOTHING, []),
    "it begins": (NOTHING, status(BEGUN), [("Normal", "UpgradeStarted")]),
    "it goes on": (status(BEGUN), status(ROLLS, "2.5.0"), []),
    "a server is new": (status(ROLLS), status({**ROLLS, "completedPods": [2]}), []),
    "a leader is asked": (
        status(ROLLS),
        status({**ROLLS, "stepDownJob": "upgrade-x"}),
        [("Normal", "StepDownStarted")],
    ),
    "all are new": (
        status(ROLLS, "2.5.0"), status(None, "2.5.0"), [("Normal", "UpgradeComplete")],
    ),
    "all are new after it had failed": (
        status(FAILED, "2.5.0"), status(None, "2.5.0"), [("Normal", "UpgradeComplete")],
    ),
    "it is taken back before a server was touched": (
        status(BEGUN), NOTHING, [("Normal", "UpgradeCancelled")],
    ),
    "another version is asked for": (
        status(ROLLS, "2.5.0"),
        status({**ROLLS, "id": "u2", "targetVersion": "2.5.1"}, "2.5.1"),
        [("Normal", "UpgradeStarted")],
    ),
    "it fails": (status(ROLLS), status(FAILED), [("Warning", "UpgradeFailed")]),
    "it has failed": (status(FAILED), status(FAILED), []),
    "it is tried again": (
        status(FAILED),
        status({**ROLLS, "id": "u2"}, upgradeRequests=RETRIED),
        [("Normal", "RollingRetryAccepted")],
    ),
    "an order to try again finds nothing to do": (
        status(ROLLS), status(ROLLS, upgradeRequests=RETRIED), [],
    ),
    "another version repairs it": (
        status(FAILED),
        status({**ROLLS, "id": "u2", "targetVersion": "2.5.1"}),
        [("Normal", "UpgradeStarted")],
    ),
    "a snapshot comes first": (
        status(BEGUN), status(SNAPS), [("Normal", "PreUpgradeSnapshotStarted")],
    ),
    "the snapshot is there": (
        status(SNAPS),
        status({**SNAPS, "phase": "Rolling"}, "2.5.0"),
        [("Normal", "PreUpgradeSnapshotCompleted")],
    ),
    "the snapshot failed, and another is made": (
        status(SNAPS),
        status({**SNAPS, "snapshot": "before-2"}),
        [("Warning", "PreUpgradeSnapshotFailed"), ("Normal", "PreUpgradeSnapshotStarted")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_what_is_told(
    before: ClusterStatus, after: ClusterStatus, expected: list[tuple[str, str]]
) -> None:
    assert events_between(before, after) == expected


EVERY = [seen for before, after, _ in CHANGES.values() for seen in (before, after)]


def test_a_status_that_stays_tells_nothing() -> None:
    for seen in EVERY:
        assert upgrade_events(seen, seen) == ()


def test_a_status_that_is_lost_is_told_by_the_write_that_repeats_it() -> None:
    """From anywhere to anywhere: the texts name the versions, and nothing fails."""
    for before, after in itertools.product(EVERY, EVERY):
        for note in upgrade_events(before, after):
            assert note.text
            assert note.reason[0].isupper()


def test_a_failure_names_its_reason_and_the_versions() -> None:
    ((note),) = upgrade_events(status(ROLLS), status(FAILED))
    assert note.text == "From 2.4.0 to 2.5.0: PodNotReady: x-2 is not back"
