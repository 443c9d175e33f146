"""The table of blue/green: its invariants, and the diagram in the docs."""

import dataclasses
from pathlib import Path

import pytest

from contracts.api.cluster.status_upgrade import BlueGreenStatus
from contracts.jobs import upgrade_actions
from contracts.records.bluegreen import Membership
from contracts.records.bluegreen_phases import ACTIONS, IDLE
from contracts.state_machine import always, diagram
from managers.upgrade.bluegreen.action_table import ACTION_RULES
from managers.upgrade.bluegreen.decide import decide_step
from managers.upgrade.bluegreen.table import TABLE
from managers.upgrade.transition_action import UpgradeAction
from runtime.outcome import Blocked, Wait
from tests.managers.upgrade.two_pools import OLD, TwoPools

PLACES = tuple(dict.fromkeys(row.at for row in TABLE))
PAGE = Path(__file__).parents[4] / "docs" / "upgrade-bluegreen.md"


class TestShape:
    def test_its_states_are_the_phases_of_the_status(self) -> None:
        phases = BlueGreenStatus.model_json_schema()["properties"]["phase"]["enum"]
        assert sorted(PLACES) == sorted(phases)

    @pytest.mark.parametrize("place", PLACES)
    def test_every_state_ends_with_a_row_that_always_applies(self, place: str) -> None:
        assert [row for row in TABLE if row.at == place][-1].when is always

    def test_every_phase_is_reached_and_left(self) -> None:
        steps = {(row.at, row.to) for row in TABLE if row.to and row.to != row.at}
        reached = {IDLE}
        for _ in PLACES:
            reached |= {to for at, to in steps if at in reached}
        assert reached == set(PLACES)
        assert {at for at, _ in steps} == set(PLACES)

    @pytest.mark.parametrize("place", PLACES)
    def test_idle_is_reachable_from_every_state(self, place: str) -> None:
        steps = {(row.at, row.to) for row in TABLE if row.to}
        reached = {place}
        for _ in PLACES:
            reached |= {to for at, to in steps if at in reached}
        assert IDLE in reached

    def test_no_rollback_starts_in_cleanup(self) -> None:
        back = {"RollingBack", "RollbackCleanup"}
        assert not [
            r for r in TABLE if r.at in ("Cleanup", "RestoringReadReplicas") and r.to in back
        ]

    def test_every_waiting_row_has_a_recheck_interval(self) -> None:
        """Only a state that a user ends, or an idle one, needs no timer."""
        silent = {row.guard_label for row in TABLE if row.after is None and not row.blocked}
        assert silent == {"paused", "up to date"}

    def test_every_action_is_used_and_has_a_rule(self) -> None:
        assert {row.action for row in TABLE} == set(ACTION_RULES) == {"", *UpgradeAction}

    def test_every_job_action_is_known_to_the_executor(self) -> None:
        assert set(ACTIONS.values()) == set(upgrade_actions.ACTIONS) - {upgrade_actions.STEP_DOWN}

    def test_the_docs_show_the_table(self) -> None:
        assert diagram(TABLE) in PAGE.read_text(encoding="utf-8")


class TestIdle:
    def test_a_refused_upgrade_does_not_start(self) -> None:
        facts = TwoPools().facts()
        decision = decide_step(
            dataclasses.replace(facts, refusal=Blocked("DowngradeBlocked", "no"))
        )
        assert decision.outcome == Blocked("DowngradeBlocked", "no")
        assert (decision.blue_green, decision.effects) == (None, ())

    def test_an_obstructed_upgrade_waits(self) -> None:
        facts = TwoPools().facts()
        decision = decide_step(dataclasses.replace(facts, obstacle=Wait("QuorumLost", "not now")))
        assert isinstance(decision.outcome, Wait)
        assert decision.outcome.reason == "QuorumLost"
        assert decision.blue_green is None

    def test_without_a_new_version_nothing_happens(self) -> None:
        world = TwoPools(version=OLD)
        decision = world.run()
        assert world.writes == 0
        assert (decision.hold_reason, decision.traffic, decision.green) == ("", "", None)
        assert decision.blue is not None
        assert (decision.blue.revision, decision.blue.replicas, decision.blue.applied) == (
            "",
            3,
            True,
        )

    def test_objects_of_an_earlier_attempt_are_removed_first(self) -> None:
        world = TwoPools()
        world.sets[world.revision] = world.born(world.revision, 1)
        world.claims[f"data-x-{world.revision}-0"] = "left"
        world.done()
        assert world.claims.get(f"data-x-{world.known.blue_revision}-0") not in (None, "left")

    def test_unknown_members_are_never_deleted(self) -> None:
        """The status was lost while green led: green may be the only serving pool."""
        world = TwoPools().to("DemotingBlue")
        world.drive(10)
        revision = world.revision
        del world.status["blueGreen"]
        world.follow = lambda: None
        world.drive(20)
        assert not world.sets[revision].ending
        assert isinstance(world.run().outcome, Blocked)
        facts = dataclasses.replace(world.facts(), membership=None)
        assert decide_step(facts).effects == ()
        alone = dataclasses.replace(world.facts(), membership=Membership("blue", 3, 3))
        assert [effect.name for effect in decide_step(alone).effects] == ["delete-server-set"]


class TestDecisions:
    @pytest.mark.parametrize("phase", PLACES[1:])
    def test_no_pod_is_replaced_during_an_upgrade(self, phase: str) -> None:
        world = TwoPools(readReplicas={"replicas": 1})
        if phase in ("RollingBack", "RollbackCleanup"):
            world.fails[upgrade_actions.DEMOTE] = 5
        decision = world.to(phase).run()
        assert decision.hold_reason
        assert decision.blue is not None
        kept = decision.blue.applied and phase != "RestoringReadReplicas"
        assert not kept or decision.blue.release.version == OLD

    def test_green_follows_for_the_minimum_sync_duration(self) -> None:
        world = TwoPools(upgrade={"blueGreen": {"verification": {"minSyncDuration": "5m"}}})
        world.to("Syncing")
        began = world.now
        assert world.run().outcome == Wait(
            "UpgradeInProgress", "green follows blue for minSyncDuration (5m)", 60.0
        )
        world.drive(until=lambda: len(world.created_jobs) > 1)
        assert (world.now - began).total_seconds() >= 300
        world.done()
