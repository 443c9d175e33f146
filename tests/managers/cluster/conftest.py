"""Fixtures: a running cluster, and one that is being upgraded."""

from functools import partial

import pytest

from tests import gen
from tests.managers.cluster.bench import Bench, running_bench
from tests.managers.cluster.lost_status import WatchedCluster, healthy
from tests.managers.cluster.takeover_paths import Begin, begin_takeover


@pytest.fixture
async def bench() -> Bench:
    """A running cluster of three."""
    return await running_bench(gen.cluster())


@pytest.fixture
async def seen(monkeypatch: pytest.MonkeyPatch) -> WatchedCluster:
    """A running cluster of three with a complete status, before it changes."""
    return await healthy(monkeypatch)


@pytest.fixture
def begin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Begin:
    """Starts a blue/green upgrade; OPERATORS decides whether operators are replaced in it."""
    return partial(begin_takeover, monkeypatch, restarts=getattr(request, "param", False))
