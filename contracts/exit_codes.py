"""The failure classes of jobs, and the exit code of each. Uses only the standard library.

Upgrade Jobs import this module instead of the models of reports: a slower start would prolong an
outage.
"""

from typing import Final, Literal

FailureClass = Literal[
    "Config", "Authentication", "LeaderDiscovery", "Snapshot", "Storage", "Verification"
]
"""Failure classes of all jobs; the reports of backups and restores name them."""
EXIT_CODES: Final[dict[FailureClass, int]] = {
    "Config": 1,
    "Authentication": 2,
    "LeaderDiscovery": 3,
    "Snapshot": 4,
    "Storage": 5,
    "Verification": 6,
}
"""Exit code of a job by failure class; 0 is success."""

StepClass = Literal["StepDown", "Membership", "Sync"]
"""Additional failure classes of upgrade jobs: the leader does not step down, a server is not the
raft member that it must be, a server does not catch up."""
STEP_EXIT_CODES: Final[dict[StepClass, int]] = {"StepDown": 7, "Membership": 8, "Sync": 9}
