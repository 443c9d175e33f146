"""The writes that both programs react to, sent by the measuring process."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP, NAMESPACE
from runtime.client.client import Client
from runtime.client.credentials import from_kubeconfig
from runtime.clock import SystemClock
from runtime.errors import AlreadyExists, NotFound
from runtime.types import Object, ObjectKey, uid_of

PARALLEL = 16
PROBES = 20
PROBE_PAUSE = 0.02
END = ObjectKey("", "zz-end")


@asynccontextmanager
async def administrator(rig: Rig) -> AsyncIterator["Load"]:
    """An administrator that is exempt from API priority and fairness."""
    clock = SystemClock()
    credentials = await from_kubeconfig(str(rig.kubeconfig), None, clock)
    client = Client(credentials, user_agent="bench-load", clock=clock, timeout=60.0)
    try:
        yield Load(client)
    finally:
        await client.close()


class Load:
    """Writes ConfigMaps."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def namespace(self, name: str) -> None:
        body: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        try:
            await self._client.create(NAMESPACE, body, field_manager="bench")
        except AlreadyExists:
            return

    async def fill(self, namespace: str, names: list[str], data: dict[str, str]) -> None:
        """Create ConfigMaps with these names, all with the same labels and data."""
        await self.namespace(namespace)

        async def make(number: int) -> None:
            metadata = {
                "namespace": namespace,
                "name": names[number],
                "labels": {"app.kubernetes.io/name": "bench", "bench": "parent"},
            }
            body: Object = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": metadata,
                "data": data,
            }
            try:
                await self._client.create(CONFIG_MAP, body, field_manager="bench")
            except AlreadyExists:
                return

        await _spread(len(names), make)

    async def churn(self, namespace: str, names: list[str], updates: int) -> None:
        """Update these ConfigMaps in turn, that many times in total, and then end the mode."""

        async def touch(number: int) -> None:
            key = ObjectKey(namespace, names[number % len(names)])
            ops = [{"op": "add", "path": "/data/n", "value": f"{time.time_ns()}"}]
            await self._client.json_patch(CONFIG_MAP, key, ops)

        await _spread(updates, touch)
        await self.end(namespace)

    async def probe(self, namespace: str, samples: int) -> None:
        """Apply probes with a pause in between, each with its send time; then end the mode."""
        for number in range(samples):
            await asyncio.sleep(PROBE_PAUSE)
            body: Object = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"namespace": namespace, "name": f"probe-{number % PROBES:02d}"},
                "data": {"sent": str(time.time_ns())},
            }
            await self._client.apply(CONFIG_MAP, body, field_manager="bench", force=True)
        await asyncio.sleep(1.0)
        await self.end(namespace)

    async def end(self, namespace: str) -> None:
        """Create the object whose event ends both programs."""
        await self.fill(namespace, [END.name], {"end": "yes"})

    async def reset(self, namespace: str) -> None:
        """Delete that object, for the next run."""
        key = ObjectKey(namespace, END.name)
        try:
            config_map = await self._client.get(CONFIG_MAP, key)
            await self._client.delete(CONFIG_MAP, key, uid=uid_of(config_map))
        except NotFound:
            return


def page(size: int) -> dict[str, str]:
    """Data of about that size, with realistic keys and values."""
    return {f"setting-{number:03d}": "value " * 80 for number in range(size // 500)}


async def _spread(count: int, write: Callable[[int], Awaitable[None]]) -> None:
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await write(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(PARALLEL):
            group.create_task(worker())
