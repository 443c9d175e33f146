"""Runs the phases with one number of clusters on a control plane without nodes."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from contracts.api.group import CLUSTERS
from contracts.naming.installation import NAMESPACE
from e2e.cluster_fleet import operators
from e2e.cluster_fleet.figures import Phase, Run, quantile
from e2e.cluster_fleet.operators import Member
from e2e.cluster_fleet.process import LAG, QUEUE, Reading, between
from e2e.cluster_fleet.view import View
from e2e.fleet.pod import allocator
from e2e.harness.audit import LEASES, AuditLog, Entry, tally, writes
from e2e.harness.installation import identity, install
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from e2e.soak.session import cancel_task
from runtime.cache.informers import InformerSet
from runtime.client.client import Client
from runtime.client.credentials import from_kubeconfig
from runtime.clock import SystemClock
from runtime.metrics.metrics import Metrics
from runtime.testing.wait import eventually
from runtime.types import Object, ObjectKey

REPLICAS = 3
CLUSTERS_PER_NAMESPACE = 50
"""The number of clusters in one namespace."""
PARALLEL = 8
TIMEOUT = 1800.0
POLL_SECONDS = 0.25
PEOPLE = "people"
FEW_WRITES = 10
REST_SECONDS = 15.0
"""Seconds before a phase, for late writes: status details are written up to two seconds later."""
SETTLE_SECONDS = 60.0
"""Seconds before the phase quiet: after a change, each cluster is checked once more in a minute."""


@dataclass(slots=True)
class Fleet:
    """One measurement in progress."""

    rig: Rig
    client: Client
    view: View
    leader: Member
    standby: Member
    user: str
    start: Callable[[str], Member]
    """Starts another operator, in a folder of that name."""
    keys: Sequence[ObjectKey]
    reaction: list[float] = field(default_factory=list)

    @property
    def progress(self) -> Callable[[str], None]:
        """Prints a line."""
        return self.rig.progress

    @property
    def audit(self) -> AuditLog:
        """Requests of all processes."""
        return AuditLog(self.rig.audit_log)

    async def create(self) -> None:
        """Create all clusters, and wait until each has all its voters."""

        async def create(key: ObjectKey) -> object:
            init = self_init(key_value_engine())
            body = manifest(key.namespace, key.name, replicas=REPLICAS, selfInit=init)
            return await self.client.create(CLUSTERS, body, field_manager=PEOPLE)

        await self._for_each(create)
        await self._until_settled()

    async def change(self) -> None:
        """Change one cluster of a hundred; record the seconds until its Service changes."""
        last = self.view.changes.last
        for key in self.keys[:: max(1, min(100, len(self.keys) // 3))]:
            began = time.monotonic()
            await self._set(key, "service", {"annotations": {"example.com/changed": "yes"}})
            changed = partial(_is_later, last, key.name, began)
            await eventually(changed, seconds=60.0, every=0.005, goal=f"annotation of {key.name}")
            self.reaction.append(last[key.name] - began)

    async def roll(self) -> None:
        """Restart all servers."""
        before = self.view.ready_pods()

        def is_restarted() -> bool:
            now = self.view.ready_pods()
            return len(now) == len(before) and all(before[key] != uid for key, uid in now.items())

        async def restart(key: ObjectKey) -> object:
            return await self._set(key, "runtime", {"restartAt": "once"})

        await self._for_each(restart)
        await eventually(
            is_restarted, seconds=TIMEOUT, every=0.5, goal="the restart of all servers"
        )
        await self._until_settled()

    async def failover(self) -> None:
        """Stop the leader; wait until the standby has reconciled every cluster."""
        await asyncio.to_thread(self.leader.operator.stop)
        self.leader = self.standby
        await self._until_idle()

    async def outage(self) -> None:
        """Restart the API server; wait until the queues of the operator are empty again.

        An operator that cannot renew its Lease in time exits; kubelet would restart its pod.
        """
        self.leader.operator.faults_expected = True
        await asyncio.to_thread(self.rig.stop, "kube-apiserver")
        self.rig.start("kube-apiserver")
        await asyncio.to_thread(self.rig.wait_api)
        if not self.leader.operator.alive:
            self.leader = self.start("third")
        await self._until_idle()

    async def measure(
        self, name: str, work: Awaitable[object], aftermath: float = REST_SECONDS
    ) -> Phase:
        """Run one phase and return its figures.

        They include the following `aftermath` seconds, or the time of the phase if it is shorter,
        and no requests of the leader election.
        """
        await asyncio.sleep(REST_SECONDS)
        mark, began = self.audit.mark(), time.monotonic()
        before = await asyncio.to_thread(self.leader.read)
        first = self.leader
        self.reaction.clear()
        await work
        seconds = time.monotonic() - began
        await asyncio.sleep(min(aftermath, seconds))
        after = await asyncio.to_thread(self.leader.read)
        entries = await asyncio.to_thread(self.audit.since, mark, self.user)
        entries = [entry for entry in entries if not _is_of_election(entry)]
        if first is not self.leader:
            before = Reading(0.0, 0.0, {LAG: {}, QUEUE: {}})
        written = writes(entries)
        phase = Phase(
            name,
            seconds,
            Counter(entry.verb for entry in entries),
            len(written),
            after.cpu - before.cpu,
            after.waiting - before.waiting,
            after.resident,
            quantile(between(before, after, LAG), 0.99),
            quantile(between(before, after, QUEUE), 0.99),
            tuple(self.reaction),
        )
        self.progress(f"{name}: {seconds:.1f} s, {phase.total} requests, {after.resident:.0f} MB")
        self._explain(name, entries)
        return phase

    def _explain(self, name: str, entries: Sequence[Entry]) -> None:
        """Print the most frequent requests, and the writes if they are few."""
        self.progress(f"  {name}: {tally(entries)}")
        written = writes(entries)
        for entry in written if len(written) <= FEW_WRITES else ():
            self.progress(f"  {name}: {entry}")

    async def _for_each(self, act: Callable[[ObjectKey], Awaitable[object]]) -> None:
        """Act on each cluster, with PARALLEL workers."""
        pending = iter(self.keys)

        async def one_after_another() -> None:
            for key in pending:
                await act(key)

        await asyncio.gather(*(one_after_another() for _ in range(PARALLEL)))

    async def _set(self, key: ObjectKey, member: str, value: Object) -> Object:
        """Set a member of the spec."""
        ops = [{"op": "add", "path": f"/spec/{member}", "value": value}]
        return await self.client.json_patch(CLUSTERS, key, ops, field_manager=PEOPLE)

    async def _until_settled(self) -> None:
        count = len(self.keys)
        await eventually(
            lambda: self.view.settled() >= count,
            seconds=TIMEOUT,
            every=POLL_SECONDS,
            goal=f"a fleet of {count} available clusters",
        )

    async def _until_idle(self) -> None:
        count = len(self.keys)
        await eventually(
            lambda: self.leader.is_idle(count),
            seconds=TIMEOUT,
            every=POLL_SECONDS,
            goal="an idle leader",
        )


def _is_later(times: Mapping[str, float], name: str, than: float) -> bool:
    return times.get(name, 0.0) > than


async def measure(rig: Rig, count: int, quiet: float, folder: Path) -> Run:
    """Run all phases with that many clusters. Raises AssertionError if a phase does not end."""
    phases: dict[str, Phase] = {}
    async with fleet(rig, count, folder) as measured:
        phases["create"] = await measured.measure("create", measured.create())
        standby = await asyncio.to_thread(measured.standby.read)
        await asyncio.sleep(SETTLE_SECONDS)
        phases["quiet"] = await measured.measure("quiet", asyncio.sleep(quiet), aftermath=0.0)
        steps: Sequence[tuple[str, Callable[[], Awaitable[object]]]] = (
            ("change", measured.change),
            ("roll", measured.roll),
            ("failover", measured.failover),
            ("outage", measured.outage),
        )
        for name, work in steps:
            phases[name] = await measured.measure(name, work())
    return Run(count, phases, standby.resident)


@contextmanager
def run_simulation(rig: Rig) -> Iterator[None]:
    """Run the simulated kubelet and servers in a separate process."""
    module = [sys.executable, "-m", "e2e.simulation", str(rig.kubeconfig)]
    process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *module], cwd=REPOSITORY)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@asynccontextmanager
async def fleet(rig: Rig, count: int, folder: Path) -> AsyncIterator[Fleet]:
    """Start everything on a running control plane."""
    install(rig)
    api, clock = Api(rig), SystemClock()
    keys = [
        ObjectKey(f"fleet-{number // CLUSTERS_PER_NAMESPACE}", f"c-{number}")
        for number in range(count)
    ]
    for namespace in sorted({key.namespace for key in keys}):
        api.make_namespace(namespace)
    async with AsyncExitStack() as stack:
        stack.enter_context(run_simulation(rig))
        client = Client(
            await from_kubeconfig(str(rig.kubeconfig), None, clock), user_agent="fleet", clock=clock
        )
        stack.push_async_callback(client.close)
        informers = InformerSet(client, clock=clock, rng=random.SystemRandom(), metrics=Metrics())
        view = View(informers, REPLICAS)
        watching = asyncio.create_task(informers.run())
        stack.push_async_callback(cancel_task, watching)
        await informers.wait_synced(60.0)
        account = identity(rig, api, folder)

        def start(name: str) -> Member:
            member = operators.start(rig, account, folder / name, allocator())
            stack.callback(member.launcher.stop_all)
            return member

        leader = start("first")
        await eventually(leader.leads, seconds=60.0, every=POLL_SECONDS, goal="a leader")
        yield Fleet(rig, client, view, leader, start("second"), account.user, start, keys)


def _is_of_election(entry: Entry) -> bool:
    """Whether a request is about the Lease, or is the event of a change of the leader."""
    return entry.resource == LEASES or (entry.resource == "events" and entry.namespace == NAMESPACE)
