"""Evictions on a real API server. No disruption controller runs: tests write the PDB status."""

import pytest

from runtime.client.client import Client
from tests.runtime.eviction_cases import CASES, Case


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_case(case: Case, client: Client, namespace: str) -> None:
    await case(client, namespace)
