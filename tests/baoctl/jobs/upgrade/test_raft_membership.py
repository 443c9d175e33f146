"""Votes move between the pools: the requests, those that are not repeated, and unsafe ones.

tests/integration/test_upgrade_job_sets.py has real servers.
"""

from pathlib import Path
from typing import Any

import pytest

from baoctl.jobs.upgrade.context import Action, StepFailure
from baoctl.jobs.upgrade.raft_membership import (
    demote_blue,
    join_green,
    promote_green,
    repair,
    wait_for_green,
)
from baoctl.jobs.upgrade.remove_peers import remove_blue, remove_green
from tests.baoctl.jobs.fake_raft import ImmediateClock, Raft

BLUE, GREEN = ("c-0", "c-1", "c-2"), ("c-10", "c-g-1", "c-g-2")
SETS: dict[str, Any] = {"blue": BLUE, "green": GREEN}


def all_vote(**more: Any) -> Raft:
    return Raft(voters={*BLUE, *GREEN}, **more)


def blue_votes(**more: Any) -> Raft:
    return Raft(voters={*BLUE}, others={*GREEN}, **more)


def green_votes(**more: Any) -> Raft:
    return Raft(leader="c-10", voters={*GREEN}, others={*BLUE}, **more)


async def test_only_missing_servers_join(tmp_path: Path) -> None:
    raft = Raft(others={"c-10"})
    assert await join_green(raft.work(tmp_path, **SETS)) == "c-g-1, c-g-2 joined"
    assert raft.requests == [f"join {pod} to https://c-0:8200" for pod in GREEN[1:]]
    assert raft.voters == {*BLUE}


async def test_a_server_with_other_data_does_not_become_a_member(tmp_path: Path) -> None:
    class Deaf(Raft):
        async def join(self, address: str, order: Any) -> bool:
            return False

    with pytest.raises(StepFailure, match="c-10, c-g-1, c-g-2 did not become members"):
        await join_green(Deaf().work(tmp_path, **SETS))


async def test_demotion_of_blue_ends_with_the_leader(tmp_path: Path) -> None:
    raft = all_vote()
    raft.on_step_down = lambda: setattr(raft, "leader", "c-g-1")
    await demote_blue(raft.work(tmp_path, **SETS))
    assert raft.requests == ["demote c-1", "demote c-2", "step-down c-0", "demote c-0"]


async def test_a_leader_that_is_elected_again_steps_down_again(tmp_path: Path) -> None:
    """Green may lose the leadership that it just got, on a busy node."""
    raft, clock = all_vote(), ImmediateClock()
    successors = iter(("c-0", "c-g-1"))

    def make_way() -> None:
        raft.leader, then = "", next(successors)
        clock.later.append((clock.monotonic() + 2.0, lambda: setattr(raft, "leader", then)))

    raft.on_step_down = make_way
    await demote_blue(raft.work(tmp_path, clock, **SETS))
    calls = ["demote c-1", "demote c-2", "step-down c-0", "step-down c-0", "demote c-0"]
    assert raft.requests == calls
    assert clock.monotonic() < 30.0


async def test_a_rollback_promotes_blue_before_it_demotes_green(tmp_path: Path) -> None:
    raft = green_votes()
    raft.on_step_down = lambda: setattr(raft, "leader", "c-2")
    await repair(raft.work(tmp_path, **SETS))
    promotions = [f"promote {pod}" for pod in BLUE]
    demotions = ["demote c-g-1", "demote c-g-2", "step-down c-10", "demote c-10"]
    assert raft.requests == [*promotions, *demotions]
    assert (raft.voters, raft.others) == ({*BLUE}, {*GREEN})


def versions_of(blue: str, green: str) -> dict[str, str]:
    return {**dict.fromkeys(BLUE, blue), **dict.fromkeys(GREEN, green)}


async def test_green_stays_leader_if_blue_has_an_older_release(tmp_path: Path) -> None:
    """No vote moves: a server of 2.6 that is elected after one of 2.7 never becomes active."""
    raft = green_votes(versions=versions_of("2.6.2", "2.7.2"))
    with pytest.raises(StepFailure, match=r"c-10 \(2.7.2\) keeps the leadership") as caught:
        await repair(raft.work(tmp_path, **SETS))
    assert caught.value.failure == "StepDown"
    assert raft.requests == []


async def test_green_stays_leader_if_elected_during_a_rollback(tmp_path: Path) -> None:
    """The leader of blue failed after the first check: its successor is not asked to step down."""

    class Failing(Raft):
        """The leader fails once a server of blue has its vote again."""

        async def promote(self, address: str, token: str, node_id: str) -> None:
            await super().promote(address, token, node_id)
            self.leader = "c-g-2"

    raft = Failing(voters={*BLUE[:2], *GREEN}, others={BLUE[2]})
    raft.versions = versions_of("2.6.2", "2.7.2")
    with pytest.raises(StepFailure, match="keeps the leadership"):
        await repair(raft.work(tmp_path, **SETS))
    assert "step-down c-g-2" not in raft.requests


@pytest.mark.parametrize("versions", [versions_of("2.7.1", "2.7.2"), versions_of("2.7.2", "2.8.0")])
async def test_blue_becomes_leader_if_its_version_is_compatible_or_unknown(
    tmp_path: Path, versions: dict[str, str]
) -> None:
    raft = green_votes(versions=versions)
    raft.on_step_down = lambda: setattr(raft, "leader", "c-2")
    await repair(raft.work(tmp_path, **SETS))
    assert raft.voters == {*BLUE}


async def test_a_newer_green_becomes_leader(tmp_path: Path) -> None:
    raft = all_vote(versions=versions_of("2.6.2", "2.7.2"))
    raft.on_step_down = lambda: setattr(raft, "leader", "c-g-1")
    await demote_blue(raft.work(tmp_path, **SETS))
    assert raft.voters == {*GREEN}


async def test_a_removal_removes_exactly_one_pool(tmp_path: Path) -> None:
    raft = green_votes()
    await remove_blue(raft.work(tmp_path, **SETS))
    assert raft.requests == [f"remove {pod}" for pod in BLUE]
    assert raft.voters == {*GREEN}
    back = blue_votes()
    await remove_green(back.work(tmp_path, **SETS))
    assert back.requests == [f"remove {pod}" for pod in GREEN]


# sentence: (servers, action, part of the error); no server gets a request
REFUSED: dict[str, tuple[Raft, Action, str]] = {
    "a member that is missing": (Raft(), wait_for_green, "did not become members"),
    "a vote for a server that is not a member": (Raft(), promote_green, "did not become members"),
    "a vote for a server that lags": (
        blue_votes(lag={"c-10": 101}),
        promote_green,
        "c-10 is 101 entries behind the leader",
    ),
    "waiting for a server that lags": (
        blue_votes(lag={"c-g-1": 101}),
        wait_for_green,
        "c-g-1 is 101",
    ),
    "no votes of green": (blue_votes(), demote_blue, "c-10, c-g-1, c-g-2 do not vote"),
    "a vote of green missing": (
        Raft(voters={*BLUE, "c-10", "c-g-1"}, others={"c-g-2"}),
        demote_blue,
        "c-g-2 do not vote; no vote was removed",
    ),
    "a quorum that would be lost": (
        all_vote(ill={"c-10", "c-g-1", "c-2"}),
        demote_blue,
        "c-1 keeps its vote: 2 of the 5 others are healthy",
    ),
    "blue was removed": (Raft(leader="c-10", voters={*GREEN}), repair, "did not become members"),
    "the removal of the pool of the leader": (
        blue_votes(),
        remove_blue,
        "c-0 leads, and is not in the remaining pool",
    ),
    "a voter": (
        Raft(leader="c-10", voters={*GREEN, "c-0"}, others={"c-1", "c-2"}),
        remove_blue,
        "c-0 votes and was not removed",
    ),
    "green voters in a rollback": (all_vote(), remove_green, "c-10 votes and was not removed"),
}


@pytest.mark.parametrize(("raft", "act", "words"), REFUSED.values(), ids=REFUSED)
async def test_an_unsafe_step_is_refused(
    tmp_path: Path, raft: Raft, act: Action, words: str
) -> None:
    with pytest.raises(StepFailure) as caught:
        await act(raft.work(tmp_path, **SETS))
    assert words in str(caught.value)
    assert raft.requests == []


DONE: dict[str, tuple[Raft, Action]] = {
    "joined": (blue_votes(), join_green),
    "promoted": (all_vote(), promote_green),
    "in sync": (blue_votes(lag={"c-10": 100}), wait_for_green),
    "demoted": (green_votes(), demote_blue),
    "removed": (Raft(leader="c-10", voters={*GREEN}), remove_blue),
    "back": (blue_votes(), repair),
    "never joined": (Raft(), remove_green),
}


@pytest.mark.parametrize(("raft", "act"), DONE.values(), ids=DONE)
async def test_a_completed_step_sends_no_requests(tmp_path: Path, raft: Raft, act: Action) -> None:
    assert await act(raft.work(tmp_path, **SETS))
    assert raft.requests == []


async def test_quorum_is_computed_without_the_removed_servers(tmp_path: Path) -> None:
    """Four of six servers are healthy: the first vote may be removed; after the second one two of
    four would be healthy."""
    raft = all_vote(ill={"c-10", "c-g-1"})
    with pytest.raises(StepFailure, match="c-2 keeps its vote: 2 of the 4 others are healthy"):
        await demote_blue(raft.work(tmp_path, **SETS))
    assert raft.requests == ["demote c-1"]


LOSSES: dict[str, tuple[Raft, Action, list[str]]] = {
    "a vote for green": (
        blue_votes(lost=["c-10"]),
        promote_green,
        ["promote c-10", "promote c-g-1", "promote c-g-2", "promote c-10"],
    ),
    "a vote of blue": (
        all_vote(leader="c-10", lost=["c-1", "c-1"]),
        demote_blue,
        ["demote c-0", "demote c-1", "demote c-2", "demote c-1", "demote c-1"],
    ),
}


@pytest.mark.parametrize(("raft", "act", "requests"), LOSSES.values(), ids=LOSSES)
async def test_a_request_lost_by_the_leader_is_repeated(
    tmp_path: Path, raft: Raft, act: Action, requests: list[str]
) -> None:
    clock = ImmediateClock()
    assert await act(raft.work(tmp_path, clock, **SETS))
    assert raft.requests == requests
    assert clock.monotonic() < 20.0


@pytest.mark.parametrize(("act", "count"), [(promote_green, 3), (demote_blue, 3)])
async def test_a_recorded_request_is_not_repeated(tmp_path: Path, act: Action, count: int) -> None:
    """The leader refuses a second one with 500, and takes ten seconds and more for the first."""
    raft = blue_votes() if act is promote_green else all_vote(leader="c-10")
    raft.slow, raft.non_voters, clock = True, set(raft.others), ImmediateClock()
    clock.later.append((clock.monotonic() + 30.0, raft.reconcile))
    assert await act(raft.work(tmp_path, clock, **SETS))
    assert len(raft.requests) == count


async def test_a_job_continues_the_work_of_an_earlier_one(tmp_path: Path) -> None:
    """The first one requested two removals; the votes are still there."""
    raft, clock = all_vote(leader="c-10", slow=True, non_voters={"c-0", "c-1"}), ImmediateClock()
    clock.later.append((clock.monotonic() + 8.0, raft.reconcile))
    await demote_blue(raft.work(tmp_path, clock, **SETS))
    assert raft.requests == ["demote c-2"]
    assert raft.voters == {*GREEN}


async def test_a_requested_demotion_is_reverted(tmp_path: Path) -> None:
    """A demotion was requested just before the rollback: c-1 still votes, and would lose it."""
    raft, clock = all_vote(slow=True, non_voters={"c-1"}), ImmediateClock()
    clock.later.append((clock.monotonic() + 8.0, raft.reconcile))
    await repair(raft.work(tmp_path, clock, **SETS))
    assert raft.requests[0] == "promote c-1"
    assert raft.voters == {*BLUE}


async def test_a_server_that_joined_as_non_voter_is_not_promoted(tmp_path: Path) -> None:
    """The leader has lost the record of the join."""
    raft = Raft(slow=True, non_voters=set())
    await join_green(raft.work(tmp_path, **SETS))
    assert raft.requests[3:] == [f"demote {pod}" for pod in GREEN]
    assert raft.non_voters == {*GREEN}
