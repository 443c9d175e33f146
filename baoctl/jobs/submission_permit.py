"""The permission of a restore job to send its snapshot. It can be taken only once.

Called by baoctl.jobs.restore. The permit is a claim in the status of the OpenBaoRestore. The job
writes it with the resourceVersion of its read as precondition: if the operator ends the run at the
same time, the API server accepts only one of the two writes. The job sends nothing before the API
server has stored the claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import structlog

from baoctl.jobs.failures import JobFailure
from contracts.api.group import API_VERSION, RESTORE_KIND, RESTORES
from contracts.api.job_result import SubmissionClaim
from contracts.api.restore import RestoreObjectStatus
from contracts.jobs.env import RunEnv
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import ApiError, ApplyConflict, Conflict, Forbidden, NotFound, Transient
from runtime.types import Object, ObjectKey, is_terminating, resource_version_of, uid_of

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

CLAIM_MANAGER: Final = "openbao-executor-claim"
"""Differs from the manager of the report: an apply of one must not remove the other."""
PAUSE: Final = 1.0
"""Seconds until the object is read again."""


@dataclass(frozen=True, slots=True)
class SubmissionPermit:
    """The object that receives the claim, and the deadline; None without a deadline."""

    client: Client
    clock: Clock
    run: RunEnv
    deadline: datetime | None


async def take_claim(permit: SubmissionPermit, claim: SubmissionClaim) -> None:
    """Write the claim. Raises JobFailure(Config) if it is refused.

    Waits until the operator has recorded the Job, and retries while the API server does not answer.
    If the response to the write was lost, the claim of this pod counts once it is read.
    """
    applied = False
    while True:
        if permit.deadline is not None and permit.clock.now() >= permit.deadline:
            raise _refused("the deadline has passed")
        try:
            live = await _read(permit)
            status = RestoreObjectStatus.lenient(live.get("status"))
            current = status.submission_claim
            if current is not None and applied and current.pod_uid == claim.pod_uid:
                return
            problem = objection(live, status, permit.run)
            if problem:
                raise _refused(problem)
            if is_recorded(status, permit.run):
                applied = True
                await permit.client.apply(
                    RESTORES,
                    _body(live, claim),
                    field_manager=CLAIM_MANAGER,
                    force=False,
                    subresource="status",
                )
                return
        except ApplyConflict as error:
            raise _refused(f"another client wrote the claim: {error}") from None
        except (Conflict, Transient) as error:
            log.info("the claim was not written; retrying", error=str(error))
        except ApiError as error:
            raise _refused(str(error)) from None
        await permit.clock.sleep(PAUSE)


def objection(live: Object, status: RestoreObjectStatus, run: RunEnv) -> str:
    """Return why this job must not send the snapshot; "" if it may send it now or later."""
    if uid_of(live) != run.uid:
        return "the OpenBaoRestore was replaced by another one of its name"
    if is_terminating(live):
        return "the OpenBaoRestore is being deleted"
    if status.submission_claim is not None:
        return f"pod {status.submission_claim.pod_name} already has the claim"
    if status.phase != "Running" or status.execution is None:
        return f"the OpenBaoRestore is {status.phase}: {status.message}"
    if status.execution.stage not in ("Committed", "Created"):
        return f"the OpenBaoRestore is in stage {status.execution.stage}"
    job_uid = status.execution.job_uid
    return (
        f"the restore belongs to another Job, uid {job_uid}"
        if job_uid not in ("", run.job_uid)
        else ""
    )


def is_recorded(status: RestoreObjectStatus, run: RunEnv) -> bool:
    """Return whether the status names this Job; otherwise it may not write the claim."""
    execution = status.execution
    return (
        execution is not None
        and execution.stage == "Created"
        and bool(run.job_uid)
        and execution.job_uid == run.job_uid
    )


async def _read(permit: SubmissionPermit) -> Object:
    run = permit.run
    try:
        return await permit.client.get(RESTORES, ObjectKey(run.namespace, run.name))
    except (NotFound, Forbidden) as error:
        raise _refused(f"the OpenBaoRestore cannot be read: {error}") from None


def _body(live: Object, claim: SubmissionClaim) -> dict[str, Any]:
    metadata: Mapping[str, Any] = live["metadata"]
    return {
        "apiVersion": API_VERSION,
        "kind": RESTORE_KIND,
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": uid_of(live),
            "resourceVersion": resource_version_of(live),
        },
        "status": {"submissionClaim": claim.to_object()},
    }


def _refused(reason: str) -> JobFailure:
    return JobFailure("Config", f"the snapshot was not sent: {reason}")
