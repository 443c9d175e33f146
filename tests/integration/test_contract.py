"""The cases of tests/contract on a real API server; a difference is a bug of the fake server."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.rig import Rig
from runtime.client.client import Client
from runtime.client.credentials import KubeconfigCredentials
from runtime.client.wire import HttpWire
from runtime.clock import SystemClock
from runtime.errors import ApiError, TransportError
from tests.contract.bench import Bench
from tests.contract.cases import CASES, FORGETFUL_CASES, Case


@pytest_asyncio.fixture
async def bench(
    credentials: KubeconfigCredentials, client: Client, namespace: str
) -> AsyncIterator[Bench]:
    wire = HttpWire(credentials, user_agent="itest")
    try:
        yield Bench(client, wire, namespace, SystemClock(), real=True)
    finally:
        await wire.close()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_contract(case: Case, bench: Bench) -> None:
    await case(bench)


@pytest.mark.parametrize("case", FORGETFUL_CASES.values(), ids=FORGETFUL_CASES)
async def test_contract_after_a_restart(case: Case, bench: Bench, control_plane: Rig) -> None:
    control_plane.stop("kube-apiserver", grace=0.0)
    control_plane.start("kube-apiserver")
    while not await _answers(bench.client):
        await bench.clock.sleep(0.05)
    await case(bench)


async def _answers(client: Client) -> bool:
    try:
        await client.get_raw("/readyz")
    except (ApiError, TransportError):
        return False
    return True
