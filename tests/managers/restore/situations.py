"""Restores in all situations: inputs for the tests of the state machine and of the status."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from contracts.api.cluster.status_backup import OperationLock, RestoreStatus
from contracts.api.restore import OpenBaoRestore
from managers.jobs.status import JobObservation
from managers.restore.inputs import RestoreFacts, RestoreTarget, SnapshotSource

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)
UID = "11111111-2222-3333-4444-555555555555"
TARGET_UID = "cluster-uid"
JOB_UID = "job-uid"
KEY = "prod/team-a/c/2026-01-01T03-00-00Z-0a1b2c3d.snap"
STORE = {"provider": "s3", "endpoint": "https://s3.example.com", "bucket": "snapshots"}
OURS = OperationLock(operation="Restore", holder="openbaorestore/monday", epoch=4)
BACKUP = OperationLock(operation="Backup", holder="openbaobackup/nightly", message="job x", epoch=3)
READY = RestoreTarget(uid=TARGET_UID, initialized=True, available=True)
LOCKED = replace(READY, lock=OURS)
MARKED = replace(LOCKED, restored=RestoreStatus(name="monday", uid=UID))
TEMPLATE = {"version": "2.4.0", "unseal": {"credentialsSecretRef": {"name": "seal"}}}

RUNS = JobObservation(JOB_UID, "Active")
SUCCEEDED = JobObservation(JOB_UID, "Succeeded")
FAILED = JobObservation(JOB_UID, "Failed", reason="BackoffLimitExceeded", message="it ended")


def restore_object(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """Return an OpenBaoRestore as stored in the API server."""
    return {
        "apiVersion": "openbao.org/v1alpha1",
        "kind": "OpenBaoRestore",
        "metadata": {
            "name": "monday",
            "namespace": "team-a",
            "uid": UID,
            "resourceVersion": "7",
            "generation": 1,
        },
        "spec": {"cluster": "c", "source": {"target": STORE, "key": KEY}, **spec},
        "status": status or {},
    }


def receipts(stage: str, **more: Any) -> dict[str, Any]:
    """Return status.execution of a restore at a stage."""
    return {
        "operationID": UID,
        "stage": stage,
        "jobName": "restore-monday",
        "targetUID": TARGET_UID,
        "lockEpoch": 4,
        "preparedAt": "2026-11-22T11:59:00Z",
        **({"jobUID": JOB_UID} if stage not in ("Prepared", "Committed") else {}),
        **more,
    }


def at(stage: str, **more: Any) -> dict[str, Any]:
    """Return the status of a restore at a stage; `more` are other fields of it."""
    phase = "Unknown" if stage == "Unknown" else "Running"
    return {"phase": phase, "execution": receipts(stage), "message": "so far", **more}


CLAIM = {"podUID": "pod-uid", "digest": "sha256:" + "0" * 64, "size": 10}


def report(outcome: str, **more: Any) -> dict[str, Any]:
    """Return a report of the job of the execution."""
    return {"jobUID": JOB_UID, "outcome": outcome, **more}


def facts(
    status: dict[str, Any] | None = None,
    target: RestoreTarget | None = LOCKED,
    spec: dict[str, Any] | None = None,
    **more: Any,
) -> RestoreFacts:
    """Return the facts of an observation."""
    restore = OpenBaoRestore.from_object(restore_object(status, **(spec or {})))
    source = SnapshotSource(KEY, restore.spec.source.target) if restore.spec.source.target else None
    assert source is not None
    fields: dict[str, Any] = {"source": source, "now": NOW, **more}
    return RestoreFacts("monday", UID, restore.spec, restore.status, target=target, **fields)
