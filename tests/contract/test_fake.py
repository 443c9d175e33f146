"""The cases with the fake server, in memory and over HTTP."""

import random
from collections.abc import AsyncIterator

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client
from runtime.client.wire import HttpWire
from runtime.clock import SystemClock
from runtime.errors import Gone
from runtime.testing.api_server.http import serving
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.simulation import Simulation, simulate
from tests.contract.bench import Bench, refusal_of
from tests.contract.cases import CASES, FORGETFUL_CASES, Case
from tests.runtime.serving import Tokens

ALL = CASES | FORGETFUL_CASES
BY_NAME = pytest.mark.parametrize("case", ALL.values(), ids=ALL)


def aged(server: FakeApiServer) -> FakeApiServer:
    """Create a history whose beginning is compacted."""
    for name in ("x", "y"):
        server.put(CONFIG_MAP, {"metadata": {"name": name, "namespace": "elsewhere"}})
    server.storage.compact()
    return server


async def test_a_list_at_a_compacted_version_is_gone(bench: Bench) -> None:
    """Not tested with a real server: it compacts its history only after minutes."""
    error = await refusal_of(bench.listed(resourceVersion="1", resourceVersionMatch="Exact"))
    assert isinstance(error, Gone), error
    assert error.reason == "Expired"


@BY_NAME
def test_in_memory(case: Case) -> None:
    async def main(simulation: Simulation) -> None:
        server = aged(FakeApiServer(simulation.clock, simulation.rng))
        wire = FakeWire(server, simulation.rng)
        bench = Bench(client_of(wire), wire, "shop", simulation.clock, real=False)
        await case(bench)
        assert not server.watches

    simulate(main, seed=1)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    clock = SystemClock()
    server = aged(FakeApiServer(clock, random.Random(1)))
    async with serving(server) as url:
        tokens = Tokens(url)
        client = Client(tokens, user_agent="test/1", clock=clock)
        wire = HttpWire(tokens, user_agent="test/1")
        try:
            yield Bench(client, wire, "shop", clock, real=False)
        finally:
            await client.close()
            await wire.close()


# Over HTTP, a watch with a timeout takes real seconds.
SLOW = ("an_idle_watch", "a_watch_from_a_future_version")
OVER_HTTP = {name: case for name, case in ALL.items() if not name.startswith(SLOW)}


@pytest.mark.parametrize("case", OVER_HTTP.values(), ids=OVER_HTTP)
async def test_over_http(case: Case, bench: Bench) -> None:
    await case(bench)
