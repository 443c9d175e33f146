"""How a restore test may end: reason by reason, what it means and what a person does about it.

Uses the standard library. The job of a test and managers.restore_test name no other reason; the
table in docs/restore-test.md is made of this one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Outcome = Literal["Passed", "Failed", "Unknown"]
"""Failed: this snapshot cannot be relied on. Unknown: the test says nothing about the snapshot."""


@dataclass(frozen=True, slots=True)
class ProofReason:
    """One end of a test."""

    name: str
    outcome: Outcome
    meaning: str
    next_step: str


_ANEW = "Take a new snapshot and test that one; find out what changed this one."
_AGAIN = "Mend what the message names, and ask for the test again."

_REASONS = (
    ProofReason(
        "Restored",
        "Passed",
        "A server took the snapshot, opened it, and showed what was in it when it was taken.",
        "Nothing to do.",
    ),
    ProofReason(
        "SnapshotMissing",
        "Failed",
        "The store has no such snapshot, or no manifest beside it.",
        "Find out who deleted it (retention keeps what is newest); take a new snapshot.",
    ),
    ProofReason(
        "SnapshotIncomplete",
        "Failed",
        "The store holds less than was written, or the archive ends in the middle.",
        _ANEW,
    ),
    ProofReason(
        "SnapshotCorrupt",
        "Failed",
        "The bytes in the store, or the manifest beside them, are not those that were written.",
        _ANEW,
    ),
    ProofReason(
        "SealDiffers",
        "Failed",
        "The key that opens the servers today does not open the snapshot.",
        "Keep the former key for as long as its snapshots, or take a snapshot with the new key.",
    ),
    ProofReason(
        "VersionDiffers",
        "Failed",
        "Another version of OpenBao took the snapshot than the servers run today.",
        "Take a new snapshot after each upgrade; restore an old one with a server of its version.",
    ),
    ProofReason(
        "StaysSealed",
        "Failed",
        "The server took the snapshot and could not open it, or did not come back with its data.",
        "Read the log of the server in the pod of the test: an audit device whose folder the "
        "server cannot write keeps it sealed, too.",
    ),
    ProofReason("ClusterIDDiffers", "Failed", "The data are those of another cluster.", _ANEW),
    ProofReason(
        "IndexTooLow", "Failed", "The restored data end before the snapshot was taken.", _ANEW
    ),
    ProofReason(
        "LoginRefused",
        "Failed",
        "The login of backups does not work with the restored data.",
        "Compare the role and the policy of backups with docs/first-boot.md, and take a new "
        "snapshot.",
    ),
    ProofReason(
        "MountsDiffer",
        "Failed",
        "The restored server has other secret engines than there were when it was taken.",
        _ANEW,
    ),
    ProofReason(
        "CanaryDiffers",
        "Failed",
        "The restored server shows another content at the path of the canary.",
        _ANEW,
    ),
    ProofReason(
        "StoreUnavailable", "Unknown", "The snapshot could not be fetched from its store.", _AGAIN
    ),
    ProofReason(
        "ServerUnavailable",
        "Unknown",
        "The server of the test did not start, or did not answer before there was anything in it.",
        "Read the log of the server in the pod of the test, and ask for the test again.",
    ),
    ProofReason("PreparationFailed", "Unknown", "The test could not be prepared.", _AGAIN),
    ProofReason(
        "NothingToTest",
        "Unknown",
        "A test was asked for where there is no snapshot.",
        "Ask at an OpenBaoBackup of this cluster whose phase is Completed.",
    ),
    ProofReason(
        "JobFailed",
        "Unknown",
        "The job of the test ended without a word: it was evicted, or ran out of time or memory.",
        "Read the events of the job, and ask for the test again.",
    ),
    ProofReason(
        "JobNotStarted",
        "Unknown",
        "The pod of the test did not start.",
        "Read the events of the pod: an image, a volume or a quota; then ask for the test again.",
    ),
    ProofReason(
        "JobGone",
        "Unknown",
        "The job of the test was deleted before it said anything.",
        "Ask for the test again.",
    ),
)

PROOF_REASONS: Final[Mapping[str, ProofReason]] = MappingProxyType(
    {reason.name: reason for reason in _REASONS}
)
