"""A blue/green upgrade through the whole reconciler: the rare paths."""

from itertools import pairwise
from typing import Any

import pytest

from contracts.jobs import upgrade_actions
from contracts.pools.voter_pool import ServerPool
from contracts.records.bluegreen import revision_of
from contracts.records.upgrade import Release
from runtime.builtin_kinds import JOB, POD, PVC, STATEFUL_SET
from tests import gen
from tests.gen.api import api_error
from tests.managers.cluster.takeover import NEW, OLD, PHASES, Takeover
from tests.managers.cluster.takeover_ways import OPERATORS, Begin, of

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

    @OPERATORS
    async def test_a_failed_hook_aborts_the_upgrade(self, begin: Begin) -> None:
        world = await request_upgrade(begin, verification=HOOK)
        world.fails = {""}
        await world.settle()
        assert world.status["release"] == {"version": OLD}
        assert world.phases[-2:] == ["RollbackCleanup", "Idle"]
        assert world.names_of(POD) == of("")


class TestHeld:
    async def test_green_waits_for_a_user_without_writes(self, begin: Begin) -> None:
        world = await request_upgrade(begin, autoPromote=False)
        await world.until("Syncing")
        await world.turns(5)
        for _ in range(20):
            await world.turn()
            assert world.writes == []
        assert world.bench.condition("Upgrading") == ("True", "BlueGreenHold")
        order(world, promote="go-1")
        await world.settle()
        assert world.status["upgradeRequests"] == {"lastHandledPromote": "go-1"}
        assert world.event_reasons.count("BlueGreenPromotionApproved") == 1

    async def test_an_impossible_rollback_request_is_refused_once(self, begin: Begin) -> None:
        world = await begin(until="Cleanup")
        order(world, rollback="back-1")
        await world.settle()
        assert world.event_reasons.count("RollbackRefused") == 1
        assert world.status["release"] == {"version": NEW}
        assert world.status["upgradeRequests"] == {"lastHandledRollback": "back-1"}


class TestBreakGlass:
    async def test_break_glass_starts_when_a_rollback_fails_and_a_user_ends_it(
        self, begin: Begin
    ) -> None:
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


class TestRetry:
    async def failed(self, begin: Begin) -> Takeover:
        """A cluster of which green could not be promoted."""
        world = await begin()
        world.fails = {upgrade_actions.PROMOTE}
        await world.settle()
        assert world.phases[-3:] == ["RollingBack", "RollbackCleanup", "Idle"]
        world.fails.clear()
        world.forget()
        return world

    async def test_a_failed_upgrade_is_not_retried_automatically(self, begin: Begin) -> None:
        world = await self.failed(begin)
        await world.turns(20)
        assert (world.phases, world.bench.condition("Upgrading")[0]) == (["Idle"], "False")

    async def test_a_user_requests_the_retry(self, begin: Begin) -> None:
        world = await self.failed(begin)
        order(world, retry="again-1")
        await world.settle()
        assert world.phases == [*PHASES, "Idle"]
        assert world.status["upgradeRequests"] == {"lastHandledRetry": "again-1"}
        assert "failedRevision" not in world.status["blueGreen"]

    async def test_another_strategy_may_complete_the_upgrade(self, begin: Begin) -> None:
        world = await self.failed(begin)
        world.ask_for(upgrade={"strategy": "RollingUpdate"})
        await world.turns(40)
        assert world.status["release"] == {"version": NEW}
        assert world.names_of(POD) == of("")
        world.forget()
        world.ask_for(version="2.4.2", upgrade={"strategy": "BlueGreen", "jwtAuthRole": "u"})
        await world.turns(60)
        assert world.phases == [*PHASES, "Idle"]
        assert world.status["release"] == {"version": "2.4.2"}


class TestChangedRequest:
    async def test_a_reverted_release_may_be_requested_again(self, begin: Begin) -> None:
        world = await begin(until="Syncing")
        world.ask_for(version=OLD)
        await world.settle()
        assert "failedRevision" not in world.status["blueGreen"]
        world.forget()
        world.ask_for(version=NEW)
        await world.settle()
        assert world.phases == [*PHASES, "Idle"]

    async def test_a_third_release_follows_the_started_one(self, begin: Begin) -> None:
        world = await begin(until="Syncing")
        world.ask_for(version="2.4.2")
        await world.turns(90)
        assert world.phases == [*PHASES, *PHASES, "Idle"]
        assert world.status["release"] == {"version": "2.4.2"}

    async def test_a_started_rolling_upgrade_completes_as_rolling(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = Takeover(monkeypatch, upgrade={"strategy": "RollingUpdate"})
        await world.boot()
        world.ask_for(version=NEW)
        while world.status.get("upgrade", {}).get("phase") != "Rolling":
            await world.turn()
        upgrade = world.bench.cluster["spec"]["upgrade"]
        tokens = {"promote": "go-1", "rollback": "back-1"}
        world.ask_for(upgrade={**upgrade, "strategy": "BlueGreen", "requests": tokens})
        await world.turns(40)
        assert world.status["release"] == {"version": NEW}
        assert world.names_of(POD) == of("")
        assert world.phases == ["Idle"]
        handled = {"lastHandledPromote": "go-1", "lastHandledRollback": "back-1"}
        assert world.status["upgradeRequests"] == handled


async def test_a_rejected_job_is_created_again_later(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await begin(until="JoiningMesh")
    create, offered = world.api.create, []

    async def refusing(resource: Any, body: Any, **more: Any) -> Any:
        if resource == JOB:
            offered.append(world.age)
            raise api_error(422)
        return await create(resource, body, **more)

    monkeypatch.setattr(world.api, "create", refusing)
    await world.turns(20)
    assert world.phase == "JoiningMesh"
    assert len(offered) > 1
    assert all(later - earlier >= 15 for earlier, later in pairwise(offered))
    monkeypatch.setattr(world.api, "create", create)
    await world.settle()
    assert world.status["release"] == {"version": NEW}


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


async def test_no_server_is_replaced_for_a_changed_join_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OpenBao 2.5.0 to 2.5.4 exit when they reload their files, so pods would be replaced."""
    world = Takeover(monkeypatch)
    await world.boot()
    world.ask_for(version="2.5.1")
    await world.settle()
    assert world.status["currentVersion"] == "2.5.1"
    assert "PodReplaced" not in world.event_reasons
