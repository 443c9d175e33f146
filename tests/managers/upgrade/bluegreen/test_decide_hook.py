"""The validation hook of green: one identity, one run, one receipt."""

import dataclasses
from typing import Any

import pytest

from contracts.records.bluegreen import BlueGreenFacts
from contracts.records.upgrade import HookObservation
from managers.upgrade.bluegreen import validation_hook
from runtime.outcome import Blocked
from tests import gen
from tests.managers.upgrade.two_pools import TICK, TwoPools, as_before

IMAGE = "registry.example.com/check:1"


def world_with_hook(**more: Any) -> TwoPools:
    """A world with a validation hook."""
    wish = {"verification": {"prePromotionHook": {"image": IMAGE}}, **more}
    return TwoPools(upgrade={"blueGreen": wish})


def world_at_stage(stage: str, **more: Any) -> TwoPools:
    """A world whose receipt has just reached a stage."""
    world = world_with_hook(**more)
    world.drive(until=lambda: _stage(world) == stage)
    assert _stage(world) == stage
    return world


def _stage(world: TwoPools) -> str:
    receipt = world.known.validation_hook
    return receipt.stage if receipt else ""


def _facts(world: TwoPools, observation: HookObservation | None) -> BlueGreenFacts:
    return dataclasses.replace(world.facts(), hook=observation)


class TestWay:
    def test_the_hook_runs_once_before_green_is_promoted(self) -> None:
        world = world_with_hook()
        world.drive(until=lambda: world.known.phase == "Promoting")
        receipt = gen.present(world.known.validation_hook)
        assert (receipt.stage, receipt.terminal_result) == ("TerminalObserved", "Succeeded")
        assert world.ran == [receipt.job_uid]
        world.done()
        assert len(world.ran) == 1

    def test_the_hook_stays_suspended_until_its_uid_is_recorded(self) -> None:
        world = world_at_stage("Prepared")
        world.run()
        assert [(hook.suspended, hook.runs) for hook in world.hooks.values()] == [(True, 0)]
        world.run()
        assert _stage(world) == "Committed"
        assert [hook.suspended for hook in world.hooks.values()] == [True]
        world.run()
        assert [hook.suspended for hook in world.hooks.values()] == [False]

    def test_the_result_is_known_after_the_job_is_deleted(self) -> None:
        world = world_at_stage("TerminalObserved", autoPromote=False)
        world.hooks.clear()
        world.now += 100_000 * TICK
        world.order(promote="go")
        world.done()
        assert len(world.ran) == 1

    def test_without_a_hook_there_is_no_receipt(self) -> None:
        world = TwoPools().to("Promoting")
        assert world.known.validation_hook is None
        assert world.hooks == {}


class TestNo:
    def test_a_failed_hook_aborts_the_upgrade(self) -> None:
        world = world_with_hook()
        world.hook_says = "Failed"
        world.drive(200)
        as_before(world)
        assert world.known.rollback_reason == "the validation hook failed"

    @pytest.mark.parametrize("switch", ["enabled", "onValidationFailure"])
    def test_a_failed_hook_holds_the_upgrade_without_auto_rollback(self, switch: str) -> None:
        world = world_with_hook(autoRollback={switch: False})
        world.hook_says = "Failed"
        world.drive(200)
        assert world.known.phase == "Syncing"
        assert isinstance(world.run().outcome, Blocked)
        writes = world.writes
        world.drive(20)
        assert world.writes == writes
        world.hook_says = "Succeeded"
        world.order(retry="judge-again")
        world.done()
        assert len(world.ran) == 2

    def test_a_result_of_another_attempt_is_ignored(self) -> None:
        world = world_with_hook()
        world.hook_says = "Failed"
        world.drive(200)
        (first,) = world.hooks
        world.hook_says = "Succeeded"
        world.order(retry="again")
        world.done()
        assert len(world.hooks) == 2
        assert world.hooks[first].runs == 1


class TestLost:
    @pytest.mark.parametrize("stage", ["Committed", "Created"])
    def test_a_deleted_job_is_never_recreated(self, stage: str) -> None:
        world = world_at_stage(stage)
        world.hooks.clear()
        world.drive(50)
        assert _stage(world) == "Unknown"
        assert (world.hooks, world.known.phase) == ({}, "Syncing")
        assert gen.expect(Blocked, world.run().outcome).reason == "BlueGreenHold"

    @pytest.mark.parametrize("stage", ["Committed", "Created"])
    def test_another_job_of_the_same_name_is_ignored(self, stage: str) -> None:
        world = world_at_stage(stage)
        receipt = gen.present(world.known.validation_hook)
        for observation in (
            HookObservation("another", "Succeeded"),
            HookObservation(receipt.job_uid or "", "Succeeded", foreign=True),
            None,
        ):
            assert validation_hook.step(_facts(world, observation)) == "lost"

    @pytest.mark.parametrize(
        ("observation", "phase"),
        [
            (None, "make"),
            (HookObservation("a", "Active", suspended=True), "commit"),
            (HookObservation("a", "Active", suspended=True, terminating=True), "wait"),
            (HookObservation("a", "Succeeded"), "lost"),
            (HookObservation("a", "Active", suspended=True, foreign=True), "lost"),
        ],
    )
    def test_before_its_start_the_hook_may_be_recreated(
        self, observation: HookObservation | None, phase: str
    ) -> None:
        assert validation_hook.step(_facts(world_at_stage("Prepared"), observation)) == phase

    def test_a_user_may_retry_the_hook(self) -> None:
        world = world_at_stage("Created")
        world.hooks.clear()
        world.drive(5)
        world.order(retry="judge-again")
        world.done()

    def test_a_user_may_roll_back(self) -> None:
        world = world_at_stage("Created")
        world.hooks.clear()
        world.drive(5)
        world.order(rollback="back")
        world.drive(100)
        as_before(world)


class TestEdits:
    def test_before_its_start_an_edited_hook_replaces_it(self) -> None:
        world = world_at_stage("Prepared")
        world.run()
        (first,) = world.hooks
        world.set_blue_green(verification={"prePromotionHook": {"image": f"{IMAGE}2"}})
        world.done()
        (second,) = world.hooks
        assert second != first
        assert len(world.ran) == 1

    def test_before_its_start_the_hook_may_be_removed(self) -> None:
        world = world_at_stage("Prepared")
        world.run()
        world.set_blue_green(verification=None)
        world.done()
        assert (world.ran, world.hooks) == ([], {})

    @pytest.mark.parametrize("stage", ["Committed", "Created", "TerminalObserved"])
    def test_after_its_start_an_edit_applies_to_the_next_upgrade(self, stage: str) -> None:
        world = world_at_stage(stage)
        world.set_blue_green(verification={"prePromotionHook": {"image": f"{IMAGE}2"}})
        world.done()
        assert len(world.ran) == 1

    def test_the_identity_is_unique_per_hook_and_upgrade(self) -> None:
        identity = validation_hook.HookIdentity("x", "operation", "revision", "hash")
        others = [
            dataclasses.replace(identity, **{name: "other"})
            for name in ("operation_id", "green_revision", "spec_hash")
        ]
        assert len({identity.job_name, *(other.job_name for other in others)}) == 4

    def test_the_same_hook_has_the_same_hash(self) -> None:
        one, two = (gen.present(world_with_hook().facts().hook_settings) for _ in range(2))
        other = two.model_copy(update={"timeout_seconds": 1})
        hashes = [validation_hook.spec_hash(hook) for hook in (one, two, other)]
        assert hashes[0] == hashes[1] != hashes[2]
