"""Reads the objects that an upgrade waits for: its Job, and its snapshot."""

from __future__ import annotations

from collections.abc import Callable

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.records.upgrade import NO_FACTS, JobStatus, UpgradeFacts
from managers.upgrade.bluegreen.facts import decides
from managers.upgrade.bluegreen.observe import BlueGreenObserver
from managers.upgrade.decide import needs_facts
from managers.upgrade.jobs import read_job, read_snapshot
from runtime.client.client import Client


class UpgradeObserver:
    """Reads objects by name, and only during an upgrade."""

    def __init__(self, client: Client, random_bytes: Callable[[int], bytes]) -> None:
        """`random_bytes` creates the nonce of break glass."""
        self._client = client
        self._blue_green = BlueGreenObserver(client, random_bytes)

    async def facts(self, cluster: OpenBaoCluster) -> UpgradeFacts:
        """Read the objects that `status.upgrade` names; raises errors of the API server."""
        if cluster.spec.paused or not needs_facts(cluster):
            return NO_FACTS
        if decides(cluster):
            return UpgradeFacts(
                needs_quorum=True, blue_green=await self._blue_green.observe(cluster)
            )
        upgrade = cluster.status.upgrade
        if upgrade is None or upgrade.failure is not None:
            return UpgradeFacts(needs_quorum=True)
        snapshot = upgrade.snapshot if upgrade.phase == "Snapshot" else None
        return UpgradeFacts(
            needs_quorum=True,
            job=await self._job(cluster, upgrade.step_down_job),
            step_down_requested_at=upgrade.last_step_down_time,
            snapshot=await read_snapshot(self._client, cluster, snapshot),
        )

    async def _job(self, cluster: OpenBaoCluster, name: str | None) -> JobStatus | None:
        if not name:
            return None
        return await read_job(self._client, cluster, name)
