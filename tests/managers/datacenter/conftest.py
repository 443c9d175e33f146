"""Fixtures: an API server and a process, or a service in memory."""

import pytest

from tests.managers.datacenter.kubernetes_bench import Operator, Server
from tests.managers.datacenter.service_bench import Bench


@pytest.fixture
def server() -> Server:
    """An API server without objects."""
    return Server()


@pytest.fixture
def operator(server: Server) -> Operator:
    """A process that reconciles the datacenters of the server."""
    return Operator(server)


@pytest.fixture
def bench() -> Bench:
    """A service over a store and a provider in memory."""
    return Bench()
