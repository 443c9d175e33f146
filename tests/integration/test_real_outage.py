"""Informers and leader election during outages of a real control plane."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informer import Informer, Selection
from runtime.client.client import Client
from runtime.client.credentials import KubeconfigCredentials
from runtime.client.listing import ListOptions
from runtime.client.transport import HttpRequest, HttpResponse, Wire
from runtime.client.wire import HttpWire
from runtime.clock import SystemClock
from runtime.errors import ApiError, LeaseLost, TransportError
from runtime.leader.leader import LeaderOptions
from runtime.metrics.metrics import Metrics
from runtime.testing.wait import DEADLINE, eventually
from runtime.types import Object, key_of, resource_version_of, uid_of
from tests.integration.candidates import Candidate, lease_spec, run_candidate, until, watch_writes
from tests.integration.config_maps import config_map
from tests.integration.leader_process import OPTIONS

PATIENT = LeaderOptions(lease_duration=90.0, renew_deadline=80.0, retry_period=0.25)


async def compact(rig: Rig) -> None:
    """Compact etcd to its current revision, over its JSON gateway."""
    async with aiohttp.ClientSession(rig.layout.etcd) as session:
        async with session.post("/v3/kv/range", json={"key": "AA=="}) as response:
            revision = (await response.json())["header"]["revision"]
        body = {"revision": revision, "physical": True}
        async with session.post("/v3/kv/compaction", json=body) as response:
            assert response.status == 200, await response.text()


class BreakableWire:
    """A wire that fails all requests and streams while `cut` is set."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.cut = False

    async def request(self, call: HttpRequest, /) -> HttpResponse:
        self.check()
        return await self.wire.request(call)

    @asynccontextmanager
    async def stream(self, call: HttpRequest, /) -> AsyncIterator[AsyncIterator[bytes]]:
        self.check()
        async with self.wire.stream(call) as lines:
            yield self.lines(lines)

    async def lines(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            self.check()
            yield line

    def check(self) -> None:
        if self.cut:
            raise TransportError("cut")

    async def close(self) -> None:
        await self.wire.close()


class DelayedWire(BreakableWire):
    """A wire that delays the second page of a list until `go_on` is set."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire)
        self.halted = asyncio.Event()
        self.go_on = asyncio.Event()
        self.answers: list[str] = []

    async def request(self, call: HttpRequest, /) -> HttpResponse:
        if "continue" in call.query:
            self.halted.set()
            await self.go_on.wait()
        try:
            answer = await super().request(call)
        except ApiError as error:
            self.answers.append(str(error.code))
            raise
        self.answers.append(str(answer.status))
        return answer


class Replica:
    """A copy of the objects, built only from events of a handler."""

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self.words: list[str] = []

    def on_add(self, obj: Object, initial: bool) -> None:
        self.take("+", obj)

    def on_update(self, old: Object, new: Object) -> None:
        assert uid_of(old) == uid_of(new)
        self.take("~", new)

    def on_delete(self, obj: Object) -> None:
        del self.versions[key_of(obj).name]
        self.words.append(f"-{key_of(obj).name}")

    def on_resync(self, obj: Object) -> None:
        """A replay of known objects."""

    def take(self, sign: str, obj: Object) -> None:
        self.versions[key_of(obj).name] = resource_version_of(obj)
        self.words.append(sign + key_of(obj).name)


@asynccontextmanager
async def replica_of(client: Client, namespace: str) -> AsyncIterator[Replica]:
    informer = Informer(
        client,
        Selection(CONFIG_MAP, namespace),
        clock=SystemClock(),
        rng=random.Random(3),
        metrics=Metrics(),
    )
    replica = Replica()
    informer.add_handler(replica)
    task = asyncio.create_task(informer.run())
    try:
        await informer.wait_synced(DEADLINE)
        yield replica
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait([task])


async def write(client: Client, namespace: str, name: str, **data: str) -> Object:
    body = config_map(namespace, name, **data)
    return (await client.apply(CONFIG_MAP, body, field_manager="itest", force=True)).object


async def remove(client: Client, obj: Object) -> None:
    await client.delete(CONFIG_MAP, key_of(obj), uid=uid_of(obj))


async def versions(client: Client, namespace: str) -> dict[str, str]:
    config_maps = await client.list(CONFIG_MAP, namespace)
    return {key_of(item).name: resource_version_of(item) for item in config_maps.items}


async def ready(client: Client) -> None:
    clock = SystemClock()
    end = clock.monotonic() + 60.0
    while True:
        try:
            await client.get_raw("/readyz")
        except (ApiError, TransportError):
            assert clock.monotonic() < end, "the API server is not ready"
            await clock.sleep(0.05)
        else:
            return


@pytest.fixture
async def wire(credentials: KubeconfigCredentials) -> AsyncIterator[BreakableWire]:
    wire = BreakableWire(HttpWire(credentials, user_agent="itest-cuttable"))
    yield wire
    await wire.close()


@pytest.fixture
async def halting(credentials: KubeconfigCredentials) -> AsyncIterator[DelayedWire]:
    wire = DelayedWire(HttpWire(credentials, user_agent="itest-halting"))
    yield wire
    await wire.close()


async def test_t08_through_compaction_and_a_killed_server_no_event_is_lost(
    control_plane: Rig,
    client: Client,
    credentials: KubeconfigCredentials,
    namespace: str,
    wire: BreakableWire,
    halting: DelayedWire,
) -> None:
    """The informer is disconnected, etcd is compacted, and the API server is restarted.

    Meanwhile one leader survives the outage and another does not, and a paged list is incomplete.
    """
    lost = await write(client, namespace, "lost")
    reborn = await write(client, namespace, "reborn")
    await write(client, namespace, "changed", n="1")
    await write(client, namespace, "kept")
    over, paging = (Client.over(way, credentials, clock=SystemClock()) for way in (wire, halting))
    half = asyncio.create_task(paging.list(CONFIG_MAP, namespace, options=ListOptions(limit=2)))
    await halting.halted.wait()
    hasty = Candidate(client, namespace, "hasty", lease="hasty")
    patient = Candidate(client, namespace, "patient", lease="patient", options=PATIENT)
    async with replica_of(over, namespace) as replica, run_candidate(hasty), run_candidate(patient):
        await until(lambda: hasty.may_write() and patient.may_write(), "both candidates lead")
        replica.words.clear()
        wire.cut = True
        await remove(client, lost)
        await remove(client, reborn)
        await write(client, namespace, "reborn")
        await write(client, namespace, "changed", n="2")
        await write(client, namespace, "new")
        await compact(control_plane)
        control_plane.stop("kube-apiserver", grace=0.0)
        try:
            # The outage is longer than one renew deadline and shorter than the other.
            await until(hasty.lost, "the hasty leader ends")
        finally:
            control_plane.start("kube-apiserver")
        assert not hasty.may_write()
        wire.cut = False
        await ready(client)
        await write(client, namespace, "after")
        halting.go_on.set()
        assert {key_of(item).name for item in (await half).items} == {
            *("after", "changed", "kept", "new", "reborn")
        }
        assert halting.answers == ["200", "410", "200"]
        await eventually(lambda: "+after" in replica.words, goal="the replica catches up")
        assert replica.versions == await versions(client, namespace)
        assert sorted(replica.words) == sorted(
            ["-lost", "-reborn", "+reborn", "~changed", "+new", "+after"]
        )
        assert replica.words.index("-reborn") < replica.words.index("+reborn")
        await until(patient.may_write, "the patient leader still leads")
        assert (await lease_spec(client, namespace, "patient"))["leaseTransitions"] == 0
        assert (await lease_spec(client, namespace, "hasty"))["holderIdentity"] == "hasty"


async def test_t20_with_etcd_frozen_the_leader_stops_writing_and_only_then_another_leads(
    control_plane: Rig, client: Client, credentials: KubeconfigCredentials, namespace: str
) -> None:
    first = Candidate(client, namespace, "first")
    async with run_candidate(first):
        await until(first.may_write, "the first candidate leads")
        guarded = Client(
            credentials,
            user_agent="itest",
            clock=SystemClock(),
            guard=first.elector.guard,
            timeout=OPTIONS.write_timeout,
        )
        body = config_map(namespace, "written-by-the-leader")
        await guarded.apply(CONFIG_MAP, body, field_manager="first", force=True)
        second = Candidate(client, namespace, "second")
        async with run_candidate(second), watch_writes(first, second):
            control_plane.pause("etcd")
            try:
                await until(lambda: not first.may_write(), "the guard closes")
                assert first.elector.is_leader, "the guard must close before leadership ends"
                with pytest.raises(LeaseLost):
                    await guarded.apply(CONFIG_MAP, body, field_manager="first", force=True)
                await until(first.lost, "the first leader ends")
            finally:
                control_plane.resume("etcd")
            await until(second.may_write, "the second candidate leads")
            with pytest.raises(LeaseLost):
                await guarded.apply(CONFIG_MAP, body, field_manager="first", force=True)
            assert (await lease_spec(client, namespace))["holderIdentity"] == "second"
        await guarded.close()
