"""Reconciles of a cluster whose leader denies the read of the quorum."""

import copy
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from managers.bao import login
from managers.bao.client import Denied
from managers.cluster.apply.status_writer import DETAIL_INTERVAL
from tests import gen
from tests.managers.cluster.bench import Bench, running_bench
from tests.managers.membership.servers import Servers

PATH = "sys/storage/raft/configuration"
ANSWERED = {"raft": {"voters": 3, "nonVoters": 0, "leader": "x-0"}}
HELD = ("False", "QuorumQuestionRefused")


async def before_a_rollout(
    monkeypatch: pytest.MonkeyPatch, servers: Servers, admin_ops: dict[str, Any] | None
) -> Bench:
    """A cluster of three pods that must all be replaced."""
    monkeypatch.setattr(login, "Bao", lambda authority, name, guard: servers)
    bench = await running_bench(gen.cluster())
    known = copy.deepcopy(bench.cluster)
    known["status"]["adminOps"] = admin_ops
    bench.api.with_objects((CLUSTERS, known))
    bench.ask_for(runtime={"restartAt": "now"})
    await bench.turn()
    bench.observe_stateful_set()
    await bench.turn(after=DETAIL_INTERVAL)
    return bench


def refusing() -> Servers:
    servers = Servers()
    servers.error = Denied(f"{PATH} answered 403: permission denied", 403)
    return servers


def evictions(bench: Bench) -> list[str]:
    return [word for word in bench.writes if word.startswith(("delete Pod", "evict Pod"))]


async def test_a_denied_quorum_read_stops_the_rollout(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = refusing()
    bench = await before_a_rollout(monkeypatch, servers, ANSWERED)
    assert evictions(bench) == []
    assert bench.condition("Ready") == HELD
    conditions = bench.cluster["status"]["conditions"]
    (ready,) = [condition for condition in conditions if condition["type"] == "Ready"]
    assert f"{PATH} answered 403" in ready["message"]
    assert "policy openbao-operator" in ready["message"]
    # Certificates are still renewed: during a long rollout the waiting pods reload them.
    assert bench.cluster["status"]["workload"]["rollingSince"]
    servers.error = None
    await bench.turn()
    assert evictions(bench) == ["evict Pod x-2"]
