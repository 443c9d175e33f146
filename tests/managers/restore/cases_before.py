"""Situations before a restore is prepared, and the transition that applies to each."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

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


def verdict(state: Any, message: str = "c-0 is so") -> RecoveryVerdict:
    return RecoveryVerdict(state, message)


class Case(NamedTuple):
    """`expected` is the action, -> the next state, and the reason; each may be absent."""

    facts: RestoreFacts
    expected: str


BEFORE = {
    "new": Case(facts({}), "-> Validating RestoreValidating"),
    "pending": Case(facts({"phase": "Pending"}), "-> Validating RestoreValidating"),
    "the backup is still running": Case(
        facts(VALIDATING, source=RestoreFailure("SnapshotPending", "it runs")), "SnapshotPending"
    ),
    "there is no such backup": Case(
        facts(VALIDATING, source=RestoreFailure("SnapshotUnavailable", "no")),
        "-> End SnapshotUnavailable",
    ),
    "override without force is rejected": Case(
        facts(VALIDATING, spec={"overrideOperationLock": True}), "-> End InvalidSpec"
    ),
    "no cluster": Case(facts(VALIDATING, None), "-> End TargetUnavailable"),
    "the cluster has to be created": Case(
        facts(VALIDATING, None, FRESH), "make-target TargetBootstrapping"
    ),
    "the created cluster was deleted": Case(
        facts({**VALIDATING, "target": {"uid": "gone"}}, None, FRESH), "-> End TargetUnavailable"
    ),
    "a cluster of that name was not created for this restore": Case(
        facts(VALIDATING, READY, FRESH), "-> End TargetCollision"
    ),
    "the created cluster was replaced by another one with our annotation": Case(
        facts({**VALIDATING, "target": {"uid": "first"}}, MADE, FRESH), "-> End TargetCollision"
    ),
    "the created cluster is starting": Case(
        facts(VALIDATING, replace(MADE, available=False), FRESH), "TargetBootstrapping"
    ),
    "the created cluster never starts": Case(
        facts(VALIDATING, replace(MADE, available=False), FRESH, now=LATER),
        "-> End TargetBootstrapTimedOut",
    ),
    "the cluster is being deleted": Case(
        facts(VALIDATING, replace(READY, terminating=True)), "-> End TargetUnavailable"
    ),
    "paused": Case(facts(VALIDATING, replace(READY, paused=True)), "TargetPaused"),
    "hibernated": Case(facts(VALIDATING, replace(READY, hibernated=True)), "TargetHibernated"),
    "a backup holds the lock": Case(
        facts(VALIDATING, replace(READY, lock=BACKUP)), "OperationLockBlocked"
    ),
    "force alone takes no lock": Case(
        facts(VALIDATING, replace(READY, lock=BACKUP), FORCE), "OperationLockBlocked"
    ),
    "override takes it": Case(
        facts(VALIDATING, replace(READY, lock=BACKUP), OVERRIDE), "take-lock RestoreValidating"
    ),
    "a restore never overrides the lock of another restore": Case(
        facts(VALIDATING, replace(READY, lock=OTHER_RESTORE), OVERRIDE), "OperationLockBlocked"
    ),
    "the lock is free": Case(facts(VALIDATING, READY), "take-lock RestoreValidating"),
    "uninitialized target without force": Case(
        facts(VALIDATING, replace(LOCKED, initialized=False)), "-> End TargetNotInitialized"
    ),
    "uninitialized target with force": Case(
        facts(VALIDATING, replace(LOCKED, initialized=False), FORCE), "-> Prepared RestoreRunning"
    ),
    "upgrading target without force": Case(
        facts(VALIDATING, replace(LOCKED, upgrading=True)), "-> End UpgradeInProgress"
    ),
    "upgrading target with force": Case(
        facts(VALIDATING, replace(LOCKED, upgrading=True), FORCE), "-> Prepared RestoreRunning"
    ),
    "no login": Case(
        facts(
            VALIDATING, replace(LOCKED, failure=RestoreFailure("AuthenticationRequired", "none"))
        ),
        "-> End AuthenticationRequired",
    ),
    "the registry does not answer": Case(
        facts(
            VALIDATING, replace(LOCKED, obstacle=RestoreFailure("JobPrerequisiteMissing", "later"))
        ),
        "JobPrerequisiteMissing",
    ),
    "valid": Case(facts(VALIDATING), "-> Prepared RestoreRunning"),
}
