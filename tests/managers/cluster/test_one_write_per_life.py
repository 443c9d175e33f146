"""An operator that crashes after each write completes the life of a cluster."""

from __future__ import annotations

from contextlib import suppress

import pytest

from contracts.api.group import CLUSTERS
from runtime.builtin_kinds import POD
from runtime.errors import TransportError
from tests import gen
from tests.managers.cluster.bench import KEY, Bench
from tests.managers.cluster.campaign import ROUND_SECONDS, Life, MoodyApi, let_servers_answer
from tests.managers.cluster.dying_operator import OneWritePerLife
from tests.managers.cluster.takeover import NEW
from tests.managers.cluster.takeover_ways import WAY_THERE, begin_takeover

LIVES = 200
RELEASE = {"version": NEW}


async def settle(life: Life, operator: OneWritePerLife) -> None:
    """Live until the operator has nothing to write and the cluster is ready."""
    age = 0.0
    for _ in range(LIVES):
        with suppress(TransportError):
            await life.bench.turn()
        idle = not operator.crashed
        operator.restarted()
        if life.kubernetes() and idle and life.ready()[0] == "True":
            return
        life.rounds += 1
        age += ROUND_SECONDS
        live = life.api.objects[(CLUSTERS, KEY)]
        life.bench = Bench(gen.cluster(replicas=3), life.api)
        life.api.objects[(CLUSTERS, KEY)] = live
        await life.bench.outside.clock.advance(age)
    raise AssertionError(f"not settled: {operator.writes[-12:]}")


async def test_the_life_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """First boot, three servers, a change that replaces every pod, and five servers."""
    life = Life(MoodyApi())
    let_servers_answer(monkeypatch, life)
    operator = OneWritePerLife(life.api)
    await settle(life, operator)
    assert len(life.api.of(POD)) == 3
    before = life.templates()
    life.change()
    await settle(life, operator)
    assert len(life.templates()) == 1
    assert life.templates() != before
    life.bench.ask_for(replicas=5)
    await settle(life, operator)
    assert len(life.api.of(POD)) == 5
    for name in ("x-unseal-key", "x-tls-ca"):
        assert life.api.creation_counts[f"create Secret {name}"] == 1


async def test_a_blue_green_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await begin_takeover(monkeypatch)
    operator = OneWritePerLife(world.api)
    for _ in range(LIVES):
        with suppress(TransportError):
            await world.turn()
        if not operator.crashed and world.phase == "Idle" and world.status["release"] == RELEASE:
            break
        if operator.crashed:
            operator.restarted()
            world.kubernetes()
            await world.restart()
    assert world.actions == WAY_THERE
    assert "operationLock" not in world.status
    assert world.status["release"] == RELEASE
