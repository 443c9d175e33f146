"""Situations before a run is prepared, and the row of the table that each has to find."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from contracts.api.cluster.status_backup import OperationLock
from managers.restore.inputs import RecoveryVerdict, RestoreFacts, RestoreFailure
from tests.managers.restore.situations import BACKUP, LOCKED, NOW, READY, TEMPLATE, UID, facts

VALIDATING = {"phase": "Validating", "startTime": "2026-11-22T11:59:00Z"}
FORCE = {"force": True}
OVERRIDE = {"force": True, "overrideOperationLock": True}
FRESH = {"clusterTemplate": TEMPLATE}
OTHER_RESTORE = OperationLock(operation="Restore", holder="openbaorestore/tuesday", epoch=3)
MADE = replace(READY, origin=UID)
LATER = NOW + timedelta(minutes=31)


def seen(state: Any, message: str = "c-0 is so") -> RecoveryVerdict:
    return RecoveryVerdict(state, message)


Case = tuple[str, RestoreFacts, str, str, str]
BEFORE: tuple[Case, ...] = (
    # name, facts, act, next place, reason; "" for none
    ("new", facts({}), "", "Validating", "RestoreValidating"),
    ("pending", facts({"phase": "Pending"}), "", "Validating", "RestoreValidating"),
    (
        "the backup runs still",
        facts(VALIDATING, source=RestoreFailure("SnapshotPending", "it runs")),
        "",
        "",
        "SnapshotPending",
    ),
    (
        "there is no such backup",
        facts(VALIDATING, source=RestoreFailure("SnapshotUnavailable", "no")),
        "",
        "End",
        "SnapshotUnavailable",
    ),
    (
        "override without force is rejected",
        facts(VALIDATING, spec={"overrideOperationLock": True}),
        "",
        "End",
        "InvalidSpec",
    ),
    ("no cluster", facts(VALIDATING, None), "", "End", "TargetUnavailable"),
    (
        "the cluster is to be made",
        facts(VALIDATING, None, FRESH),
        "make-target",
        "",
        "TargetBootstrapping",
    ),
    (
        "the made cluster was deleted",
        facts({**VALIDATING, "target": {"uid": "gone"}}, None, FRESH),
        "",
        "End",
        "TargetUnavailable",
    ),
    (
        "a cluster of that name is somebody else's",
        facts(VALIDATING, READY, FRESH),
        "",
        "End",
        "TargetCollision",
    ),
    (
        "the made cluster was replaced by another one with our mark",
        facts({**VALIDATING, "target": {"uid": "first"}}, MADE, FRESH),
        "",
        "End",
        "TargetCollision",
    ),
    (
        "the made cluster is starting",
        facts(VALIDATING, replace(MADE, available=False), FRESH),
        "",
        "",
        "TargetBootstrapping",
    ),
    (
        "the made cluster never starts",
        facts(VALIDATING, replace(MADE, available=False), FRESH, now=LATER),
        "",
        "End",
        "TargetBootstrapTimedOut",
    ),
    (
        "the cluster is being deleted",
        facts(VALIDATING, replace(READY, terminating=True)),
        "",
        "End",
        "TargetUnavailable",
    ),
    ("paused", facts(VALIDATING, replace(READY, paused=True)), "", "", "TargetPaused"),
    (
        "a backup holds the lock",
        facts(VALIDATING, replace(READY, lock=BACKUP)),
        "",
        "",
        "OperationLockBlocked",
    ),
    (
        "force alone takes no lock",
        facts(VALIDATING, replace(READY, lock=BACKUP), FORCE),
        "",
        "",
        "OperationLockBlocked",
    ),
    (
        "override takes it",
        facts(VALIDATING, replace(READY, lock=BACKUP), OVERRIDE),
        "take-lock",
        "",
        "RestoreValidating",
    ),
    (
        "two restores never steal from each other",
        facts(VALIDATING, replace(READY, lock=OTHER_RESTORE), OVERRIDE),
        "",
        "",
        "OperationLockBlocked",
    ),
    ("the lock is free", facts(VALIDATING, READY), "take-lock", "", "RestoreValidating"),
    (
        "uninitialized target without force",
        facts(VALIDATING, replace(LOCKED, initialized=False)),
        "",
        "End",
        "TargetNotInitialized",
    ),
    (
        "uninitialized target with force",
        facts(VALIDATING, replace(LOCKED, initialized=False), FORCE),
        "",
        "Prepared",
        "RestoreRunning",
    ),
    (
        "upgrading target without force",
        facts(VALIDATING, replace(LOCKED, upgrading=True)),
        "",
        "End",
        "UpgradeInProgress",
    ),
    (
        "upgrading target with force",
        facts(VALIDATING, replace(LOCKED, upgrading=True), FORCE),
        "",
        "Prepared",
        "RestoreRunning",
    ),
    (
        "no login",
        facts(
            VALIDATING, replace(LOCKED, trouble=RestoreFailure("AuthenticationRequired", "none"))
        ),
        "",
        "End",
        "AuthenticationRequired",
    ),
    (
        "the registry does not answer",
        facts(VALIDATING, replace(LOCKED, hindrance=RestoreFailure("ExecutorPending", "later"))),
        "",
        "",
        "ExecutorPending",
    ),
    ("valid", facts(VALIDATING), "", "Prepared", "RestoreRunning"),
)
