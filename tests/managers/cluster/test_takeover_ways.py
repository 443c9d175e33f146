"""A blue/green upgrade through the whole reconciler: the rare paths."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from contracts.jobs import upgrade_actions
from runtime.builtin_kinds import JOB, POD, STATEFUL_SET
from tests.gen.api import api_error
from tests.managers.cluster.takeover import NEW, OLD, PHASES, Takeover
from tests.managers.cluster.takeover_ways import OPERATORS, begin_takeover, of

FAST = {"autoRollback": {"stabilizationSeconds": 10}}
HOOK = {"prePromotionHook": {"image": "registry.example.com/hook:1"}}


async def request_upgrade(monkeypatch: pytest.MonkeyPatch, **wish: Any) -> Takeover:
    """A cluster with these upgrade settings, for which another version was just requested."""
    return await begin_takeover(monkeypatch, upgrade={"blueGreen": {**FAST, **wish}})


def order(world: Takeover, **tokens: str) -> None:
    """Change spec.upgrade.requests."""
    upgrade = world.bench.cluster["spec"]["upgrade"]
    world.ask_for(upgrade={**upgrade, "requests": tokens})


class TestHook:
    @OPERATORS
    async def test_it_runs_once_and_never_before_its_uid_is_written(
        self, monkeypatch: pytest.MonkeyPatch, *, restarts: bool
    ) -> None:
        world = await request_upgrade(monkeypatch, verification=HOOK)
        world.restarts = restarts
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
    async def test_a_failed_hook_aborts_the_upgrade(
        self, monkeypatch: pytest.MonkeyPatch, *, restarts: bool
    ) -> None:
        world = await request_upgrade(monkeypatch, verification=HOOK)
        world.restarts = restarts
        world.fails = {""}
        await world.settle()
        assert world.status["release"] == {"version": OLD}
        assert world.phases[-2:] == ["RollbackCleanup", "Idle"]
        assert world.names_of(POD) == of("")


class TestHeld:
    async def test_green_waits_for_a_user_without_writes(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = await request_upgrade(monkeypatch, autoPromote=False)
        await world.until("Syncing")
        for _ in range(5):
            await world.turn()
        for _ in range(20):
            await world.turn()
            assert world.writes == []
        assert world.bench.condition("Upgrading") == ("True", "BlueGreenHold")
        order(world, promote="go-1")
        await world.settle()
        assert world.status["upgradeRequests"] == {"lastHandledPromote": "go-1"}
        assert world.event_reasons.count("BlueGreenPromotionApproved") == 1

    async def test_an_impossible_rollback_request_is_refused_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = await begin_takeover(monkeypatch)
        await world.until("Cleanup")
        order(world, rollback="back-1")
        await world.settle()
        assert world.event_reasons.count("RollbackRefused") == 1
        assert world.status["release"] == {"version": NEW}
        assert world.status["upgradeRequests"] == {"lastHandledRollback": "back-1"}


class TestBreakGlass:
    async def test_break_glass_starts_when_a_rollback_fails_and_a_user_ends_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = await begin_takeover(monkeypatch)
        await world.until("DemotingBlue")
        world.fails = {upgrade_actions.REPAIR}
        order(world, rollback="back-1")
        for _ in range(40):
            await world.turn()
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
    async def failed(self, monkeypatch: pytest.MonkeyPatch) -> Takeover:
        """A cluster of which green could not be promoted."""
        world = await begin_takeover(monkeypatch)
        world.fails = {upgrade_actions.PROMOTE}
        await world.settle()
        assert world.phases[-3:] == ["RollingBack", "RollbackCleanup", "Idle"]
        world.fails.clear()
        world.forget()
        return world

    async def test_a_failed_upgrade_is_not_retried_automatically(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = await self.failed(monkeypatch)
        for _ in range(20):
            await world.turn()
        assert (world.phases, world.bench.condition("Upgrading")[0]) == (["Idle"], "False")

    async def test_a_user_requests_the_retry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        world = await self.failed(monkeypatch)
        order(world, retry="again-1")
        await world.settle()
        assert world.phases == [*PHASES, "Idle"]
        assert world.status["upgradeRequests"] == {"lastHandledRetry": "again-1"}
        assert "failedRevision" not in world.status["blueGreen"]

    async def test_another_strategy_may_complete_the_upgrade(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = await self.failed(monkeypatch)
        world.ask_for(upgrade={"strategy": "RollingUpdate"})
        for _ in range(40):
            await world.turn()
        assert world.status["release"] == {"version": NEW}
        assert world.names_of(POD) == of("")
        world.forget()
        world.ask_for(version="2.4.2", upgrade={"strategy": "BlueGreen", "jwtAuthRole": "u"})
        for _ in range(60):
            await world.turn()
        assert world.phases == [*PHASES, "Idle"]
        assert world.status["release"] == {"version": "2.4.2"}


class TestChangedRequest:
    async def test_a_reverted_release_may_be_requested_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = await begin_takeover(monkeypatch)
        await world.until("Syncing")
        world.ask_for(version=OLD)
        await world.settle()
        assert "failedRevision" not in world.status["blueGreen"]
        world.forget()
        world.ask_for(version=NEW)
        await world.settle()
        assert world.phases == [*PHASES, "Idle"]

    async def test_a_third_release_follows_the_started_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = await begin_takeover(monkeypatch)
        await world.until("Syncing")
        world.ask_for(version="2.4.2")
        for _ in range(90):
            await world.turn()
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
        for _ in range(40):
            await world.turn()
        assert world.status["release"] == {"version": NEW}
        assert world.names_of(POD) == of("")
        assert world.phases == ["Idle"]
        handled = {"lastHandledPromote": "go-1", "lastHandledRollback": "back-1"}
        assert world.status["upgradeRequests"] == handled


async def test_a_rejected_job_is_created_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await begin_takeover(monkeypatch)
    await world.until("JoiningMesh")
    create, offered = world.api.create, []

    async def refusing(resource: Any, body: Any, **more: Any) -> Any:
        if resource == JOB:
            offered.append(world.age)
            raise api_error(422)
        return await create(resource, body, **more)

    monkeypatch.setattr(world.api, "create", refusing)
    for _ in range(20):
        await world.turn()
    assert world.phase == "JoiningMesh"
    assert len(offered) > 1
    assert all(later - earlier >= 15 for earlier, later in pairwise(offered))
    monkeypatch.setattr(world.api, "create", create)
    await world.settle()
    assert world.status["release"] == {"version": NEW}
