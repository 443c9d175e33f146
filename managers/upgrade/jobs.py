"""The Jobs of an upgrade: made once under a name that follows from what they do, and looked at.

Every call may be repeated. Uses managers.jobs; the shape is contracts.shapes.upgrade_job.
"""

from __future__ import annotations

from contracts.api.cluster import OpenBaoCluster
from contracts.executor import Executor
from contracts.shapes.upgrade_job import upgrade_job
from contracts.upgrade import JobEnd
from contracts.upgrade_action import Order
from managers.jobs.plan import JobSeen
from managers.jobs.run import Jobs
from runtime.client import Client
from runtime.ownership import Owner
from runtime.types import ObjectKey


async def ensure(
    jobs: Jobs, executor: Executor, owner: Owner, action: str, run: str, target: str
) -> JobEnd:
    """Make the Job of an action that concerns one pod; see `ensure_order`."""
    return await ensure_order(jobs, executor, owner, Order(action, run, target))


async def ensure_order(jobs: Jobs, executor: Executor, owner: Owner, order: Order) -> JobEnd:
    """Make the Job of an order, or meet the one that an earlier try made.

    `owner` is the cluster; a Job of that name that belongs to something else is answered as
    `foreign`. Raises ValueError for an order that has a problem, RefusedError when another try is
    pointless, and what the API server may raise.
    """
    job = upgrade_job(executor, order)
    return _end(job["metadata"]["name"], await jobs.ensure(job, owner))


async def look(client: Client, cluster: OpenBaoCluster, name: str) -> JobEnd | None:
    """Look at a Job of a cluster by its name; None when it is gone.

    Raises what the API server may raise, except NotFound.
    """
    metadata = cluster.metadata
    seen = await Jobs(client).look(ObjectKey(metadata.namespace, name), "", metadata.uid)
    return None if seen is None else _end(name, seen)


def _end(name: str, seen: JobSeen) -> JobEnd:
    said = ": ".join(filter(None, (seen.reason, seen.message)))
    return JobEnd(name, seen.state, seen.foreign, seen.created_at, said)
