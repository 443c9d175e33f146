"""Creates and reads the Jobs of an upgrade, and reads its snapshot.

A Job is created once, because its name is derived from its action. Every call is idempotent. Uses
managers.jobs; contracts.builders.upgrade_job builds the Job.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import BACKUPS
from contracts.builders.upgrade_job import upgrade_job
from contracts.jobs.template import JobTemplate
from contracts.jobs.upgrade_actions import Order
from contracts.naming import labels
from contracts.records.upgrade import JobStatus, SnapshotObservation
from managers.jobs.client import Jobs
from managers.jobs.status import JobObservation
from runtime.apply.ownership import Owner
from runtime.client.client import Client
from runtime.errors import NotFound
from runtime.types import ObjectKey, labels_of


async def ensure_order(jobs: Jobs, template: JobTemplate, owner: Owner, order: Order) -> JobStatus:
    """Create the Job of an order, or return the one that an earlier attempt created.

    `owner` is the cluster; a Job of that name with another owner is returned as `foreign`. Raises
    ValueError for an invalid order, RefusedError when a retry is pointless, and errors of the API
    server.
    """
    job = upgrade_job(template, order)
    return _job_status(job["metadata"]["name"], await jobs.ensure(job, owner))


async def read_job(client: Client, cluster: OpenBaoCluster, name: str) -> JobStatus | None:
    """Read a Job of a cluster by its name; None when it does not exist.

    Raises errors of the API server, except NotFound.
    """
    metadata = cluster.metadata
    job = await Jobs(client).get(ObjectKey(metadata.namespace, name), "", metadata.uid)
    return None if job is None else _job_status(name, job)


async def read_snapshot(
    client: Client, cluster: OpenBaoCluster, name: str | None
) -> SnapshotObservation | None:
    """Read the OpenBaoBackup before an upgrade; None when it does not exist, or has no name."""
    if not name:
        return None
    try:
        live = await client.get(BACKUPS, ObjectKey(cluster.metadata.namespace, name))
    except NotFound:
        return None
    status, spec = live.get("status") or {}, live.get("spec") or {}
    ours = (spec.get("cluster"), spec.get("origin")) == (cluster.metadata.name, "PreUpgrade")
    managed = labels_of(live).get(labels.MANAGED_BY) == labels.OPERATOR
    return SnapshotObservation(
        name, status.get("phase") or "", status.get("message") or "", not (ours and managed)
    )


def _job_status(name: str, job: JobObservation) -> JobStatus:
    message = ": ".join(filter(None, (job.reason, job.message)))
    return JobStatus(name, job.state, job.foreign, job.created_at, message)
