"""A blue/green upgrade through the whole reconciler: from Idle to Idle, and no write after it."""

import pytest

from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool
from runtime.builtin_kinds import CONFIG_MAP, POD, PVC, STATEFUL_SET
from tests.managers.cluster.takeover import NEW, OLD, PHASES, Takeover, live_uid
from tests.managers.cluster.takeover_paths import OPERATORS, WAY_THERE, Begin, of


class TestFromIdleToIdle:
    @OPERATORS
    async def test_green_takes_over(self, begin: Begin) -> None:
        world = await begin()
        blue = live_uid(world, STATEFUL_SET, "x")
        await world.settle()
        revision = world.status["blueGreen"]["blueRevision"]
        green = ServerPool("x", revision)
        assert world.phases == [*PHASES, "Idle"]
        assert world.actions == WAY_THERE
        assert world.flips == ["", revision, ""]
        assert world.selected() == labels.servers("x")
        assert world.deletions[0] == ("x", blue)
        assert world.names_of(STATEFUL_SET) == {green.stateful_set}
        assert world.names_of(CONFIG_MAP) == {green.config_map}
        assert world.names_of(POD) == set(world.raft) == of(revision)
        assert world.names_of(PVC) == {green.data_claim(number) for number in range(3)}
        self.tells_of_green(world, green)
        for reason in ("UpgradeStarted", "TrafficSwitched", "UpgradeComplete"):
            assert world.event_reasons.count(reason) == 1

    def tells_of_green(self, world: Takeover, green: ServerPool) -> None:
        status = world.status
        assert status["release"] == {"version": NEW}
        assert (status["currentVersion"], status["ready"]) == (NEW, "3/3")
        assert status["activeLeader"] == green.pod(0)
        assert status["selector"] == labels.selector_text(green.selector)
        assert "operationLock" not in status
        assert "greenRevision" not in status["blueGreen"]
        for kind, value in (("Ready", "True"), ("Reconciling", "False"), ("Upgrading", "False")):
            assert world.bench.condition(kind)[0] == value

    async def test_nothing_is_written_after_the_upgrade(self, begin: Begin) -> None:
        world = await begin()
        await world.settle()
        # Secrets are not watched, and read from time to time.
        await world.bench.turn()
        await world.bench.turn()
        assert world.bench.api.take_requests() == []
        await world.restart()
        await world.bench.turn()
        assert world.writes == [], "by a new operator"
        await world.turns(10)
        assert "PodReplaced" not in world.event_reasons

    @OPERATORS
    async def test_volumes_of_blue_are_kept_with_retain(self, begin: Begin) -> None:
        world = await begin(deletionPolicy="Retain")
        await world.settle()
        assert {f"data-x-{number}" for number in range(3)} < world.names_of(PVC)
        assert [name for name, _ in world.deletions] == ["x"]


class TestGivenUp:
    @OPERATORS
    @pytest.mark.parametrize("phase", PHASES[1:-1])
    async def test_every_phase_can_be_rolled_back(self, begin: Begin, phase: str) -> None:
        world = await begin()
        blue = live_uid(world, STATEFUL_SET, "x")
        await world.until(phase)
        upgrade = world.bench.cluster["spec"]["upgrade"]
        world.ask_for(upgrade={**upgrade, "requests": {"rollback": "back-1"}})
        await world.settle()
        assert world.phases[-2:] == ["RollbackCleanup", "Idle"]
        assert live_uid(world, STATEFUL_SET, "x") == blue
        assert world.status["upgradeRequests"] == {"lastHandledRollback": "back-1"}
        assert world.event_reasons.count("RollbackStarted") == 1
        self.is_as_before(world)

    def is_as_before(self, world: Takeover) -> None:
        """Blue serves, and no object of green is left."""
        voters = {pod_name for pod_name, votes in world.raft.items() if votes}
        assert world.names_of(POD) == of("") == voters
        assert (world.names_of(STATEFUL_SET), world.names_of(CONFIG_MAP)) == ({"x"}, {"x-config"})
        assert world.names_of(PVC) == {f"data-x-{number}" for number in range(3)}
        assert world.selected() == labels.servers("x")
        assert world.status["release"] == {"version": OLD}
        assert "operationLock" not in world.status
        assert world.status["blueGreen"]["failedRevision"]


class TestPaused:
    @pytest.mark.parametrize("phase", PHASES[1:])
    async def test_nothing_is_done_while_it_is_paused(self, begin: Begin, phase: str) -> None:
        world = await begin(until=phase)
        before = world.status["blueGreen"]
        world.ask_for(paused=True)
        await world.turn()
        assert world.writes == ["apply/status OpenBaoCluster x"]
        for _ in range(5):
            await world.turn()
            assert world.writes == []
        assert world.status["blueGreen"] == before
        world.ask_for(paused=False)
        await world.settle()
        assert world.status["release"] == {"version": NEW}


async def test_a_deletion_during_the_upgrade_leaves_no_servers(begin: Begin) -> None:
    world = await begin(until="Syncing")
    world.bench.delete()
    for _ in range(6):
        await world.bench.turn()
        world.kubernetes()
    assert world.names_of(STATEFUL_SET) == set()
    assert world.names_of(PVC) == set()
