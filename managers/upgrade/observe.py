"""Looking at what an upgrade waits for: its Job, and its snapshot. Reads only."""

from __future__ import annotations

from contracts import labels
from contracts.api.cluster import OpenBaoCluster
from contracts.api.group import BACKUPS
from contracts.upgrade import NO_FACTS, JobEnd, SnapshotSeen, UpgradeFacts
from managers.upgrade.course import wants_facts
from managers.upgrade.jobs import look
from runtime.client import Client
from runtime.errors import NotFound
from runtime.types import ObjectKey, labels_of


class UpgradeSight:
    """Asks the API server by name, and only while something is under way."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def facts(self, cluster: OpenBaoCluster) -> UpgradeFacts:
        """Look at what `status.upgrade` names; raises what the API server may raise."""
        if cluster.spec.paused or not wants_facts(cluster):
            return NO_FACTS
        upgrade = cluster.status.upgrade
        if upgrade is None or upgrade.failure is not None:
            return UpgradeFacts(asks_quorum=True)
        snapshot = upgrade.snapshot if upgrade.phase == "Snapshot" else None
        return UpgradeFacts(
            asks_quorum=True,
            job=await self._job(cluster, upgrade.step_down_job),
            handed_over_at=upgrade.last_step_down_time,
            snapshot=await self._snapshot(cluster, snapshot),
        )

    async def _job(self, cluster: OpenBaoCluster, name: str | None) -> JobEnd | None:
        if not name:
            return None
        return await look(self._client, cluster, name)

    async def _snapshot(self, cluster: OpenBaoCluster, name: str | None) -> SnapshotSeen | None:
        if not name:
            return None
        try:
            live = await self._client.get(BACKUPS, ObjectKey(cluster.metadata.namespace, name))
        except NotFound:
            return None
        status, spec = live.get("status") or {}, live.get("spec") or {}
        ours = (spec.get("cluster"), spec.get("origin")) == (cluster.metadata.name, "PreUpgrade")
        managed = labels_of(live).get(labels.MANAGED_BY) == labels.OPERATOR
        return SnapshotSeen(
            name, status.get("phase") or "", status.get("message") or "", not (ours and managed)
        )
