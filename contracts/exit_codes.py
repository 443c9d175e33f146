"""How a job may fail, and the exit status of each failure. Uses the standard library alone.

A job that is in the path of an outage reads this and not the models of reports.
"""

from typing import Final, Literal

FailureClass = Literal[
    "Config", "Authentication", "LeaderDiscovery", "Snapshot", "Storage", "Verification"
]
"""What every job may fail at; the reports of backups and restores name it."""
EXIT_CODES: Final[dict[FailureClass, int]] = {
    "Config": 1,
    "Authentication": 2,
    "LeaderDiscovery": 3,
    "Snapshot": 4,
    "Storage": 5,
    "Verification": 6,
}
"""Exit status of a job by what failed; 0 is success."""

StepClass = Literal["StepDown", "Membership", "Sync"]
"""What a job of an upgrade may fail at besides: a leader that goes on leading, a server that is not
the member that it must be, a server that lags behind."""
STEP_EXIT_CODES: Final[dict[StepClass, int]] = {"StepDown": 7, "Membership": 8, "Sync": 9}
