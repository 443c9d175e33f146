"""Blue/green: requests, edits, pauses and the lock during an upgrade."""

from typing import NamedTuple

import pytest

from contracts.jobs import upgrade_actions
from runtime.outcome import Wait
from tests import gen
from tests.managers.upgrade.two_pools import NEW, OLD, TICK, WHOLE, TwoPools, as_before

LATE = ("Promoting", "DemotingBlue")


class Gate(NamedTuple):
    """Where an upgrade waits for a user: `order` opens it, unless `automatic` is set."""

    order: str
    automatic: str
    phase: str
    approved: str

    def upgrade(self) -> TwoPools:
        return TwoPools(upgrade={"blueGreen": {self.automatic: False}})

    def world_on_hold(self) -> TwoPools:
        world = self.upgrade()
        world.drive(100)
        assert world.known.phase == self.phase
        # Somebody asked for it: nothing is wrong, and nothing is degraded.
        outcome = gen.expect(Wait, world.run().outcome)
        assert outcome.reason == "BlueGreenHold"
        assert f"spec.upgrade.requests.{self.order}" in outcome.message
        return world


PROMOTION = Gate("promote", "autoPromote", "Syncing", "BlueGreenPromotionApproved")
# Cleanup is the point of no return: a user may keep blue until they are sure.
CLEANUP = Gate("cleanup", "autoCleanup", "DemotingBlue", "BlueGreenCleanupApproved")


@pytest.mark.parametrize("gate", [PROMOTION, CLEANUP], ids=["promotion", "cleanup"])
class TestApproval:
    def test_the_approval_has_no_timeout(self, gate: Gate) -> None:
        world = gate.world_on_hold()
        writes = world.writes
        world.now += 100_000 * TICK
        world.tick()
        assert not world.jobs
        world.drive(50)
        assert world.known.phase == gate.phase
        assert (world.writes, world.status["release"]["version"]) == (writes, OLD)

    def test_a_token_approves_the_step(self, gate: Gate) -> None:
        world = gate.world_on_hold()
        world.order(**{gate.order: "go"})
        assert world.done().phases == WHOLE
        assert world.status["upgradeRequests"][f"lastHandled{gate.order.title()}"] == "go"
        assert gate.approved in world.event_reasons

    def test_an_edit_of_the_field_applies_to_the_next_upgrade(self, gate: Gate) -> None:
        world = gate.world_on_hold()
        world.set_blue_green(**{gate.automatic: True})
        world.drive(50)
        assert world.known.phase == gate.phase


@pytest.mark.parametrize(
    ("gate", "phase"),
    [
        *((PROMOTION, phase) for phase in ("Idle", "DeployingGreen", "JoiningMesh")),
        *((CLEANUP, phase) for phase in ("Syncing", "Promoting")),
    ],
    ids=lambda value: value.order if isinstance(value, Gate) else value,
)
def test_an_early_token_is_ignored_and_acknowledged(gate: Gate, phase: str) -> None:
    world = gate.upgrade().to(phase)
    world.order(**{gate.order: "too-early"})
    world.drive(100)
    assert world.status["upgradeRequests"][f"lastHandled{gate.order.title()}"] == "too-early"
    assert world.known.phase == gate.phase


def test_a_rollback_is_possible_before_the_cleanup() -> None:
    world = CLEANUP.world_on_hold()
    world.order(rollback="back")
    world.drive(100)
    as_before(world)


class TestRollback:
    @pytest.mark.parametrize("phase", ["DeployingGreen", "JoiningMesh", "Syncing", *LATE])
    def test_a_rollback_works_in_every_phase_that_allows_it(self, phase: str) -> None:
        world = TwoPools().to(phase)
        world.drive(1)
        world.order(rollback="back")
        world.drive(200)
        as_before(world)
        assert world.known.rollback_reason == "rollback back was requested"
        assert world.status["upgradeRequests"]["lastHandledRollback"] == "back"
        assert ("RollingBack" in world.phases) == (phase in LATE)

    def test_a_rollback_waits_for_the_running_job(self) -> None:
        """The traffic is not switched before the Job, which demotes blue, has ended."""
        world = TwoPools().to("DemotingBlue")
        world.run()
        world.run()
        world.order(rollback="back")
        world.run()
        world.run()
        assert world.known.phase == "RollingBack"
        assert world.actions()[-1] == upgrade_actions.DEMOTE
        assert world.traffic == world.revision
        world.tick()
        world.drive(200)
        as_before(world)

    @pytest.mark.parametrize("phase", ["Cleanup", "RestoringReadReplicas"])
    def test_a_rollback_is_refused_once_blue_is_removed(self, phase: str) -> None:
        world = TwoPools(readReplicas={"replicas": 1}).to(phase)
        world.order(rollback="back")
        world.done()
        assert world.event_reasons.count("RollbackRefused") == 1
        assert world.status["upgradeRequests"]["lastHandledRollback"] == "back"

    @pytest.mark.parametrize("phase", ["RollingBack", "RollbackCleanup"])
    def test_a_request_during_a_rollback_is_acknowledged(self, phase: str) -> None:
        world = TwoPools()
        world.fails[upgrade_actions.DEMOTE] = 5
        world.to(phase)
        world.order(rollback="back")
        world.drive(200)
        as_before(world)
        assert world.status["upgradeRequests"]["lastHandledRollback"] == "back"

    def test_a_request_without_an_upgrade_is_acknowledged(self) -> None:
        world = TwoPools().done()
        world.order(rollback="back")
        world.drive(10)
        assert world.status["upgradeRequests"]["lastHandledRollback"] == "back"
        assert world.release == NEW

    @pytest.mark.parametrize("phase", ["DeployingGreen", "JoiningMesh", "Syncing", *LATE])
    def test_a_reverted_version_may_be_requested_again(self, phase: str) -> None:
        world = TwoPools().to(phase)
        world.edit(version=OLD)
        world.drive(100)
        as_before(world)
        world.edit(version=NEW)
        world.done()


class TestEdits:
    @pytest.mark.parametrize("phase", WHOLE[1:-1])
    def test_an_edit_during_the_upgrade_changes_no_job(self, phase: str) -> None:
        world, undisturbed = TwoPools().to(phase), TwoPools()
        revision = world.revision
        world.edit(replicas=5, image="registry.example.com/bao:2.4.1", version=NEW)
        world.drive(until=lambda: world.known.phase == "Idle")
        undisturbed.done()
        assert world.created_jobs == undisturbed.created_jobs
        assert world.known.blue_revision == revision
        assert world.flips == [revision]

    def test_an_edit_during_the_upgrade_is_the_next_upgrade(self) -> None:
        world = TwoPools().to("Promoting")
        world.edit(version="2.4.2")
        world.drive(400)
        assert world.phases == [*WHOLE, *WHOLE[1:]]
        assert world.release == "2.4.2"


class TestPause:
    @pytest.mark.parametrize("phase", WHOLE[1:-1])
    def test_a_pause_keeps_the_state_and_causes_no_timeout(self, phase: str) -> None:
        world = TwoPools().to(phase)
        world.edit(paused=True)
        writes = world.writes
        world.drive(20)
        assert world.writes == writes
        world.now += 100_000 * TICK
        world.edit(paused=False)
        world.status["resumedAt"] = world.now.isoformat().replace("+00:00", "Z")
        assert world.done().phases == WHOLE


class TestLock:
    @pytest.mark.parametrize("phase", WHOLE[1:-1])
    def test_nothing_is_done_while_another_holder_has_the_lock(self, phase: str) -> None:
        world = TwoPools().to(phase)
        world.run()
        world.tick()
        world.status["operationLock"] = {"operation": "Restore", "holder": "openbaorestore/now"}
        world.run()
        writes = world.writes
        world.drive(20)
        assert world.writes == writes
        assert gen.expect(Wait, world.run().outcome).reason == "OperationLockBlocked"
        del world.status["operationLock"]
        assert world.done().phases == WHOLE

    def test_a_request_is_kept_until_it_can_be_handled(self) -> None:
        world = TwoPools().to("Syncing")
        world.status["operationLock"] = {"operation": "Restore", "holder": "openbaorestore/now"}
        world.order(rollback="back")
        world.drive(20)
        assert "upgradeRequests" not in world.status
        del world.status["operationLock"]
        world.drive(100)
        as_before(world)

    def test_nothing_is_created_without_the_lock(self) -> None:
        world = TwoPools()
        world.status["operationLock"] = {"operation": "Backup", "holder": "openbaobackup/now"}
        world.drive(20)
        assert set(world.sets) == {""}
        del world.status["operationLock"]
        world.done()

    def test_the_lock_is_released_when_the_version_is_reverted(self) -> None:
        world = TwoPools()
        world.drive(until=lambda: bool(world.lock))
        world.edit(version=OLD)
        world.drive(10)
        as_before(world)
        assert world.known.operation_id is None


class TestSnapshot:
    def wanted(self) -> TwoPools:
        return TwoPools(
            upgrade={"preUpgradeSnapshot": True},
            backup={
                "schedule": "0 3 * * *",
                "target": {"provider": "s3", "endpoint": "https://s3.example.com", "bucket": "b"},
            },
        )

    def test_the_snapshot_is_taken_first(self) -> None:
        world = self.wanted()
        world.backup_ends = "Running"
        world.drive(30)
        assert world.known.phase == "Idle"
        assert set(world.sets) == {""}
        (name,) = world.backups
        world.backups[name] = "Completed"
        assert world.done().phases == WHOLE
        assert len(world.backups) == 1

    def test_three_failed_snapshots_abort_the_upgrade(self) -> None:
        world = self.wanted()
        world.backup_ends = "Failed"
        world.drive(50)
        assert len(world.backups) == 3
        as_before(world)
        assert world.known.failed_revision

    def test_a_deleted_snapshot_is_recreated(self) -> None:
        world = self.wanted()
        world.backup_ends = "Running"
        world.drive(5)
        world.backups.clear()
        world.backup_ends = "Completed"
        world.done()
        assert len(world.backups) == 1
