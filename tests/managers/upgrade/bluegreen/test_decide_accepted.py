"""Blue/green: every line of the acceptance list."""

import dataclasses
from typing import Any

import pytest

from contracts.jobs import upgrade_actions
from contracts.records.bluegreen_phases import ACTIONS
from contracts.records.upgrade_decision import UpgradeDecision
from managers.upgrade.bluegreen.decide import decide_step
from runtime.outcome import Blocked, Wait
from tests import gen
from tests.managers.upgrade.two_pools import (
    BLUE,
    FOR_EVER,
    NEW,
    SIZE,
    TICK,
    WHOLE,
    TwoPools,
    as_before,
)

JOBS = {
    "JoiningMesh": upgrade_actions.JOIN,
    "Syncing": upgrade_actions.WAIT,
    "Promoting": upgrade_actions.PROMOTE,
    "DemotingBlue": upgrade_actions.DEMOTE,
}
LATE = ("Promoting", "DemotingBlue")


class TestSuccess:
    def test_a_success_has_the_documented_phases(self) -> None:
        world = TwoPools().done()
        assert world.phases == WHOLE
        assert world.actions() == [
            upgrade_actions.JOIN,
            upgrade_actions.WAIT,
            upgrade_actions.PROMOTE,
            upgrade_actions.DEMOTE,
            upgrade_actions.REMOVE_BLUE,
        ]
        assert world.event_reasons == ["UpgradeStarted", "UpgradeComplete"]

    def test_only_green_is_left(self) -> None:
        world = TwoPools()
        revision = world.revision
        world.done()
        assert (world.release, world.known.blue_revision) == (NEW, revision)
        assert world.known.green_revision is None
        assert set(world.sets) == {revision}
        assert set(world.raft) == {f"x-{revision}-{number}" for number in range(SIZE)}
        assert set(world.claims) == {f"data-{pod}" for pod in world.raft}
        assert world.lock == ""

    def test_with_policy_retain_the_volumes_of_blue_are_kept_and_named(self) -> None:
        world = TwoPools(deletionPolicy="Retain")
        kept = {f"data-{pod}" for pod in BLUE}
        decision = gen.present(
            world.drive(until=lambda: "UpgradeComplete" in world.event_reasons).decision
        )
        assert kept == {pvc for pvc in world.claims if world.revision not in pvc}
        (event,) = decision.events
        assert all(volume in event.text for volume in kept)

    def test_retained_volumes_of_a_revision_hold_its_reuse(self) -> None:
        world = TwoPools(deletionPolicy="Retain")
        world.claims[f"data-x-{world.revision}-0"] = "kept"
        outcome = gen.expect(Blocked, world.drive(5).run().outcome)
        assert outcome.reason == "BlueGreenHold"
        assert f"kubectl delete pvc data-x-{world.revision}-0" in outcome.message
        assert world.claims[f"data-x-{world.revision}-0"] == "kept"
        del world.claims[f"data-x-{world.revision}-0"]
        world.done()

    def test_read_replicas_follow_after_blue_is_removed(self) -> None:
        world = TwoPools(readReplicas={"replicas": 1})
        world.read_replicas_upgraded = False
        world.drive(until=lambda: world.known.phase == "RestoringReadReplicas").drive(50)
        assert (world.known.phase, world.release) == ("RestoringReadReplicas", NEW)
        assert world.known.green_revision is None
        assert world.traffic == world.known.blue_revision
        world.read_replicas_upgraded = True
        assert world.done().phases == [*WHOLE[:-1], "RestoringReadReplicas", "Idle"]

    def test_a_second_upgrade_follows_the_first(self) -> None:
        world = TwoPools().done()
        before = {name for name, _ in world.created_jobs}
        world.edit(version="2.4.2")
        world.done()
        assert world.phases == [*WHOLE, *WHOLE[1:]]
        assert len(world.flips) == 2
        assert before.isdisjoint(name for name, _ in world.created_jobs[len(before) :])


class TestGreen:
    def test_green_that_forms_its_own_cluster_is_removed(self) -> None:
        world = TwoPools().to("JoiningMesh")
        green = f"x-{world.revision}-0"
        facts = world.facts()
        world.raft[green], world.leader = True, green
        alone = dataclasses.replace(facts, membership=world.membership())
        world.raft.pop(green)
        world.leader = "x-0"
        decision = decide_step(alone)
        assert (decision.state, decision.effects) == ("RollbackCleanup", ())

    def test_no_job_runs_before_every_green_pod_is_ready(self) -> None:
        world = TwoPools().to("DeployingGreen")
        world.unready = {f"x-{world.revision}-2"}
        world.drive(100)
        assert (world.known.phase, world.created_jobs) == ("DeployingGreen", [])
        world.unready = set()
        assert world.done().phases == WHOLE

    def test_green_waits_for_a_blue_leader(self) -> None:
        world = TwoPools()
        world.drive(until=lambda: bool(world.known.phase == "DeployingGreen"))
        facts = world.facts()
        nobody = dataclasses.replace(
            facts,
            green=dataclasses.replace(facts.green, uid=""),
            blue=dataclasses.replace(facts.blue, ready=0),
        )
        decision = decide_step(nobody)
        assert decision.state == "DeployingGreen"
        assert "no cluster to join" in gen.expect(Wait, decision.outcome).message


class TestTraffic:
    def test_the_selector_changes_once_at_the_cutover(self) -> None:
        world = TwoPools()
        revision = world.revision
        world.to("DemotingBlue")
        assert world.flips == []
        world.run()
        assert world.flips == [revision]
        world.done()
        assert world.flips == [revision]

    def test_blue_keeps_its_votes_until_clients_use_green(self) -> None:
        world = TwoPools().to("DemotingBlue")
        facts = dataclasses.replace(world.facts(), traffic="")
        assert decide_step(facts).effects == ()
        assert decide_step(dataclasses.replace(facts, traffic=world.revision)).effects != ()

    def test_blue_is_kept_for_the_verification_time(self) -> None:
        world = TwoPools(upgrade={"blueGreen": {"autoRollback": {"stabilizationSeconds": 600}}})
        world.to("DemotingBlue")
        began = world.now
        world.drive(until=lambda: world.known.phase == "Cleanup")
        assert (world.now - began).total_seconds() >= 600
        assert "" in world.sets
        assert world.raft.keys() >= BLUE.keys()
        assert not any(world.raft[pod] for pod in BLUE)

    def test_an_upgrade_changes_no_route(self) -> None:
        fields = {field.name for field in dataclasses.fields(UpgradeDecision)}
        assert "traffic" in fields
        assert not any("route" in name or "ingress" in name for name in fields)


class TestFailures:
    @pytest.mark.parametrize(("phase", "action"), JOBS.items(), ids=JOBS)
    def test_a_failed_job_aborts_the_upgrade_or_rolls_it_back(
        self, phase: str, action: str
    ) -> None:
        world = TwoPools()
        world.fails[action] = FOR_EVER
        revision = world.revision
        world.drive(500)
        as_before(world)
        assert world.actions().count(action) == 5
        back = ["RollingBack"] if phase in LATE else []
        assert world.phases[-3 - len(back) :] == [phase, *back, "RollbackCleanup", "Idle"]
        assert world.known.failed_revision == revision
        if phase in LATE:
            assert world.flips in ([], [revision, ""])
        else:
            assert (world.flips, world.event_reasons) == ([], ["UpgradeStarted", "RollbackStarted"])

    @pytest.mark.parametrize("action", sorted({*ACTIONS.values()}))
    def test_a_job_that_fails_sometimes_is_retried(self, action: str) -> None:
        world = TwoPools()
        world.fails[action] = 4
        if action in (upgrade_actions.REPAIR, upgrade_actions.REMOVE_GREEN):
            world.fails[upgrade_actions.DEMOTE] = FOR_EVER
            world.drive(500)
            as_before(world)
        else:
            world.done()
        assert world.actions().count(action) == 5
        names = [name for name, _ in world.created_jobs]
        assert len(names) == len(set(names))

    def test_the_same_target_is_retried_only_on_request(self) -> None:
        world = TwoPools()
        world.fails[upgrade_actions.PROMOTE] = 5
        world.drive(500)
        as_before(world)
        before = [name for name, _ in world.created_jobs]
        writes = world.writes
        world.now += 100_000 * TICK
        world.drive(100)
        assert ([name for name, _ in world.created_jobs], world.writes) == (before, writes)
        assert "requests.retry" in gen.expect(Blocked, world.run().outcome).message
        world.order(retry="again")
        world.done()
        assert set(before).isdisjoint(name for name, _ in world.created_jobs[len(before) :])
        assert world.status["upgradeRequests"]["lastHandledRetry"] == "again"
        assert world.known.failed_revision is None

    def test_another_target_starts_a_new_upgrade(self) -> None:
        world = TwoPools()
        world.fails[upgrade_actions.PROMOTE] = 5
        world.drive(200)
        world.edit(version="2.4.2")
        world.done()
        assert world.release == "2.4.2"

    @pytest.mark.parametrize("phase", ["DeployingGreen", "JoiningMesh", "Syncing"])
    def test_green_that_cannot_run_aborts_the_upgrade(self, phase: str) -> None:
        world = TwoPools().to(phase)
        world.pod_failures[world.revision] = "x-1: CrashLoopBackOff"
        world.drive(100)
        as_before(world)
        assert world.known.rollback_reason == "x-1: CrashLoopBackOff"

    def test_green_that_fails_later_is_rolled_back(self) -> None:
        """Three of six voters are left, so a Job restores a majority first."""
        world = TwoPools().to("DemotingBlue")
        world.drive(until=lambda: not world.raft["x-0"])
        world.follow = lambda: None
        world.pod_failures[world.revision] = "x-1: CrashLoopBackOff"
        world.drive(100)
        as_before(world)

    def test_green_that_is_not_ready_in_time_aborts_the_upgrade(self) -> None:
        world = TwoPools().to("DeployingGreen")
        world.unready = {f"x-{world.revision}-2"}
        world.drive(1000)
        as_before(world)
        assert world.known.rollback_reason == "2 of 3 servers of green are ready"

    def test_without_auto_rollback_a_failed_job_holds_the_upgrade(self) -> None:
        world = TwoPools(upgrade={"blueGreen": {"autoRollback": {"enabled": False}}})
        world.fails[upgrade_actions.PROMOTE] = 1
        world.drive(200)
        assert world.known.phase == "Promoting"
        assert world.actions().count(upgrade_actions.PROMOTE) == 1
        world.order(retry="again")
        world.done()
        assert world.actions().count(upgrade_actions.PROMOTE) == 2

    def test_a_failure_after_the_point_of_no_return_waits_for_a_user(self) -> None:
        world = TwoPools()
        world.fails[upgrade_actions.REMOVE_BLUE] = 5
        world.drive(300)
        assert world.known.phase == "Cleanup"
        assert world.actions().count(upgrade_actions.REMOVE_BLUE) == 5
        assert world.traffic == world.revision
        assert isinstance(world.run().outcome, Blocked)
        world.order(retry="again")
        world.done()

    def test_a_foreign_job_is_ignored(self) -> None:
        world = TwoPools().to("Promoting")
        world.run()
        (name, _) = world.created_jobs[-1]
        world.jobs[name].foreign = True
        world.jobs[name].state = "Succeeded"
        world.run()
        assert world.known.job_failure_count == 1
        assert not any(world.raft.get(pod) for pod in world.sets[world.revision].pods)


class TestBreakGlass:
    def begun(self, action: str = upgrade_actions.REPAIR) -> TwoPools:
        world = TwoPools()
        world.fails[upgrade_actions.DEMOTE] = 5
        world.fails[action] = 5
        return world.drive(300)

    def glass(self, world: TwoPools) -> dict[str, Any]:
        break_glass: dict[str, Any] = world.status["breakGlass"]
        return break_glass

    def test_a_failed_repair_breaks_glass_and_stops_all_steps(self) -> None:
        world = self.begun()
        glass = self.glass(world)
        assert world.known.phase == "RollingBack"
        assert glass["active"]
        assert glass["reason"] == "RollbackConsensusRepairFailed"
        assert len(glass["nonce"]) == 32
        assert any(glass["nonce"] in step for step in glass["steps"])
        assert world.event_reasons[-1] == "BreakGlassEntered"
        assert world.event_reasons.count("BreakGlassEntered") == 1
        writes, jobs = world.writes, len(world.created_jobs)
        world.edit(breakGlassAck="0" * 31 + "x")
        world.drive(50)
        assert world.writes == writes, "a wrong acknowledgement is ignored"
        assert self.glass(world)["active"]
        world.order(rollback="again", retry="again", promote="again")
        world.now += 100_000 * TICK
        world.drive(50)
        assert (world.writes, len(world.created_jobs)) == (writes, jobs)
        assert gen.expect(Blocked, world.run().outcome).reason == "BreakGlassRequired"

    def test_a_failed_removal_breaks_glass(self) -> None:
        world = self.begun(upgrade_actions.REMOVE_GREEN)
        assert world.known.phase == "RollbackCleanup"
        assert self.glass(world)["reason"] == "RollbackCleanupPeerRemovalFailed"

    @pytest.mark.parametrize("action", [upgrade_actions.REPAIR, upgrade_actions.REMOVE_GREEN])
    def test_an_acknowledgement_retries_with_another_job(self, action: str) -> None:
        world = self.begun(action)
        before = {name for name, _ in world.created_jobs}
        world.edit(breakGlassAck=self.glass(world)["nonce"])
        world.drive(100)
        as_before(world)
        assert not self.glass(world)["active"]
        after = [name for name, order in world.created_jobs if name not in before]
        assert after
        assert world.event_reasons.count("BreakGlassAcknowledged") == 1

    def test_each_failure_has_its_own_nonce(self) -> None:
        world = self.begun()
        world.fails[upgrade_actions.REPAIR] = 5
        first = self.glass(world)["nonce"]
        world.edit(breakGlassAck=first)
        world.drive(200)
        assert self.glass(world)["active"]
        assert self.glass(world)["nonce"] != first
