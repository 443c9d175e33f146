"""Every status field that affects decisions: how it may be wrong, and whether it is corrected.

docs/status-evidence.md names the evidence for each; tests/managers/cluster/test_lost_status.py
tests the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.managers.upgrade.life import OLD

REVISION = "0123456789abcdef"
MONTH_AGO = "2029-12-01T00:00:00Z"
OLDER = "2.3.9"
LOCK = {"operation": "Upgrade", "holder": "openbaocluster/upgrade", "epoch": 3}
GHOST = {"operation": "Backup", "holder": "openbaobackup/ghost", "epoch": 1}


@dataclass(frozen=True, slots=True)
class Row:
    """One field, a plausible wrong value of it, and an old one."""

    edited: Any
    old: Any
    heals: bool = True
    """The reconciler of workloads writes it right again; else another one, or nobody."""


ROWS: Mapping[str, Row] = {
    "initialized": Row(False, False),
    "selfInitialized": Row(True, True, heals=False),
    "release": Row({"version": "2.9.9"}, {"version": OLDER}),
    "currentVersion": Row("2.9.9", OLDER),
    "upgrade": Row(
        {"phase": "Rolling", "targetVersion": "2.9.9", "fromVersion": OLD},
        {"id": "1", "phase": "Rolling", "targetVersion": OLDER, "fromVersion": "2.3.0"},
    ),
    "upgradeRequests": Row({"lastHandledRetry": "x"}, {"lastHandledPromote": "y"}, heals=False),
    "blueGreen": Row(
        {"phase": "Idle", "blueRevision": REVISION},
        {"phase": "Syncing", "blueRevision": REVISION, "greenRevision": REVISION[::-1]},
        heals=False,
    ),
    "breakGlass": Row({"active": False}, {"active": True, "nonce": "n"}, heals=False),
    "operationLock": Row(LOCK, GHOST, heals=False),
    "operationLockEpoch": Row(0, 1, heals=False),
    "adminOps.raft": Row(
        {"voters": 7, "nonVoters": 0, "leader": "x-6"}, {"voters": 1, "nonVoters": 0}, heals=False
    ),
    "adminOps.autopilot": Row(
        {"applied": True, "reason": "r"}, {"applied": False, "reason": "r"}, heals=False
    ),
    "adminOps.recoveryKeys": Row({"stored": False}, {"stored": False}, heals=False),
    "adminOps.operatorLogin": Row(
        {"reason": "RootTokenMissing", "problem": "p"}, {"keys": "older"}, heals=False
    ),
    "unseal": Row({"keys": "other=key-7", "step": "Settled"}, {"keys": "old=key"}),
    "tlsSecrets": Row(["another"], ["older"]),
    "workload.rollingSince": Row(MONTH_AGO, MONTH_AGO),
    "failedFirstBoot": Row(
        {"pod": "x-0", "volumeUID": "edited", "exitCode": 1},
        {"pod": "x-0", "volumeUID": "another", "exitCode": 1},
    ),
    "resumedAt": Row(MONTH_AGO, MONTH_AGO, heals=False),
    "restore": Row(
        {"name": "r", "uid": "other", "restartCompletedAt": MONTH_AGO},
        {"name": "r", "uid": "older", "restartCompletedAt": MONTH_AGO},
        heals=False,
    ),
    "backup": Row(
        {"nextScheduledBackup": "2040-01-01T00:00:00Z"},
        {"nextScheduledBackup": MONTH_AGO},
        heals=False,
    ),
    "phase": Row("Initializing", "Initializing"),
    "operation": Row(
        {"kind": "Rolling", "done": 1, "total": 3, "summary": "Rolling 1/3"},
        {"kind": "Waking", "startedAt": MONTH_AGO},
    ),
    "observedGeneration": Row(99, 1),
    "conditions": Row(
        [{"type": "Paused", "status": "True", "reason": "Paused", "message": ""}],
        [{"type": "Hibernated", "status": "True", "reason": "Waking", "message": ""}],
        heals=False,
    ),
}
"""By the path of the field in `status`."""
