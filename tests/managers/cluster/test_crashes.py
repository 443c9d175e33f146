"""An operator that crashes before, at or after each write reaches the same result."""

from contextlib import suppress

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.errors import TransportError
from tests import gen
from tests.managers.cluster.bench import KEY, Bench
from tests.managers.cluster.campaign import ROUND_SECONDS, FaultyApi, Life, let_servers_answer
from tests.managers.cluster.dying_operator import CrashingOperator, OneWritePerLife
from tests.managers.cluster.takeover import NEW, PHASES, Takeover
from tests.managers.cluster.takeover_paths import WAY_THERE, begin_takeover, of

TURNS = 90
WRITES = 43
"""Writes of a whole upgrade of three servers."""

_before: list[tuple[Takeover, int]] = []
"""For each write of an upgrade, the world before its reconcile, and its number in the reconcile."""


async def _before_writes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Takeover, int]]:
    """Run the upgrade once per process: each crash test starts at the reconcile of its crash."""
    if not _before:
        world = await begin_takeover(monkeypatch)
        while not _is_complete(world):
            start, world = world, await world.copied(monkeypatch)
            await world.turn()
            _before.extend((start, number) for number in range(1, len(world.writes) + 1))
    return _before


def _is_complete(world: Takeover) -> bool:
    return len(world.phases) > 2 and world.phase == "Idle" and not world.writes


async def _complete_upgrade(world: Takeover) -> None:
    """Run until the upgrade is complete; a new operator replaces a crashed one."""
    for _ in range(TURNS):
        try:
            await world.turn()
        except TransportError:
            world.kubernetes()
            await world.restart()
            continue
        if _is_complete(world):
            return


async def test_each_write_of_an_upgrade_has_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(await _before_writes(monkeypatch)) == WRITES


@pytest.mark.parametrize("at", range(WRITES))
@pytest.mark.parametrize("after", [False, True], ids=["before a write", "after a write"])
async def test_the_operator_may_crash_at_every_write(
    monkeypatch: pytest.MonkeyPatch, at: int, *, after: bool
) -> None:
    start, number = (await _before_writes(monkeypatch))[at]
    world = await start.copied(monkeypatch)
    dying = CrashingOperator(world.api, number, after=after)
    await _complete_upgrade(world)
    assert dying.count >= number
    revision = world.status["blueGreen"].get("blueRevision", "")
    # A phase may have been written and left between two reads.
    assert set(world.phases) == set(PHASES), world.explain()
    assert world.actions == WAY_THERE
    assert world.status["release"] == {"version": NEW}
    assert "operationLock" not in world.status
    assert world.names_of(STATEFUL_SET) == {f"x-{revision}"}
    assert world.names_of(POD) == set(world.raft) == of(revision)
    assert len(world.names_of(PVC)) == 3
    assert world.selected() == labels.servers("x")
    assert "PodReplaced" not in world.event_reasons


# --- an operator that crashes after each write ---

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
    life = Life(FaultyApi())
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
