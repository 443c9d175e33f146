"""A blue/green upgrade through the whole reconciler: the rare paths."""

from typing import Any

import pytest

from contracts.jobs import upgrade_actions
from contracts.pools.voter_pool import ServerPool
from contracts.records.bluegreen import revision_of
from contracts.records.upgrade import Release
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from tests import gen
from tests.managers.cluster.takeover import NEW, PHASES, Takeover
from tests.managers.cluster.takeover_paths import OPERATORS, Begin, of

FAST = {"autoRollback": {"stabilizationSeconds": 10}}
HOOK = {"prePromotionHook": {"image": "registry.example.com/hook:1"}}


async def request_upgrade(begin: Begin, **wish: Any) -> Takeover:
    """A cluster with these upgrade settings, for which another version was just requested."""
    return await begin(upgrade={"blueGreen": {**FAST, **wish}})


def order(world: Takeover, **tokens: str) -> None:
    """Change spec.upgrade.requests."""
    upgrade = world.bench.cluster["spec"]["upgrade"]
    world.ask_for(upgrade={**upgrade, "requests": tokens})


class TestHook:
    @OPERATORS
    async def test_it_runs_once_and_never_before_its_uid_is_written(self, begin: Begin) -> None:
        world = await request_upgrade(begin, verification=HOOK)
        await world.until("Syncing")
        while "" not in world.actions:
            # Its Job has no action of ours; it ends when the test releases it.
            receipt = world.status["blueGreen"].get("validationHook") or {}
            await world.turn()
            if "" in world.actions:
                assert receipt["stage"] == "Committed"
                assert receipt["jobUID"]
        await world.settle()
        assert world.actions.count("") == 1
        assert world.phases == [*PHASES, "Idle"]


class TestBreakGlass:
    async def test_a_failed_rollback_breaks_glass_until_a_user_ends_it(self, begin: Begin) -> None:
        world = await begin(until="DemotingBlue")
        world.fails = {upgrade_actions.REPAIR}
        order(world, rollback="back-1")
        await world.turns(40)
        assert world.phase == "RollingBack"
        assert world.status["breakGlass"]["active"]
        assert world.event_reasons.count("BreakGlassEntered") == 1
        world.fails.clear()
        await world.restart()
        for _ in range(5):
            await world.turn()
            assert world.writes == []
        world.ask_for(breakGlassAck=world.status["breakGlass"]["nonce"])
        await world.settle()
        assert not world.status["breakGlass"]["active"]
        assert world.event_reasons.count("BreakGlassAcknowledged") == 1
        assert world.names_of(STATEFUL_SET) == {"x"}
        assert world.names_of(POD) == of("")


# --- reused names: volumes and revisions of an earlier pool ---


async def test_a_volume_of_an_earlier_cluster_is_never_deleted_and_never_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Takeover(monkeypatch)
    await world.boot()
    name = ServerPool("x", revision_of(Release(NEW), 3)).data_claim(0)
    world.api.with_objects((PVC, gen.claim(name, owner="uid-of-a-former-cluster")))
    world.ask_for(version=NEW)
    await world.turns(6)
    assert name not in {deleted for deleted, _ in world.deletions}
    assert "greenRevision" not in world.status.get("blueGreen", {})
    assert world.bench.condition("Stalled") == ("True", "BlueGreenHold")
    messages = [c["message"] for c in world.status["conditions"] if c["type"] == "Stalled"]
    assert f"kubectl delete pvc {name}" in messages[0]


async def test_a_reused_release_gets_a_new_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = (f"registry.example.com/{name}:2.4.0" for name in "abc")
    world = Takeover(monkeypatch, image=first)
    await world.boot()
    world.ask_for(image=second)
    await world.settle()
    before = world.status["blueGreen"]["blueRevision"]
    upgrade = world.bench.cluster["spec"]["upgrade"]
    world.ask_for(image=third, upgrade={**upgrade, "strategy": "RollingUpdate"})
    await world.turns(40)
    assert world.status["release"]["image"] == third
    world.forget()
    world.ask_for(image=second, upgrade=upgrade)
    await world.settle()
    assert world.status["release"]["image"] == second
    assert world.status["blueGreen"]["blueRevision"] != before


async def test_another_join_address_replaces_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenBao 2.5.0 to 2.5.4 exit when they reload their files, so pods would be replaced."""
    world = Takeover(monkeypatch)
    await world.boot()
    world.ask_for(version="2.5.1")
    await world.settle()
    assert world.status["currentVersion"] == "2.5.1"
    assert "PodReplaced" not in world.event_reasons
