"""Builds the components of a process of the operator, leader or standby, and its manager.

Imports no module that only a leader needs: a standby consists of this module, the election and the
HTTP server. The components of a leader are built after the election.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable, Sequence
from functools import partial

from baoctl.controllers.components import Parts
from baoctl.credentials import credentials_of
from baoctl.process.election import build_election
from baoctl.process.preflight import Kind, Preflight
from baoctl.settings import Settings
from managers.context.pause_guard import with_pause_check
from runtime.cache.informers import InformerSet
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.controller.controller import Controller
from runtime.controller.loop_slice import LoopSlice
from runtime.events import EventRecorder, Reporter
from runtime.leader.leader import LeaderOptions
from runtime.metrics.metrics import Metrics
from runtime.process.garbage import Garbage
from runtime.process.health import HealthChecks, HttpServer, LoopLag
from runtime.process.manager import Group, Manager, Runnable

__all__ = ["Parts", "build_manager", "build_parts"]

LEASE_NAME = "openbao-operator"
REPORTER = "openbao.org/operator"
# A watch is reopened at least every ten minutes; it is dead after twice that without an event.
WATCH_MAX_AGE = 1200.0
SYNC_TIMEOUT = 120.0

Build = Callable[[], Sequence[Controller]]
"""Builds the controllers of a leader, and adds informers and runnables to the parts."""
Load = Callable[[], Build]
"""Imports the modules that only a leader needs. They use half of the memory of a process."""


async def build_parts(settings: Settings, clock: Clock, *, name: str = LEASE_NAME) -> Parts:
    """Build the clients, the elector and the caches. `name`: name of the Lease, and user agent."""
    metrics = Metrics()
    credentials = await credentials_of(settings.api_server, clock)
    lease_client = Client(credentials, user_agent=f"{name}/lease", clock=clock)
    rng = random.Random()  # noqa: S311  jitter, not keys
    reporter = Reporter(REPORTER, settings.identity)
    elector = build_election(settings, lease_client, name, reporter, metrics, clock)
    client = Client(
        credentials,
        user_agent=name,
        clock=clock,
        metrics=metrics,
        guard=with_pause_check(elector.guard if elector else None),
        # The write guard relies on this timeout: a write ends before another process can lead.
        timeout=LeaderOptions().write_timeout,
    )
    return Parts(
        settings=settings,
        clock=clock,
        rng=rng,
        metrics=metrics,
        client=client,
        lease_client=lease_client,
        elector=elector,
        informers=InformerSet(client, clock=clock, rng=rng, metrics=metrics),
        events=EventRecorder(client, reporter, clock=clock),
        loop_slice=LoopSlice(clock),
    )


def build_manager(
    parts: Parts, load: Load, kinds: Sequence[Kind], checks: Sequence[Runnable] = ()
) -> Manager:
    """Build the manager with all runnables.

    Before the election, the manager lists `kinds` and waits for `checks`. After the election, it
    calls `load`.
    """
    health = HealthChecks()
    health.liveness["watches"] = lambda: parts.informers.healthy(WATCH_MAX_AGE)
    health.readiness["caches"] = parts.informers.unsynced

    async def lead() -> None:
        # In a thread: with little CPU, the import takes longer than the renewal interval.
        build = await asyncio.to_thread(load)
        controllers = build()
        synced = partial(_synced, parts.informers)
        manager.add(Runnable("informers", parts.informers.run, synced), Group.CACHES)
        for runnable in parts.runnables:
            manager.add(runnable, Group.CACHES)
        manager.add(Runnable("events", parts.events.run, stop=parts.events.stop), Group.CACHES)
        for controller in controllers:
            runnable = Runnable(controller.name, controller.run, stop=controller.stop)
            manager.add(runnable, Group.LEADER)

    manager = Manager(clock=parts.clock, elector=parts.elector, on_elected=lead)
    if parts.elector is not None:
        health.liveness["leader-election"] = parts.elector.health
        preflight = Preflight(parts.client, parts.clock, kinds)
        health.readiness["preflight"] = preflight.failing
        manager.add(preflight.runnable, Group.OTHERS)
    for check in checks:
        manager.add(check, Group.OTHERS)
    server = HttpServer(
        parts.settings.listen, parts.settings.port, health=health, metrics=parts.metrics
    )
    lag = LoopLag(parts.clock, parts.metrics)
    manager.add(Runnable("http server", server.run, server.ready), Group.SERVERS)
    manager.add(Runnable("event loop lag", lag.run), Group.SERVERS)
    manager.add(Runnable("garbage", Garbage(parts.clock).run), Group.SERVERS)
    return manager


async def _synced(informers: InformerSet) -> None:
    await informers.wait_synced(SYNC_TIMEOUT)
    # The cached objects are long-lived. Without the freeze, every full collection scans all of them
    # and blocks the event loop (200 ms with 10,000 objects).
    gc.collect()
    gc.freeze()
