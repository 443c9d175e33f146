"""Simulated users and controllers, which write while the operator runs.

They connect to the API server directly, without the proxy. It may be down or frozen, so failed
requests are only counted.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from examples.website.reconcile import DEPLOYMENT, DIRECTORY, WEBSITE, named
from runtime.builtin_kinds import CONFIG_MAP, SERVICE
from runtime.client.client import Client
from runtime.client.listing import ListOptions
from runtime.errors import ApiError, TransportError
from runtime.types import Object, ObjectKey, Resource, controller_of, key_of, uid_of

NAMESPACE = "default"
SITES = 30
PAUSE_SECONDS = (0.05, 0.5)
OURS = ListOptions(label_selector="app.kubernetes.io/managed-by=website-operator")
CHILDREN: tuple[Resource, ...] = (CONFIG_MAP, SERVICE, DEPLOYMENT)


@dataclass(slots=True)
class Churn:
    """Random writes of users, and the controllers that the control plane lacks."""

    client: Client
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)

    async def run_users(self) -> None:
        """Create, change and delete objects, until cancelled."""
        kinds: list[tuple[Callable[[ObjectKey], Awaitable[None]], int]] = [
            (self.write, 6),
            (self.delete, 2),
            (self.edit_child, 2),
            (self.delete_child, 1),
        ]
        actions, weights = zip(*kinds, strict=True)
        while True:
            await asyncio.sleep(self.rng.uniform(*PAUSE_SECONDS))
            action = self.rng.choices(actions, weights)[0]
            try:
                await action(ObjectKey(NAMESPACE, f"site-{self.rng.randrange(SITES):02d}"))
                self.counts[action.__name__] += 1
            except (ApiError, TransportError):
                self.counts["failed"] += 1

    async def run_controllers(self) -> None:
        """Run the garbage collector and the Deployment controller, until cancelled."""
        while True:
            await asyncio.sleep(0.5)
            try:
                await self.collect()
                await self.roll_out()
            except (ApiError, TransportError):
                self.counts["failed"] += 1

    async def write(self, key: ObjectKey) -> None:
        pages = {f"page-{n}.html": "x" * self.rng.randint(1, 2000) for n in range(3)}
        spec = {"replicas": self.rng.randint(1, 4), "pages": pages}
        body = {**named(WEBSITE, key), "spec": spec}
        await self.client.apply(WEBSITE, body, field_manager="users", force=True)

    async def delete(self, key: ObjectKey) -> None:
        website = await self.client.get(WEBSITE, key)
        await self.client.delete(WEBSITE, key, uid=uid_of(website))

    async def edit_child(self, key: ObjectKey) -> None:
        """Change an object of the operator."""
        ops = [{"op": "add", "path": "/data/page-0.html", "value": "defaced"}]
        await self.client.json_patch(CONFIG_MAP, key, ops)

    async def delete_child(self, key: ObjectKey) -> None:
        """Delete a child."""
        of = self.rng.choice(CHILDREN)
        live = await self.client.get(of, key)
        await self.client.delete(of, key, uid=uid_of(live))

    async def collect(self) -> None:
        """Delete the children of deleted owners."""
        alive = {uid_of(site) for site in await self._list(WEBSITE)}
        for of in CHILDREN:
            for child in await self._list(of):
                owner = controller_of(child)
                if owner is not None and owner.uid not in alive:
                    await self.client.delete(of, key_of(child), uid=uid_of(child))

    async def roll_out(self) -> None:
        """Set readyReplicas to replicas."""
        for deployment in await self._list(DEPLOYMENT):
            replicas = deployment["spec"]["replicas"]
            if deployment.get("status", {}).get("readyReplicas", 0) != replicas:
                ops = [
                    {"op": "add", "path": "/status/replicas", "value": replicas},
                    {"op": "add", "path": "/status/readyReplicas", "value": replicas},
                ]
                await self.client.json_patch(
                    DEPLOYMENT, key_of(deployment), ops, subresource="status"
                )

    async def difference(self) -> str | None:
        """Return the first difference between Websites and objects; None if they match."""
        sites = {key_of(site): site for site in await self._list(WEBSITE)}
        maps = {key_of(config_map): config_map for config_map in await self._list(CONFIG_MAP)}
        listed = maps.pop(ObjectKey(NAMESPACE, DIRECTORY), {}).get("data", {})
        if {*listed} != {key.name for key in sites}:
            return f"the directory lists {len(listed)} of {len(sites)} sites"
        deployments = {
            key_of(deployment): deployment for deployment in await self._list(DEPLOYMENT)
        }
        services = {key_of(service) for service in await self._list(SERVICE)}
        if not {*maps} == {*deployments} == services == {*sites}:
            return "children are missing or left over"
        for key, site in sites.items():
            if reason := _difference(site, maps[key], deployments[key]):
                return f"{key.name}: {reason}"
        return None

    async def _list(self, of: Resource) -> list[Object]:
        options = ListOptions() if of == WEBSITE else OURS
        return (await self.client.list(of, NAMESPACE, options=options)).items


def _difference(site: Object, pages: Object, deployment: Object) -> str | None:
    status = site.get("status", {})
    if status.get("observedGeneration") != site["metadata"]["generation"]:
        return "its newest generation was not observed"
    if status.get("reason") != "Published":
        return f"{status.get('reason')}: {status.get('message')}"
    if pages["data"] != site["spec"]["pages"]:
        return "its pages differ"
    if deployment["spec"]["replicas"] != site["spec"]["replicas"]:
        return "its replicas differ"
    return None
