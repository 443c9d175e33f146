"""Runs one measurement: an operator, and clusters that are created and deleted."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import orjson

from contracts.api.group import CLUSTERS
from e2e.churn.node import Node
from e2e.churn.servers import Servers
from e2e.fleet.pod import PORTS, allocator, start_in_pod
from e2e.harness.installation import identity, install
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Launcher, Operator
from e2e.hostile_tenant import attack
from e2e.rig import Rig
from e2e.rig.layout import free_ports
from e2e.rig.versions import OPENBAO
from e2e.soak.session import cancel_task
from runtime.client.client import Client
from runtime.client.credentials import from_kubeconfig
from runtime.client.listing import ListOptions
from runtime.clock import SystemClock
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, uid_of

NAMESPACE = "churn"
REPLICAS = 3
PARALLEL = 4
WARM_UP = 20
"""The number of clusters after which caches and pools are filled."""
TIMEOUT = 120.0
REST_SECONDS = 45.0
"""Seconds: three times the period in which the operator collects young garbage."""
POLL_SECONDS = 0.2
SCRAPE_SECONDS = 5.0


class ChurnError(Exception):
    """A cluster was not created or deleted in time."""


@dataclass(frozen=True, slots=True)
class IdleMemory:
    """The memory of the idle operator: resident megabytes, and live objects by type."""

    megabytes: float
    objects: dict[str, int]


@dataclass(slots=True)
class Churn:
    """Creates and deletes clusters."""

    client: Client
    node: Node
    operator: Operator
    file: Path
    progress: Callable[[str], None]
    node_runs: "asyncio.Task[None]"
    creations: int = 0
    most: float = 0.0
    seconds: list[float] = field(default_factory=list)
    """From the creation of each cluster until it is gone."""

    async def run(self, count: int) -> None:
        """Create and delete that many clusters, a few in parallel. Raises ChurnError."""
        end = self.creations + count
        async with asyncio.TaskGroup() as group:
            for _ in range(PARALLEL):
                group.create_task(self._one_after_another(end))

    async def measure_idle(self) -> IdleMemory:
        """Wait for a garbage collection, and count the live objects. Raises ChurnError."""
        await self._until(self._is_empty, "all objects of the clusters are deleted")
        await asyncio.sleep(REST_SECONDS)
        megabytes = self.operator.resident_megabytes()
        self.file.unlink(missing_ok=True)
        self.operator.signal(signal.SIGUSR1)
        await self._until(self._has_census, "the operator has written its census")
        return IdleMemory(megabytes, orjson.loads(self.file.read_bytes()))

    async def hold_large(self, count: int) -> None:
        """Create that many clusters of maximum size, and wait for the status of each.

        Stops the node first, which would list all of them repeatedly.
        """
        await cancel_task(self.node_runs)
        for number, (resource, body) in enumerate(attack.large_clusters(NAMESPACE, count), 1):
            await self.client.create(resource, body, field_manager="people")
            self.most = max(self.most, self.operator.resident_megabytes())
            if number % 100 == 0:
                self.progress(
                    f"{number} large clusters, {self.operator.resident_megabytes():.0f} MB"
                )
        await self._until(self._all_have_conditions, "each large cluster has conditions")
        await asyncio.sleep(REST_SECONDS)

    async def _all_have_conditions(self) -> bool:
        options = ListOptions(limit=5)
        clusters = await self.client.list(CLUSTERS, NAMESPACE, options=options)
        return all((item.get("status") or {}).get("conditions") for item in clusters.items)

    async def _one_after_another(self, end: int) -> None:
        while self.creations < end:
            self.creations += 1
            began = time.monotonic()
            await self._create_and_delete(f"c-{self.creations}")
            self.seconds.append(time.monotonic() - began)
            megabytes = self.operator.resident_megabytes()
            self.most = max(self.most, megabytes)
            if self.creations % 10 == 0:
                self.progress(f"{self.creations} clusters, {megabytes:.0f} MB")

    async def _create_and_delete(self, name: str) -> None:
        key = ObjectKey(NAMESPACE, name)
        body = manifest(NAMESPACE, name, replicas=REPLICAS, selfInit=self_init(key_value_engine()))
        cluster = await self.client.create(CLUSTERS, body, field_manager="people")

        async def ready() -> bool:
            return _all_ready(await self.client.get(CLUSTERS, key))

        async def is_gone() -> bool:
            try:
                await self.client.get(CLUSTERS, key)
            except NotFound:
                return True
            return False

        await self._until(ready, f"cluster {name} is ready")
        await self.client.delete(CLUSTERS, key, uid=uid_of(cluster))
        await self._until(is_gone, f"cluster {name} is gone")

    async def _is_empty(self) -> bool:
        return not await self.node.remaining_objects()

    async def _has_census(self) -> bool:
        return self.file.exists()

    async def _until(self, holds: Callable[[], Awaitable[bool]], what: str) -> None:
        end = time.monotonic() + TIMEOUT
        while not await holds():
            if not self.operator.alive:
                raise ChurnError(f"the operator ended:\n{self.operator.tail()}")
            if time.monotonic() > end:
                raise ChurnError(f"not within {TIMEOUT:.0f} s: {what}")
            await asyncio.sleep(POLL_SECONDS)


def _all_ready(cluster: Object) -> bool:
    status = cluster.get("status") or {}
    conditions = {
        condition["type"]: condition["status"] for condition in status.get("conditions") or ()
    }
    return (
        status.get("readyReplicas") == REPLICAS
        and conditions.get("Available") == "True"
        and conditions.get("RaftMembershipReady") == "True"
    )


@asynccontextmanager
async def run_churn(rig: Rig, folder: Path) -> AsyncIterator[Churn]:
    """Start everything on a running control plane."""
    install(rig)
    api = Api(rig)
    api.make_namespace(NAMESPACE)
    file, launcher = folder / "census.json", Launcher(rig, folder)
    async with AsyncExitStack() as stack:
        clock = SystemClock()
        client = Client(
            await from_kubeconfig(str(rig.kubeconfig), None, clock), user_agent="churn", clock=clock
        )
        stack.push_async_callback(client.close)
        servers = Servers(OPENBAO)
        stack.push_async_callback(servers.close)
        # Twice as many as run at a time: pods are deleted a moment after their cluster.
        await servers.listen(2 * PARALLEL * REPLICAS)
        node = Node(client, NAMESPACE, CLUSTERS, servers)
        task = asyncio.create_task(node.run())
        stack.push_async_callback(cancel_task, task)
        module = ("e2e.churn.operator", str(file))
        (port,) = free_ports(PORTS, 1)
        operator = start_in_pod(launcher, identity(rig, api, folder), allocator(), module, port)
        stack.callback(launcher.stop_all)
        scraping = asyncio.create_task(_scrape(f"http://127.0.0.1:{port}/metrics"))
        stack.push_async_callback(cancel_task, scraping)
        yield Churn(client, node, operator, file, rig.progress, task)


async def _scrape(url: str) -> None:
    """Scrape the metrics periodically, as Prometheus does, until cancelled."""
    async with aiohttp.ClientSession() as session:
        while True:
            await asyncio.sleep(SCRAPE_SECONDS)
            try:
                async with session.get(url) as response:
                    await response.read()
            except aiohttp.ClientConnectionError:
                # The operator does not listen yet.
                continue
