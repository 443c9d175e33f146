"""The report of a job, in the status of its object.

Uses the client of the API server. Called by baoctl.jobs.main. A job may only patch the status of
its own object. It writes fields that no other client writes, with its own field manager, and the
UID of the object is a precondition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contracts.api.group import BACKUPS, RESTORES
from contracts.api.job_result import EXECUTOR_MANAGER
from contracts.jobs.env import RunEnv, RunResource
from runtime.apply.status_client import AppliesObjects, StatusClient
from runtime.clock import Clock
from runtime.errors import Conflict, NotFound, Transient
from runtime.types import Object, ObjectKey, Resource

PAUSES: Final = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between attempts: a restart of the API server must not lose the report."""
_RESOURCES: Mapping[RunResource, Resource] = {
    "openbaobackups": BACKUPS,
    "openbaorestores": RESTORES,
}


class ObjectGone(Exception):  # noqa: N818  named after what happened
    """The object of the job was deleted or replaced: no controller waits for a report."""


async def write_status(
    client: AppliesObjects,
    clock: Clock,
    run: RunEnv,
    fields: Object,
    manager: str = EXECUTOR_MANAGER,
) -> None:
    """Apply fields of status; retry for a minute. Raises ObjectGone, ApiError, Transient."""
    for pause in (*PAUSES, None):
        try:
            await apply_status(client, run, fields, manager)
        except Transient:
            if pause is None:
                raise
            await clock.sleep(pause)
        else:
            return


async def apply_status(
    client: AppliesObjects, run: RunEnv, fields: Object, manager: str = EXECUTOR_MANAGER
) -> Object:
    """Apply fields of status once. They must include all fields that this manager applied before.

    Raises ObjectGone, ApiError, Transient.
    """
    statuses = StatusClient(client, _RESOURCES[run.resource], manager)
    try:
        return await statuses.apply(ObjectKey(run.namespace, run.name), run.uid, fields)
    except (NotFound, Conflict) as error:
        raise ObjectGone(f"{run.resource} {run.namespace}/{run.name}: {error}") from error
