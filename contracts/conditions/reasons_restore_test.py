"""The results of a restore test: the meaning of each reason, and what the user does about it.

Uses the standard library. The Job of a test and managers.restore_test use no other reasons;
docs/restore-test.md has the same table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Outcome = Literal["Passed", "Failed", "Unknown"]
"""Failed: the snapshot is not reliable. Unknown: the test does not show whether it is reliable."""


@dataclass(frozen=True, slots=True)
class RestoreTestReason:
    """One result of a test."""

    name: str
    outcome: Outcome
    meaning: str
    next_step: str


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
        "Run `kubectl bao backup <cluster>`. Find the deletion in the access log of the store: "
        "retention never removes the newest snapshot.",
    ),
    RestoreTestReason(
        "SnapshotIncomplete",
        "Failed",
        "The snapshot in the store is smaller than the one that was written, or its archive is "
        "truncated.",
        "Run `kubectl bao backup <cluster>`, and test the new snapshot. If it is incomplete too, "
        "compare its size in the store with `status.snapshot.size` of the OpenBaoBackup, and "
        "check the quota of the store.",
    ),
    RestoreTestReason(
        "SnapshotCorrupt",
        "Failed",
        "The snapshot in the store, or its manifest, differs from the one that was written.",
        "Run `kubectl bao backup <cluster>`, and test the new snapshot. In the access log of the "
        "store, find the write after the backup: the snapshot and its manifest are written once.",
    ),
    RestoreTestReason(
        "SealDiffers",
        "Failed",
        "The current seal of the servers cannot decrypt the snapshot.",
        "Run `kubectl bao backup <cluster>` for a snapshot of the current seal. Keep the former "
        "key, which the message names, as long as you keep its snapshots.",
    ),
    RestoreTestReason(
        "VersionDiffers",
        "Failed",
        "The snapshot was taken with an OpenBao version other than the current version of the "
        "servers.",
        "Run `kubectl bao backup <cluster>` after each upgrade. Restore the old snapshot only "
        "into servers of its version, which the message names.",
    ),
    RestoreTestReason(
        "StaysSealed",
        "Failed",
        "The test server accepted the snapshot, but did not unseal itself with the restored data "
        "in time.",
        "Read `kubectl logs job/<job> -c openbao`: it contains the error of the seal, or the "
        "audit device whose directory the server cannot write to.",
    ),
    RestoreTestReason(
        "ClusterIDDiffers",
        "Failed",
        "The restored data belongs to another cluster.",
        "Run `kubectl bao backup <cluster>`, and test the new snapshot. If it fails too, compare "
        "`status.snapshot.clusterID` of the OpenBaoBackup with `status.adminOps.raft.clusterID` "
        "of the OpenBaoCluster.",
    ),
    RestoreTestReason(
        "IndexTooLow",
        "Failed",
        "The raft log of the restored data ends before the index of the snapshot.",
        "Run `kubectl bao backup <cluster>`, and test the new snapshot. If it fails too, read "
        "`kubectl logs job/<job> -c openbao` for errors of raft.",
    ),
    RestoreTestReason(
        "LoginRefused",
        "Failed",
        "The backup role cannot log in with the restored data.",
        "Compare `bao read auth/jwt-operator/role/<role>` and its policy with "
        "docs/first-boot.md, then run `kubectl bao backup <cluster>`. A snapshot that is older "
        "than the signing keys of the API server also refuses the login.",
    ),
    RestoreTestReason(
        "MountsDiffer",
        "Failed",
        "The restored server does not have the same secret engines as the cluster had at the "
        "time of the snapshot.",
        "Run `kubectl bao backup <cluster>`, and test the new snapshot. If it fails too, restore "
        "it into a new cluster (docs/restore.md), and compare `bao secrets list` of both "
        "clusters.",
    ),
    RestoreTestReason(
        "CanaryDiffers",
        "Failed",
        "The restored server returns other content for the canary path.",
        "Run `kubectl bao backup <cluster>`, and test the new snapshot. If it fails too, restore "
        "it into a new cluster (docs/restore.md), and compare `bao read <canaryPath>` of both "
        "clusters.",
    ),
    RestoreTestReason(
        "StoreUnavailable",
        "Unknown",
        "The Job could not download the snapshot from its store.",
        "Check the endpoint and the Secret of `spec.backup.target`, and the egress of the pod to "
        "the store (docs/backup-stores.md), and request the test again. The message contains the "
        "error of the store.",
    ),
    RestoreTestReason(
        "ServerUnavailable",
        "Unknown",
        "The test server did not start or did not respond.",
        "Read `kubectl logs job/<job> -c openbao`. The server has three minutes to start, and "
        "three to unseal: check that the pod can connect to the key service of the seal, and "
        "request the test again.",
    ),
    RestoreTestReason(
        "PreparationFailed",
        "Unknown",
        "The operator or the Job could not prepare the test.",
        "Create or correct the object or the field that the message names: a ServiceAccount, an "
        "image, a PVC, a quota, or a field of `spec.backup`. The operator waits up to ten minutes "
        "for it; after that, request the test again.",
    ),
    RestoreTestReason(
        "NothingToTest",
        "Unknown",
        "A test was requested on an OpenBaoBackup that has no snapshot to test.",
        "Choose an OpenBaoBackup of this cluster whose phase is Completed (`kubectl get "
        "obackup`), and request the test on it.",
    ),
    RestoreTestReason(
        "JobFailed",
        "Unknown",
        "The Job of the test ended without a report: it was evicted, or ran out of time or memory.",
        "Run `kubectl describe job <job>` within an hour. DeadlineExceeded: the test took more "
        "than an hour. BackoffLimitExceeded: `kubectl describe pods -l "
        "batch.kubernetes.io/job-name=<job>` shows the exit code. Then request the test again.",
    ),
    RestoreTestReason(
        "JobNotStarted",
        "Unknown",
        "The pod of the test did not start within ten minutes.",
        "Find the pod of the Job in `kubectl get events`: its events name the image, the volume, "
        "the quota or the node to correct. The operator deleted the Job after ten minutes; "
        "request the test again.",
    ),
    RestoreTestReason(
        "JobGone",
        "Unknown",
        "The Job of the test was deleted before it reported a result.",
        "Find out who deleted the Job that the message names: a user, or a controller that "
        "removes Jobs. Then request the test again.",
    ),
)

RESTORE_TEST_REASONS: Final[Mapping[str, RestoreTestReason]] = MappingProxyType(
    {reason.name: reason for reason in _REASONS}
)
