"""Evictions with the fake API server; tests/integration has the same with a real one."""

import random

import pytest

from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.errors import EvictionRefused
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.scripted import status
from runtime.types import ObjectKey, uid_of
from tests.runtime.eviction_cases import CASES, Case
from tests.runtime.evictions import is_there, key, make_budget, make_pod
from tests.runtime.serving import run_scripted_server

SPACE = "space"


def fake() -> Client:
    rng = random.Random(1)
    return client_of(FakeWire(FakeApiServer(SystemClock(), rng), rng))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_case(case: Case) -> None:
    await case(fake(), SPACE)


async def test_a_budget_without_status_is_computed_from_its_pods() -> None:
    client = fake()
    pods = [await make_pod(client, SPACE, number) for number in range(2)]
    await make_pod(client, SPACE, 2, ready=False)
    await make_budget(client, SPACE)
    with pytest.raises(EvictionRefused):
        await client.evict(key(SPACE, 0), uid=uid_of(pods[0]))
    await make_pod(client, SPACE, 3)
    await make_pod(client, SPACE, 4)
    with pytest.raises(EvictionRefused):
        await client.evict(key(SPACE, 0), uid=uid_of(pods[0]))
    assert await is_there(client, SPACE, 0)


async def test_the_client_does_not_retry_an_eviction() -> None:
    """The server sends Retry-After, as under load."""
    causes = [{"reason": "DisruptionBudget", "message": "The disruption budget x is new"}]
    answer = status(429, "TooManyRequests", retryAfterSeconds=1, causes=causes)
    async with run_scripted_server(answer) as (server, client):
        with pytest.raises(EvictionRefused, match="429"):
            await client.evict(ObjectKey(SPACE, "x-0"), uid="u")
        assert len(server.requests) == 1


async def test_an_eviction_is_a_write_and_needs_the_uid() -> None:
    with pytest.raises(ValueError, match="x-0 needs its uid"):
        await fake().evict(ObjectKey(SPACE, "x-0"), uid="")
