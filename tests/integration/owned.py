"""An operator of one namespace on a real API server: a counting client, and running caches."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from runtime.apply.apply import OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.apply.apply_result import Applied
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner, OwnershipKeys
from runtime.builtin_kinds import CONFIG_MAP, NETWORK_POLICY, ROLE_BINDING, SERVICE, STATEFUL_SET
from runtime.cache.informer import Informer
from runtime.cache.informers import InformerSet
from runtime.cache.selection import Selection
from runtime.client.client import ApplyResult, Client
from runtime.client.credentials import KubeconfigCredentials
from runtime.clock import SystemClock
from runtime.metrics.metrics import Metrics
from runtime.testing.wait import DEADLINE, eventually
from runtime.types import Object, ObjectKey, Resource, resource_version_of

MARKS = OwnershipKeys("example.com/owner", "example.com/intent", "example.com/adopt")
MANAGER = "owner-of-c"
KINDS = (CONFIG_MAP, NETWORK_POLICY, ROLE_BINDING, SERVICE, STATEFUL_SET)
LABELS = {"app.kubernetes.io/managed-by": "itest"}


def owned_over(
    client: Client, informers: Mapping[Resource, Informer], *, legacy: tuple[str, ...] = ()
) -> OwnedApply:
    """An owned apply with an empty cache."""
    return OwnedApply(
        client,
        informers,
        field_manager=MANAGER,
        marks=replace(MARKS, legacy_managers=frozenset(legacy)),
        metrics=Metrics(),
        apply_cache=ApplyCache(SystemClock(), random.Random(1)),
    )


class RacingClient(Client):
    """Creates the object `meanwhile` between a read of the cache and the next apply."""

    meanwhile: Object | None = None

    async def apply(self, resource: Resource, body: Object, **options: Any) -> ApplyResult:
        if self.meanwhile is not None:
            theirs, self.meanwhile = self.meanwhile, None
            await self.create(resource, theirs, field_manager="somebody")
        return await super().apply(resource, body, **options)


class Bench:
    """An operator in one namespace, with a counting client and running caches."""

    def __init__(
        self, client: RacingClient, watcher: Client, metrics: Metrics, namespace: str
    ) -> None:
        self.client = client
        self.metrics = metrics
        self.namespace = namespace
        self.owner = self.owner_of("1")
        self.set = InformerSet(
            watcher, clock=SystemClock(), rng=random.Random(1), metrics=Metrics()
        )
        selector = ",".join(f"{key}={value}" for key, value in LABELS.items())
        self.informers: dict[Resource, Informer] = {
            resource: self.set.informer(Selection(resource, namespace, selector))
            for resource in KINDS
        }
        self.restart()

    def owner_of(self, uid: str) -> Owner:
        return Owner("shop.example.com/v1", "Shop", self.namespace, "corner", uid)

    def restart(self, *, legacy: tuple[str, ...] = ()) -> None:
        """Use an empty apply cache, as a new process does; the informers keep running."""
        self.owned = owned_over(self.client, self.informers, legacy=legacy)

    def intent(self, name: str = "c", **data: str) -> Intent:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace, "labels": LABELS},
            "data": data or {"k": "v"},
        }
        return Intent(CONFIG_MAP, body)

    async def ensure(self, intent: Intent | None = None, *, uid: str = "1") -> Applied:
        return await self.owned.ensure(self.owner_of(uid), intent or self.intent())

    async def live(self, name: str = "c", resource: Resource = CONFIG_MAP) -> Object:
        return await self.client.get(resource, ObjectKey(self.namespace, name))

    async def await_cache(self, obj: Object, resource: Resource = CONFIG_MAP) -> None:
        """Wait until the cache has this state of an object, or a later one."""
        key = ObjectKey(self.namespace, obj["metadata"]["name"])
        version = int(resource_version_of(obj))

        def has_it() -> bool:
            cached = self.informers[resource].get(key)
            return cached is not None and int(resource_version_of(cached)) >= version

        await eventually(has_it, goal=f"{key} in the cache")

    async def edit(self, body: Object, *, manager: str = "somebody") -> Object:
        """Force-apply fields as another manager, and wait until the cache has them."""
        resource = {r.kind: r for r in self.informers}[body["kind"]]
        response = await self.client.apply(resource, body, field_manager=manager, force=True)
        await self.await_cache(response.object, resource)
        return response.object

    @property
    def requests(self) -> float:
        """The number of requests that the client of the operator has sent."""
        families = self.metrics.registry.collect()
        return sum(
            sample.value
            for family in families
            for sample in family.samples
            if sample.name == "rest_client_requests_total"
        )


@asynccontextmanager
async def run_operator(
    credentials: KubeconfigCredentials, watcher: Client, namespace: str
) -> AsyncIterator[Bench]:
    """Run an operator of that namespace until the end of the context."""
    metrics = Metrics()
    acting = RacingClient(credentials, user_agent="itest", clock=SystemClock(), metrics=metrics)
    bench = Bench(acting, watcher, metrics, namespace)
    running = asyncio.create_task(bench.set.run())
    try:
        await bench.set.wait_synced(DEADLINE)
        yield bench
    finally:
        running.cancel()
        await asyncio.wait([running])
        await acting.close()
