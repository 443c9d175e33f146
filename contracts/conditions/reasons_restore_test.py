"""The results of a restore test: the meaning of each reason, and what the user does about it.

Uses the standard library. The Job of a test and managers.restore_test use no other reasons;
docs/restore-test.md has the same table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Outcome = Literal["Passed", "Failed", "Unknown"]
"""Failed: this snapshot cannot be relied on. Unknown: the test says nothing about the snapshot."""


@dataclass(frozen=True, slots=True)
class RestoreTestReason:
    """One result of a test."""

    name: str
    outcome: Outcome
    meaning: str
    next_step: str


_ANEW = "Take a new snapshot and test it. Find out what changed the old one."
_AGAIN = "Correct the cause that the message names, and request the test again."

_REASONS = (
    RestoreTestReason(
        "Restored",
        "Passed",
        "A test server restored the snapshot, unsealed itself, and returned the expected data.",
        "Nothing to do.",
    ),
    RestoreTestReason(
        "SnapshotMissing",
        "Failed",
        "The store does not contain the snapshot or its manifest.",
        "Find out who deleted it (retention keeps the newest snapshot), and take a new snapshot.",
    ),
    RestoreTestReason(
        "SnapshotIncomplete",
        "Failed",
        "The snapshot in the store is smaller than the one that was written, or its archive is "
        "truncated.",
        _ANEW,
    ),
    RestoreTestReason(
        "SnapshotCorrupt",
        "Failed",
        "The snapshot in the store, or its manifest, differs from the one that was written.",
        _ANEW,
    ),
    RestoreTestReason(
        "SealDiffers",
        "Failed",
        "The current seal of the servers cannot decrypt the snapshot.",
        "Keep the former key as long as you keep its snapshots, or take a snapshot with the new "
        "key.",
    ),
    RestoreTestReason(
        "VersionDiffers",
        "Failed",
        "The snapshot was taken with an OpenBao version other than the current version of the "
        "servers.",
        "Take a new snapshot after each upgrade. Restore an old snapshot with servers of its "
        "version.",
    ),
    RestoreTestReason(
        "StaysSealed",
        "Failed",
        "The test server accepted the snapshot, but did not unseal itself with the restored data "
        "in time.",
        "Read the log of the server in the pod of the test. A server also stays sealed if it "
        "cannot write to the directory of an audit device.",
    ),
    RestoreTestReason(
        "ClusterIDDiffers", "Failed", "The restored data belongs to another cluster.", _ANEW
    ),
    RestoreTestReason(
        "IndexTooLow",
        "Failed",
        "The raft log of the restored data ends before the index of the snapshot.",
        _ANEW,
    ),
    RestoreTestReason(
        "LoginRefused",
        "Failed",
        "The backup role cannot log in with the restored data.",
        "Compare the backup role and its policy with docs/first-boot.md, and take a new snapshot.",
    ),
    RestoreTestReason(
        "MountsDiffer",
        "Failed",
        "The restored server does not have the same secret engines as the cluster had at the time "
        "of the snapshot.",
        _ANEW,
    ),
    RestoreTestReason(
        "CanaryDiffers",
        "Failed",
        "The restored server returns other content for the canary path.",
        _ANEW,
    ),
    RestoreTestReason(
        "StoreUnavailable",
        "Unknown",
        "The Job could not download the snapshot from its store.",
        _AGAIN,
    ),
    RestoreTestReason(
        "ServerUnavailable",
        "Unknown",
        "The test server did not start or did not respond.",
        "Read the log of the server in the pod of the test, and request the test again.",
    ),
    RestoreTestReason(
        "PreparationFailed",
        "Unknown",
        "The operator or the Job could not prepare the test.",
        _AGAIN,
    ),
    RestoreTestReason(
        "NothingToTest",
        "Unknown",
        "A test was requested on an OpenBaoBackup that has no snapshot to test.",
        "Request the test on an OpenBaoBackup of this cluster whose phase is Completed.",
    ),
    RestoreTestReason(
        "JobFailed",
        "Unknown",
        "The Job of the test ended without a report: it was evicted, or ran out of time or memory.",
        "Read the events of the Job, and request the test again.",
    ),
    RestoreTestReason(
        "JobNotStarted",
        "Unknown",
        "The pod of the test did not start.",
        "Read the events of the pod for a problem with an image, a volume or a quota, and request "
        "the test again.",
    ),
    RestoreTestReason(
        "JobGone",
        "Unknown",
        "The Job of the test was deleted before it reported a result.",
        "Request the test again.",
    ),
)

RESTORE_TEST_REASONS: Final[Mapping[str, RestoreTestReason]] = MappingProxyType(
    {reason.name: reason for reason in _REASONS}
)
