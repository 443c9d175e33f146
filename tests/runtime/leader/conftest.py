"""Manual time, one lease, and the leases of shards."""

import pytest

from runtime.testing.clock import ManualClock
from tests.runtime.lease_world import LeaseServer
from tests.runtime.shard_world import Leases


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


@pytest.fixture
def leases() -> Leases:
    return Leases()
