"""The Jobs of an upgrade: made once under a name that follows from what they do, and looked at.

So is the snapshot before it.

Every call may be repeated. Uses managers.jobs; the shape is contracts.builders.upgrade_job.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import BACKUPS
from contracts.builders.upgrade_job import upgrade_job
from contracts.jobs.template import JobTemplate
from contracts.jobs.upgrade_actions import Order
from contracts.naming import labels
from contracts.records.upgrade import JobStatus, SnapshotSeen
from managers.jobs.client import Jobs
from managers.jobs.status import JobSeen
from runtime.apply.ownership import Owner
from runtime.client.client import Client
from runtime.errors import NotFound
from runtime.types import ObjectKey, labels_of


async def ensure(
    jobs: Jobs, template: JobTemplate, owner: Owner, action: str, run: str, target: str
) -> JobStatus:
    """Make the Job of an action that concerns one pod; see `ensure_order`."""
    return await ensure_order(jobs, template, owner, Order(action, run, target))


async def ensure_order(jobs: Jobs, template: JobTemplate, owner: Owner, order: Order) -> JobStatus:
    """Make the Job of an order, or meet the one that an earlier try made.

    `owner` is the cluster; a Job of that name that belongs to something else is answered as
    `foreign`. Raises ValueError for an order that has a problem, RefusedError when another try is
    pointless, and what the API server may raise.
    """
    job = upgrade_job(template, order)
    return _job_status(job["metadata"]["name"], await jobs.ensure(job, owner))


async def read_job(client: Client, cluster: OpenBaoCluster, name: str) -> JobStatus | None:
    """Look at a Job of a cluster by its name; None when it is gone.

    Raises what the API server may raise, except NotFound.
    """
    metadata = cluster.metadata
    job = await Jobs(client).look(ObjectKey(metadata.namespace, name), "", metadata.uid)
    return None if job is None else _job_status(name, job)


async def read_snapshot(
    client: Client, cluster: OpenBaoCluster, name: str | None
) -> SnapshotSeen | None:
    """Look at the OpenBaoBackup before an upgrade; None when it is gone, or none was named."""
    if not name:
        return None
    try:
        live = await client.get(BACKUPS, ObjectKey(cluster.metadata.namespace, name))
    except NotFound:
        return None
    status, spec = live.get("status") or {}, live.get("spec") or {}
    ours = (spec.get("cluster"), spec.get("origin")) == (cluster.metadata.name, "PreUpgrade")
    managed = labels_of(live).get(labels.MANAGED_BY) == labels.OPERATOR
    return SnapshotSeen(
        name, status.get("phase") or "", status.get("message") or "", not (ours and managed)
    )


def _job_status(name: str, job: JobSeen) -> JobStatus:
    message = ": ".join(filter(None, (job.reason, job.message)))
    return JobStatus(name, job.state, job.foreign, job.created_at, message)
