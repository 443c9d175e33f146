"""Leadership with real sockets: whatever happens to a renewal, it ends in time."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from runtime.client.client import Client
from runtime.errors import LeaseLost
from runtime.leader.leader import LeaderElector, LeaderOptions, LeaseLock
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.testing.scripted import Answer, ScriptedServer, drop, reply, silence, status, stream
from runtime.testing.wait import eventually
from runtime.types import Object
from tests.runtime.lease_world import allows
from tests.runtime.serving import Tokens, get

OPTIONS = LeaderOptions()
LEASE: Object = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"namespace": "system", "name": "operator", "uid": "u1", "resourceVersion": "1"},
    "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 0},
}


class Leader:
    """One elector with its own client; its guarded work runs until it is cancelled."""

    def __init__(self, client: Client, clock: ManualClock) -> None:
        self.clock = clock
        self.elector = LeaderElector(
            client,
            LeaseLock("system", "operator", "me"),
            clock=clock,
            rng=random.Random(1),
            metrics=Metrics(),
        )
        self.working = False
        self.task = asyncio.create_task(self.elector.run(self.work))

    async def work(self) -> None:
        self.working = True
        try:
            await asyncio.Event().wait()
        finally:
            self.working = False

    def may_write(self) -> bool:
        return allows(self.elector.guard)

    async def stop(self) -> None:
        """The server may hang during the release: wait until its deadline."""
        self.task.cancel()
        while not self.task.done():
            await self.clock.advance(1.0)

    async def live(self, seconds: float) -> None:
        """Let that time pass, in steps that leave time for the sockets."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end and not self.task.done():
            await self.clock.advance(0.25)
            # A round trip to a server in this process takes a few iterations of the selector.
            for _ in range(20):
                await self.clock.settle()


@asynccontextmanager
async def run_leader(
    *then: Answer, otherwise: Answer
) -> AsyncIterator[tuple[ScriptedServer, Leader]]:
    """A leader whose renewals get the responses `then`, and after that `otherwise`."""
    clock = ManualClock()
    script = (status(404, "NotFound"), reply(201, LEASE), *then)
    async with ScriptedServer(*script, otherwise=otherwise) as server:
        client = Client(Tokens(server.url), user_agent="test/1", clock=clock)
        leader = Leader(client, clock)
        try:
            await eventually(lambda: leader.working, goal="the candidate leads")
            yield server, leader
        finally:
            await leader.stop()
            await client.close()


async def expect_an_end_in_time(leader: Leader) -> None:
    await leader.live(OPTIONS.renew_deadline - OPTIONS.write_timeout)
    assert leader.working, "it leads until the deadline"
    await leader.live(OPTIONS.write_timeout + 0.5)
    assert not leader.may_write()
    assert leader.task.done()
    assert [leader.working] == [False]
    with pytest.raises(LeaseLost):
        leader.task.result()


FAULTS: dict[str, Answer] = {
    # The renewal of kubernetes_asyncio waits forever, and the leader leads long after its lease.
    "silence, a defect of kubernetes_asyncio": silence,
    # There the error of aiohttp ends the elector, and the leading task is not cancelled.
    "a reset, a defect of kubernetes_asyncio": drop,
    "a conflict": status(409, "Conflict"),
    "an internal error": status(500, "InternalError"),
    "an HTML page": reply(502, b"<html><body>bad gateway</body></html>"),
    "an HTML page with status 200": reply(200, b"<html><body>welcome</body></html>"),
    "an empty response": reply(200, b""),
    "a response of another type": reply(200, {"kind": "Lease", "spec": ["odd"]}),
    "a truncated response": stream(b'{"kind": "Lease", "spe', then="cut"),
    "an endless response": stream(b'{"kind": ', then="silence"),
    "refused credentials": status(401, "Unauthorized"),
    "no rights": status(403, "Forbidden"),
    "a busy server": status(429, "TooManyRequests", retryAfterSeconds=1),
    "a redirect": reply(302, b"", headers={"Location": "http://192.0.2.1/"}),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_t21_any_other_response_than_a_renewal_ends_leadership_in_time(fault: Answer) -> None:
    async with run_leader(otherwise=fault) as (_server, leader):
        await expect_an_end_in_time(leader)


async def test_t21_a_server_that_comes_back_in_time_keeps_its_leader() -> None:
    renewed = {**LEASE, "metadata": {**LEASE["metadata"], "resourceVersion": "2"}}
    async with run_leader(drop, drop, drop, otherwise=reply(200, renewed)) as (_server, leader):
        await leader.live(OPTIONS.renew_deadline * 2)
        assert leader.working
        assert leader.may_write()


async def test_renewals_do_not_wait_behind_the_requests_of_the_work() -> None:
    """All connections of the work wait for responses that never arrive."""
    clock = ManualClock()
    async with ScriptedServer(otherwise=silence) as server:
        tokens = Tokens(server.url)
        working = Client(tokens, user_agent="test/1", clock=clock)
        stuck = [asyncio.ensure_future(get(working)) for _ in range(50)]
        await eventually(lambda: len(server.requests) == 32, goal="the pool is full")
        lease_client = Client(tokens, user_agent="test/1", clock=clock)
        server.extend(status(404, "NotFound"), reply(201, LEASE))
        leader = Leader(lease_client, clock)
        try:
            await eventually(lambda: leader.working, goal="the candidate leads")
        finally:
            await leader.stop()
            for task in stuck:
                task.cancel()
            await asyncio.gather(*stuck, return_exceptions=True)
            await working.close()
            await lease_client.close()
