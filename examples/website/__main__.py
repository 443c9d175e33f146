"""python -m examples.website: the parts of the process, tied together."""

import argparse
import asyncio
import random
import socket
import sys
import uuid

from examples.website.reconcile import (
    DEPLOYMENT,
    DIRECTORY,
    MANAGED_BY,
    MANAGER,
    MARKS,
    WEBSITE,
    WebsiteReconciler,
)
from runtime.apply.apply import OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.builtin_kinds import CONFIG_MAP, SERVICE
from runtime.cache.informers import InformerSet
from runtime.cache.selection import Selection
from runtime.client.client import Client
from runtime.client.credentials import from_kubeconfig, in_cluster
from runtime.clock import SystemClock
from runtime.controller.controller import Controller, ControllerOptions
from runtime.controller.event import any_of, finalizers_changed, generation_changed
from runtime.controller.handler import enqueue_mapped, enqueue_object, enqueue_owner
from runtime.controller.ratelimit import ItemExponentialFailure
from runtime.errors import LeaseLost
from runtime.events import EventRecorder, Reporter
from runtime.leader.leader import LeaderElector, LeaderOptions, LeaseLock
from runtime.metrics.metrics import Metrics
from runtime.process.health import HealthChecks, HttpServer
from runtime.process.logs import configure
from runtime.process.manager import Group, Manager, Runnable, RunnableCrashed
from runtime.types import Object, Request, key_of

SYNC_SECONDS = 120.0
WATCH_MAX_AGE = 1200.0
"""A watch lasts ten minutes at most; after twice that without a word it is dead."""


def build(
    client: Client,
    informers: InformerSet,
    apply_cache: ApplyCache,
    events: EventRecorder,
    metrics: Metrics,
) -> Controller:
    """The controller of Websites: what it watches, and what it calls."""
    ours = ",".join(f"{key}={value}" for key, value in MANAGED_BY.items())
    sites = informers.informer(Selection(WEBSITE))
    children = {
        resource: informers.informer(Selection(resource, label_selector=ours))
        for resource in (CONFIG_MAP, SERVICE, DEPLOYMENT)
    }
    owned = OwnedApply(
        client,
        children,
        field_manager=MANAGER,
        marks=MARKS,
        metrics=metrics,
        apply_cache=apply_cache,
    )
    reconcile = WebsiteReconciler(client, {WEBSITE: sites, **children}, owned, events, metrics)
    # Up to 1000 s are the default, as in Go; here nobody shall wait that long after an outage.
    options = ControllerOptions(limiter=lambda: ItemExponentialFailure(base=0.1, cap=30.0))
    controller = Controller(
        "website", reconcile, clock=SystemClock(), metrics=metrics, workers=4, options=options
    )

    def neighbors(obj: Object) -> list[Request]:
        key = key_of(obj)
        return [key_of(one) for one in sites.list(key.namespace) if key.name == DIRECTORY]

    controller.watch(sites, enqueue_object, any_of(generation_changed, finalizers_changed))
    for child in children.values():
        controller.watch(child, enqueue_owner(WEBSITE.kind, WEBSITE.group))
    controller.watch(children[CONFIG_MAP], enqueue_mapped(neighbors))
    return controller


async def run(
    kubeconfig: str | None, namespace: str, port: int, options: LeaderOptions | None = None
) -> None:
    """Run until a signal; raises RunnableCrashed and LeaseLost."""
    options = options or LeaderOptions()
    clock, metrics, rng = SystemClock(), Metrics(), random.Random()  # noqa: S311  jitter, not keys
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    who = await from_kubeconfig(kubeconfig, None, clock) if kubeconfig else in_cluster(clock)
    # A connection pool of its own: a busy operator must not starve the renewal of its lease.
    lease_client = Client(who, user_agent=f"{MANAGER}/lease", clock=clock)
    lock = LeaseLock(namespace, MANAGER, identity)
    elector = LeaderElector(
        lease_client, lock, clock=clock, rng=rng, metrics=metrics, options=options
    )
    client = Client(
        who,
        user_agent=MANAGER,
        clock=clock,
        metrics=metrics,
        guard=elector.guard,
        timeout=options.write_timeout,
    )
    informers = InformerSet(client, clock=clock, rng=rng, metrics=metrics)
    events = EventRecorder(client, Reporter("sites.example.com/operator", identity), clock=clock)
    controller = build(client, informers, ApplyCache(clock, rng), events, metrics)
    health = HealthChecks()
    health.liveness["leader-election"] = elector.health
    health.liveness["watches"] = lambda: informers.healthy(WATCH_MAX_AGE)
    health.readiness["caches"] = informers.unsynced
    server = HttpServer("127.0.0.1", port, health=health, metrics=metrics)

    manager = Manager(clock=clock, elector=elector)
    manager.add(Runnable("http server", server.run, server.ready), Group.SERVERS)
    synced = Runnable("informers", informers.run, lambda: informers.wait_synced(SYNC_SECONDS))
    manager.add(synced, Group.CACHES)
    manager.add(Runnable("events", events.run, stop=events.stop), Group.CACHES)
    manager.add(Runnable("website", controller.run, stop=controller.stop), Group.LEADER)
    try:
        await manager.run()
    finally:
        await client.close()
        await lease_client.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.website", description=__doc__)
    parser.add_argument("--kubeconfig", help="without it: the ServiceAccount of the pod")
    parser.add_argument("--namespace", default="default", help="where the Lease lives")
    parser.add_argument("--port", type=int, default=8080, help="of /healthz, /readyz, /metrics")
    given = parser.parse_args()
    configure(SystemClock())
    try:
        asyncio.run(run(given.kubeconfig, given.namespace, given.port))
    except (LeaseLost, RunnableCrashed) as end:
        sys.exit(f"stopped: {end}")


if __name__ == "__main__":
    main()
