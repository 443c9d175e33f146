"""The progress of an OpenBaoBackup or OpenBaoRestore in steps, from its status.

Pure. Called by baoctl.commands.cluster.run. The steps are those of managers.backup.state_machine
and managers.restore.state_machine. The status does not count transferred bytes, so a step is the
smallest unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from baoctl.commands.cluster.observed import part, text
from contracts.api.group import BACKUPS
from contracts.conditions.message import clean_message
from runtime.types import Object, Resource

UNKNOWN: Final = "Unknown"
FINAL_PHASES: Final = frozenset({"Completed", "Failed", UNKNOWN})
"""Final phases. An Unknown restore waits for the acknowledgment of a user."""
BACKUP_STEPS: Final = ("Preconditions", "Reservation", "Job", "Cleanup")
RESTORE_STEPS: Final = ("Validation", "Reservation", "Job", "Submission", "Recovery")
_STAGES: Final = {
    "Prepared": 1,
    "Committed": 1,
    "Created": 2,
    "Unknown": 2,
    "TerminalObserved": 4,
    "Recovering": 4,
}
"""Completed steps of a restore, by the stage of its execution."""
_SUBMISSION: Final = RESTORE_STEPS.index("Submission")


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a backup or restore."""

    phase: str
    message: str
    """What it does or waits for."""
    steps: tuple[str, ...]
    done: int
    """Number of completed steps."""

    @property
    def step(self) -> str:
        """The current step; the phase after the last step."""
        return self.steps[self.done] if self.done < len(self.steps) else self.phase

    @property
    def line(self) -> str:
        """Phase and message in one line."""
        return clean_message(f"{self.phase}: {self.message}".rstrip(": "))


def progress_of(kind: Resource, live: Object) -> RunProgress:
    """Return the progress of an object of this kind."""
    phase = text(live, "status", "phase") or "Pending"
    message = text(live, "status", "message")
    steps = BACKUP_STEPS if kind is BACKUPS else RESTORE_STEPS
    if phase == "Completed":
        return RunProgress(phase, message, steps, len(steps))
    done = _of_backup(live) if kind is BACKUPS else _of_restore(live)
    return RunProgress(phase, message, steps, done)


def _of_backup(live: Object) -> int:
    job = text(live, "status", "jobUID")
    if job and text(live, "status", "report", "jobUID") == job:
        return 3
    return 2 if job else int(bool(text(live, "status", "key")))


def _of_restore(live: Object) -> int:
    done = _STAGES.get(text(live, "status", "execution", "stage"), 0)
    # The Job takes its submission permit immediately before it sends the snapshot.
    return max(done, _SUBMISSION) if part(live, "status", "submissionClaim") else done
