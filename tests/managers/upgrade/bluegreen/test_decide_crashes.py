"""Blue/green: an operator that crashes at any write, and failures in any order."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from contracts.jobs import upgrade_actions
from contracts.records.bluegreen_phases import ACTIONS
from tests.managers.upgrade.two_pools import FOR_EVER, NEW, OLD, TwoPools, as_before

EVERYTHING: dict[str, Any] = {
    "readReplicas": {"replicas": 1},
    "backup": {
        "schedule": "0 3 * * *",
        "target": {"provider": "s3", "endpoint": "https://s3.example.com", "bucket": "b"},
    },
    "upgrade": {
        "blueGreen": {
            "preUpgradeSnapshot": True,
            "maxJobFailures": 2,
            "verification": {"prePromotionHook": {"image": "registry.example.com/check:1"}},
        }
    },
}


def succeeds(world: TwoPools) -> None:
    world.done()


def fails_early(world: TwoPools) -> None:
    world.fails[upgrade_actions.WAIT] = FOR_EVER
    world.drive(120)


def fails_late(world: TwoPools) -> None:
    world.fails[upgrade_actions.DEMOTE] = FOR_EVER
    world.drive(120)


def needs_a_person(world: TwoPools) -> None:
    world.fails[upgrade_actions.DEMOTE] = FOR_EVER
    world.fails[upgrade_actions.REPAIR] = 2
    world.drive(120)
    world.edit(breakGlassAck=world.status["breakGlass"]["nonce"])
    world.drive(60)


def whole(story: Callable[[TwoPools], None]) -> TwoPools:
    world = TwoPools(**EVERYTHING)
    story(world)
    return world


Story = Callable[[TwoPools], None]
NAMED: dict[str, Story] = {
    "succeeds": succeeds,
    "fails-early": fails_early,
    "fails-late": fails_late,
    "needs-a-person": needs_a_person,
}
UNDISTURBED: dict[Story, TwoPools] = {story: whole(story) for story in NAMED.values()}
SWEEP = [
    pytest.param(story, nth, id=f"{name}-{nth}")
    for name, story in NAMED.items()
    for nth in range(1, UNDISTURBED[story].writes + 1)
]


class TestCrashes:
    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    @pytest.mark.parametrize(("story", "nth"), SWEEP)
    def test_a_crash_at_any_write_does_not_change_the_result(
        self, story: Callable[[TwoPools], None], nth: int, after: bool
    ) -> None:
        world, model = TwoPools(nth, after=after, **EVERYTHING), UNDISTURBED[story]
        story(world)
        assert world.writes >= nth
        assert world.phases == model.phases
        assert len(world.flips) == len(model.flips)
        assert world.actions() == model.actions()
        assert len({name for name, _ in world.created_jobs}) == len(world.created_jobs)
        assert len(world.ran) == len(model.ran) <= 1
        assert len(world.backups) == 1
        assert world.release == model.release
        assert world.raft.keys() == model.raft.keys()

    def test_the_undisturbed_runs_end_as_expected(self) -> None:
        assert UNDISTURBED[succeeds].release == NEW
        assert len(UNDISTURBED[succeeds].flips) == 1
        for story in (fails_early, fails_late, needs_a_person):
            as_before(UNDISTURBED[story])
        assert UNDISTURBED[needs_a_person].event_reasons.count("BreakGlassEntered") == 1


def snapshots_fail(world: TwoPools) -> None:
    world.backup_ends = "Failed"
    world.drive(120)


def is_reverted(world: TwoPools) -> None:
    world.to("Syncing").edit(version=OLD)
    world.drive(120)


def is_reverted_at_once(world: TwoPools) -> None:
    world.drive(until=lambda: bool(world.lock)).edit(version=OLD)
    world.drive(120)


def is_rolled_back(world: TwoPools) -> None:
    world.to("DemotingBlue").order(rollback="now")
    world.drive(120)


class TestOneWritePerLife:
    @pytest.mark.parametrize(
        "story", [*NAMED.values(), snapshots_fail, is_reverted, is_reverted_at_once, is_rolled_back]
    )
    def test_an_operator_that_crashes_after_each_write_ends_the_upgrade(
        self, story: Callable[[TwoPools], None]
    ) -> None:
        model, world = TwoPools(**EVERYTHING), TwoPools(**EVERYTHING)
        world.one_write_per_life = True
        story(model)
        story(world)
        assert world.phases == model.phases
        assert world.known.phase == "Idle"
        assert (world.release, world.lock) == (model.release, "")
        assert world.raft.keys() == model.raft.keys()
        assert world.actions() == model.actions()
        writes = world.writes
        world.drive(60)
        assert world.writes == writes


EVENTS = ("crash", "crash-after", "election", "fail", "order", "edit", "pause", "unready")
MISHAPS = some.lists(
    some.tuples(some.integers(0, 6), some.sampled_from(EVENTS), some.integers(0, 20)), max_size=12
)


def befall(world: TwoPools, event: str, number: int) -> None:
    """Cause one failure, after the earlier ones have ended."""
    world.leaderless = event == "election"
    world.unready = {f"x-{world.revision}-{number % 2}"} if event == "unready" else set()
    if event.startswith("crash"):
        world.crash_at, world.after = world.writes + 1 + number % 3, event == "crash-after"
    elif event == "fail":
        actions = sorted({*ACTIONS.values()})
        world.fails[actions[number % len(actions)]] = 1 + number % 7
    elif event == "order":
        order = ("retry", "promote", "rollback")[number % 3]
        world.order(**{order: f"number-{number}"})
    elif event == "edit":
        world.edit(version=(OLD, NEW, "2.4.2")[number % 3], replicas=(3, 5)[number % 2])
    elif event == "pause":
        world.edit(paused=not world.spec.get("paused", False))


def settle(world: TwoPools) -> None:
    """Drive until no write happens for longer than blue is kept."""
    quiet = 0
    while quiet < 45:
        writes = world.writes
        world.drive(1)
        quiet = quiet + 1 if world.writes == writes else 0


def calm(world: TwoPools) -> None:
    """End all failures, and acknowledge break glass as a user."""
    world.leaderless, world.unready, world.fails, world.crash_at = False, set(), {}, 0
    world.edit(paused=False)
    for number in range(4):
        glass = world.status.get("breakGlass", {})
        if glass.get("active"):
            world.edit(breakGlassAck=glass["nonce"])
        world.order(retry=f"calm-{number}")
        settle(world)


class TestMishaps:
    @given(MISHAPS)
    @example([(5, "fail", 14), (6, "election", 0), (6, "crash", 1), (6, "order", 2)])
    @settings(max_examples=60)
    def test_any_sequence_of_failures_ends_with_a_complete_cluster(
        self, mishaps: list[tuple[int, str, int]]
    ) -> None:
        """TwoPools checks after every change that a majority of the voters runs."""
        world = TwoPools()
        for passes, event, number in mishaps:
            befall(world, event, number)
            world.drive(passes)
        calm(world)
        voters = {pod for pod, votes in world.raft.items() if votes}
        assert world.known.phase == "Idle"
        assert voters == set(world.raft)
        assert len(world.sets) == 1
        assert world.traffic == (world.known.blue_revision or "")
        assert set(world.claims) == {f"data-{pod}" for pod in world.raft}
        assert world.lock == ""
        writes = world.writes
        world.drive(20)
        assert world.writes == writes
