"""Circuit breakers for unresponsive servers, and the time budget of a reconcile for servers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from managers.bao import exchange
from managers.bao.answers import BaoError, Denied
from managers.bao.breakers import FIRST, MOST, SILENCE, BreakerOpenError, Breakers, UnansweredError
from managers.bao.timeouts import (
    BUDGET,
    TLS,
    BudgetedReconciler,
    DeadlineExceededError,
    RequestBudget,
    pod_states,
    request_timeout,
)
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Request
from tests import gen
from tests.managers.bao.servers import Server, serving

IP, OTHER_IP = "10.0.0.1", "10.0.0.2"
HEALTH = "sys/health"


class World:
    """Servers that time out, refuse or respond, and the reconciles that query them."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.metrics = Metrics()
        self.breakers = Breakers(self.clock, self.metrics)
        self.pods: dict[str, Any] = {IP: "first", OTHER_IP: "first"}
        self.reached: list[str] = []

    def begin(self, namespace: str = "ns") -> RequestBudget:
        """Begin a reconcile."""
        return RequestBudget(self.clock, self.breakers, namespace, lambda _: self.pods)

    async def ask(
        self, patience: RequestBudget, how: str, address: str = IP, line: str = "api"
    ) -> float:
        """Send one request; `how`: "silent", "refuses" or the response. Raises BaoError."""
        with patience.request_timeout(address, HEALTH, 5.0, line) as seconds:
            self.reached.append(address)
            if how == "silent":
                await self.clock.sleep(seconds)
                raise UnansweredError(f"{HEALTH} of {address}: ServerTimeoutError")
            if how == "refuses":
                raise BaoError(f"{HEALTH} of {address}: ClientConnectorError")
            return seconds

    async def record_timeout(
        self, patience: RequestBudget, *addresses: str, seconds: float = 5.0
    ) -> None:
        """Query servers concurrently, none of which responds within `seconds`."""
        asking = [asyncio.create_task(self.ask(patience, "silent", to)) for to in addresses]
        await self.clock.settle()
        await self.clock.advance(seconds)
        errors = await asyncio.gather(*asking, return_exceptions=True)
        assert {type(error) for error in errors} == {UnansweredError}

    async def pass_of(self, how: str, namespace: str = "ns", line: str = "api") -> str:
        """One reconcile with one request; the class and text of its error, "" for none."""
        asking = asyncio.create_task(self.ask(self.begin(namespace), how, line=line))
        await self.clock.settle()
        if not asking.done():
            await self.clock.advance(5.0)
        await asyncio.wait([asking])
        error = asking.exception()
        return "" if error is None else f"{type(error).__name__}: {error}"

    def gauge(self, name: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"openbao_operator_breakers_{name}")


async def silent_server() -> World:
    """A server that has timed out twice."""
    world = World()
    for _ in range(2):
        assert (await world.pass_of("silent")).startswith(("UnansweredError", "BreakerOpenError"))
    world.reached.clear()
    return world


async def test_after_two_timeouts_the_breaker_opens_and_the_error_says_why() -> None:
    world = await silent_server()
    assert await world.pass_of("answers") == (
        "BreakerOpenError: sys/health of 10.0.0.1: the server has not answered since "
        "2030-01-01T00:00:05Z; the operator retries within 60 s, or when its pod changes"
    )
    assert world.reached == []
    assert (world.gauge("open"), world.gauge("opened_total")) == (1, 1)
    # Another path of the server, or the same address in another namespace, does not close it.
    assert await world.pass_of("answers", line=TLS) == ""
    assert await world.pass_of("answers", "other") == ""
    assert (await world.pass_of("answers")).startswith("BreakerOpenError")


async def test_an_open_breaker_allows_one_probe_after_a_doubling_interval() -> None:
    world = await silent_server()
    pauses = []
    for _ in range(6):
        begun = world.clock.monotonic()
        while not world.reached:
            await world.clock.advance(0.5)
            if not world.reached:
                await world.pass_of("silent")
        pauses.append(world.clock.monotonic() - 5.0 - begun)
        world.reached.clear()
    assert pauses == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
    assert world.gauge("opened_total") == 1


async def test_a_breaker_allows_one_probe_at_a_time() -> None:
    world = await silent_server()
    await world.clock.advance(FIRST)
    probe = asyncio.create_task(world.ask(world.begin(), "silent"))
    await world.clock.settle()
    with pytest.raises(BreakerOpenError):
        await world.ask(world.begin(), "answers")
    assert world.reached == [IP]
    probe.cancel()
    await world.clock.advance(5.0)
    assert await world.pass_of("answers") == "", "a cancelled probe does not block others"


async def test_the_message_is_stable_while_the_server_does_not_respond() -> None:
    """A status with this message is not written again."""
    world, texts = World(), set[str]()
    await world.pass_of("silent")
    for _ in range(400):
        texts.add(await world.pass_of("silent"))
        await world.clock.advance(0.5)
    assert len(texts) == 1


@pytest.mark.parametrize("how", ["answers", "refuses"])
async def test_a_response_or_a_refused_connection_closes_the_breaker(how: str) -> None:
    world = await silent_server()
    await world.clock.advance(FIRST)
    await world.pass_of(how)
    assert world.gauge("open") == 0
    assert await world.pass_of("answers") == ""
    assert (await world.pass_of("silent")).startswith("UnansweredError")


async def test_refused_connections_never_open_the_breaker() -> None:
    world = World()
    for _ in range(50):
        await world.pass_of("refuses")
    assert len(world.reached) == 50
    assert world.gauge("opened_total") == 0


async def test_a_changed_pod_is_queried_immediately() -> None:
    world = await silent_server()
    world.pods[IP] = "second"
    assert await world.pass_of("answers") == ""
    assert world.gauge("open") == 0


async def test_concurrent_timeouts_count_once() -> None:
    world = World()
    passes = [asyncio.create_task(world.ask(world.begin(), "silent")) for _ in range(4)]
    await world.clock.settle()
    await world.clock.advance(5.0)
    await asyncio.wait(passes)
    assert {type(task.exception()) for task in passes} == {UnansweredError}
    assert world.gauge("opened_total") == 0


async def test_a_reconcile_has_one_time_budget_for_all_servers() -> None:
    world = World()
    patience = world.begin()
    await world.record_timeout(patience, IP, OTHER_IP)
    await world.record_timeout(patience, "10.0.0.3")
    assert world.clock.monotonic() == BUDGET
    with pytest.raises(DeadlineExceededError, match="this reconcile has waited 10 s for servers"):
        await world.ask(patience, "answers", "10.0.0.4")
    assert await world.ask(world.begin(), "answers", "10.0.0.4") == 5.0


async def test_a_timeout_of_the_remaining_budget_does_not_count() -> None:
    world = World()
    for number in range(3):
        patience = world.begin()
        await world.record_timeout(patience, f"10.0.1.{number}")
        patience._left = SILENCE / 2
        await world.record_timeout(patience, IP, seconds=SILENCE / 2)
        await world.clock.advance(MOST)
    assert await world.pass_of("answers") == ""


async def test_time_between_requests_is_not_counted() -> None:
    world = World()
    patience = world.begin()
    for _ in range(5):
        await world.clock.advance(10.0)
        assert await world.ask(patience, "answers") == 5.0


async def test_breakers_of_unused_servers_are_dropped() -> None:
    world = await silent_server()
    await world.clock.advance(2 * MOST)
    assert world.gauge("open") == 0
    await world.clock.advance(3600.0)
    await world.record_timeout(world.begin(), OTHER_IP)
    assert len(world.breakers._silent) == 1


async def test_each_reconcile_has_its_own_budget_and_other_code_has_none() -> None:
    world = World()
    given: list[float] = []

    async def inner(request: Request) -> Outcome:
        for _ in range(3):
            try:
                with request_timeout(IP, HEALTH, 5.0) as seconds:
                    given.append(seconds)
                    await world.clock.sleep(seconds)
            except BaoError:
                given.append(-1.0)
        return Done()

    patient = BudgetedReconciler(inner, world.clock, world.breakers, lambda _: world.pods)
    for _ in range(2):
        running = asyncio.create_task(_run(patient))
        await world.clock.settle()
        await world.clock.advance(10.0)
        await running
    assert given == [5.0, 5.0, -1.0] * 2
    with request_timeout(IP, HEALTH, 5.0) as seconds:
        assert seconds == 5.0


async def _run(patient: BudgetedReconciler) -> None:
    await patient(Request("ns", "x"))


def test_a_breaker_resets_when_the_pod_its_container_or_its_labels_change() -> None:
    one = gen.pod(0).ready()
    lives: list[Mapping[str, Any]] = [
        pod_states([each.object()])
        for each in (one, one.with_restarts(), one.unready(), one.with_server_labels(sealed="true"))
    ]
    lives.append(
        pod_states([{**one.object(), "metadata": {**one.object()["metadata"], "uid": "2"}}])
    )
    (ip,) = lives[0]
    assert len({life[ip] for life in lives}) == len(lives)
    assert pod_states([one.object()]) == lives[0]
    assert pod_states([{"metadata": {"name": "x"}, "status": {}}]) == {}


async def test_a_server_that_accepts_and_never_responds_opens_its_breaker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two reconciles query it, the third does not; a refusal is a response."""
    monkeypatch.setattr(exchange, "_QUESTION", 0.05)
    monkeypatch.setattr("managers.bao.breakers.SILENCE", 0.0)
    never, reached = asyncio.Event(), 0
    answering = Server.handle

    async def silent(server: Server, request: web.Request) -> web.Response:
        nonlocal reached
        reached += 1
        await never.wait()
        return await answering(server, request)

    monkeypatch.setattr(Server, "handle", silent)
    world, errors = World(), list[str]()

    async def inner(_: Request) -> Outcome:
        async with served.client() as bao:
            try:
                await bao.members("127.0.0.1", "t")
            except (BaoError, Denied) as error:
                errors.append(type(error).__name__)
        return Done()

    patient = BudgetedReconciler(inner, world.clock, world.breakers, lambda _: world.pods)
    async with serving(tmp_path, {}) as served:
        for _ in range(2):
            await _run(patient)
        before = reached
        for _ in range(2):
            await _run(patient)
        assert errors == ["UnansweredError"] + ["BreakerOpenError"] * 3
        assert reached == before <= 2
        never.set()
        monkeypatch.setattr(exchange, "_QUESTION", 60.0)
        world.pods["127.0.0.1"] = "another"
        await _run(patient)
    assert errors[-1] == "Denied"
    assert world.gauge("open") == 0
