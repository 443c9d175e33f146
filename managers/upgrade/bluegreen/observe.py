"""Reads the objects that a blue/green upgrade waits for: Jobs, a snapshot, a Service.

Each object is read by its name, and only in the phase that needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import BlueGreenStatus, ValidationHookStatus
from contracts.builders.validation_hook_job import belongs
from contracts.naming import labels, names
from contracts.records.bluegreen import job_name
from contracts.records.bluegreen_phases import (
    DEMOTING,
    IDLE,
    ROLLBACK_CLEANUP,
    ROLLING_BACK,
    SYNCING,
)
from contracts.records.upgrade import (
    BlueGreenObservation,
    HookObservation,
    JobStatus,
    SnapshotObservation,
)
from managers.jobs.status import job_observation
from managers.upgrade.jobs import read_job, read_snapshot
from runtime.builtin_kinds import JOB, SERVICE
from runtime.client.client import Client
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey

_NONCE_BYTES: Final = 16
_ENDED: Final = ("TerminalObserved", "Unknown")


class BlueGreenObserver:
    """Reads objects from the API server."""

    def __init__(self, client: Client, random_bytes: Callable[[int], bytes]) -> None:
        self._client = client
        self._random_bytes = random_bytes

    async def observe(self, cluster: OpenBaoCluster) -> BlueGreenObservation:
        """Read the objects that `status.blueGreen` names; raises errors of the API server."""
        status = cluster.status.blue_green or BlueGreenStatus()
        return BlueGreenObservation(
            job=await self._job(cluster, status),
            former_job=await self._former_job(cluster, status),
            hook=await self._hook(cluster, status),
            snapshot=await self._snapshot(cluster, status),
            traffic=await self._traffic(cluster, status),
            nonce=self._random_bytes(_NONCE_BYTES).hex(),
        )

    async def _job(self, cluster: OpenBaoCluster, status: BlueGreenStatus) -> JobStatus | None:
        name = job_name(cluster)
        if not name or name == status.completed_job:
            return None
        return await read_job(self._client, cluster, name)

    async def _former_job(self, cluster: OpenBaoCluster, status: BlueGreenStatus) -> str:
        """Return the name of the abandoned Job while it still runs: the status records it."""
        name = status.last_job_failure or ""
        if status.phase not in (ROLLING_BACK, ROLLBACK_CLEANUP) or " " in name or not name:
            return ""
        job = await read_job(self._client, cluster, name)
        return name if job is not None and job.state == "Active" else ""

    async def _hook(
        self, cluster: OpenBaoCluster, status: BlueGreenStatus
    ) -> HookObservation | None:
        receipt = status.validation_hook
        if status.phase != SYNCING or receipt is None or receipt.stage in _ENDED:
            return None
        try:
            live = await self._client.get(
                JOB, ObjectKey(cluster.metadata.namespace, receipt.job_name)
            )
        except NotFound:
            return None
        return hook_observation(live, receipt, cluster.metadata.uid)

    async def _snapshot(
        self, cluster: OpenBaoCluster, status: BlueGreenStatus
    ) -> SnapshotObservation | None:
        name = status.pre_upgrade_snapshot_job_name if status.phase == IDLE else None
        return await read_snapshot(self._client, cluster, name)

    async def _traffic(self, cluster: OpenBaoCluster, status: BlueGreenStatus) -> str | None:
        """Read the revision that clients are sent to from the API server: a cache may be stale."""
        moved = status.phase == DEMOTING and status.completed_job == job_name(cluster)
        if status.phase not in (DEMOTING, ROLLING_BACK) or moved:
            return None
        name = names.public_service(cluster.metadata.name)
        try:
            live = await self._client.get(SERVICE, ObjectKey(cluster.metadata.namespace, name))
        except NotFound:
            return None
        selector = (live.get("spec") or {}).get("selector") or {}
        return str(selector.get(labels.REVISION, ""))


def hook_observation(
    live: Object, receipt: ValidationHookStatus, owner_uid: str
) -> HookObservation:
    """Compare the Job of a hook with its record in the status and the UID of the cluster."""
    job = job_observation(live, owner_uid)
    return HookObservation(
        uid=job.uid,
        state=job.state,
        suspended=bool((live.get("spec") or {}).get("suspend")),
        foreign=job.foreign or not belongs(live, receipt),
        terminating=job.terminating,
        message=": ".join(filter(None, (job.reason, job.message))),
    )
