"""Votes move from set to set: what is done, what is not done twice, and what is never done.

The whole way with real servers is in tests/integration/test_upgrade_job_sets.py.
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
from tests.baoctl.jobs.played_raft import Prompt, Raft

BLUE, GREEN = ("c-0", "c-1", "c-2"), ("c-10", "c-g-1", "c-g-2")
SETS: dict[str, Any] = {"blue": BLUE, "green": GREEN}


def all_vote(**more: Any) -> Raft:
    return Raft(voters={*BLUE, *GREEN}, **more)


def blue_votes(**more: Any) -> Raft:
    return Raft(voters={*BLUE}, others={*GREEN}, **more)


def green_votes(**more: Any) -> Raft:
    return Raft(leader="c-10", voters={*GREEN}, others={*BLUE}, **more)


async def test_only_who_is_missing_is_told_to_join(tmp_path: Path) -> None:
    raft = Raft(others={"c-10"})
    assert await join_green(raft.work(tmp_path, **SETS)) == "c-g-1, c-g-2 joined"
    assert raft.requests == [f"join {pod} to https://c-0:8200" for pod in GREEN[1:]]
    assert raft.voters == {*BLUE}


async def test_one_that_has_data_of_its_own_never_becomes_a_member(tmp_path: Path) -> None:
    class Deaf(Raft):
        async def join(self, address: str, order: Any) -> bool:
            return False

    with pytest.raises(StepFailure, match="c-10, c-g-1, c-g-2 did not become members"):
        await join_green(Deaf().work(tmp_path, **SETS))


async def test_the_way_there_demotes_the_leader_last(tmp_path: Path) -> None:
    raft = all_vote()
    raft.on_step_down = lambda: setattr(raft, "leader", "c-g-1")
    await demote_blue(raft.work(tmp_path, **SETS))
    assert raft.requests == ["demote c-1", "demote c-2", "step-down c-0", "demote c-0"]


async def test_a_leader_that_comes_back_is_asked_once_more(tmp_path: Path) -> None:
    """Green may lose the lead that it just got, on a node that is busy."""
    raft, clock = all_vote(), Prompt()
    successors = iter(("c-0", "c-g-1"))

    def make_way() -> None:
        raft.leader, then = "", next(successors)
        clock.later.append((clock.monotonic() + 2.0, lambda: setattr(raft, "leader", then)))

    raft.on_step_down = make_way
    await demote_blue(raft.work(tmp_path, clock, **SETS))
    calls = ["demote c-1", "demote c-2", "step-down c-0", "step-down c-0", "demote c-0"]
    assert raft.requests == calls
    assert clock.monotonic() < 30.0


async def test_the_way_back_gives_votes_before_it_takes_any(tmp_path: Path) -> None:
    raft = green_votes()
    raft.on_step_down = lambda: setattr(raft, "leader", "c-2")
    await repair(raft.work(tmp_path, **SETS))
    promotions = [f"promote {pod}" for pod in BLUE]
    demotions = ["demote c-g-1", "demote c-g-2", "step-down c-10", "demote c-10"]
    assert raft.requests == [*promotions, *demotions]
    assert (raft.voters, raft.others) == ({*BLUE}, {*GREEN})


def versions_of(blue: str, green: str) -> dict[str, str]:
    return {**dict.fromkeys(BLUE, blue), **dict.fromkeys(GREEN, green)}


async def test_green_keeps_the_leadership_that_blue_could_not_take(tmp_path: Path) -> None:
    """No vote moves: a server of 2.6 that is elected after one of 2.7 never becomes active."""
    raft = green_votes(versions=versions_of("2.6.2", "2.7.2"))
    with pytest.raises(StepFailure, match=r"c-10 \(2.7.2\) keeps the leadership") as caught:
        await repair(raft.work(tmp_path, **SETS))
    assert caught.value.failure == "StepDown"
    assert raft.requests == []


async def test_green_that_takes_the_lead_midway_keeps_it(tmp_path: Path) -> None:
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
async def test_blue_takes_a_leadership_that_it_may_be_able_to_take(
    tmp_path: Path, versions: dict[str, str]
) -> None:
    raft = green_votes(versions=versions)
    raft.on_step_down = lambda: setattr(raft, "leader", "c-2")
    await repair(raft.work(tmp_path, **SETS))
    assert raft.voters == {*BLUE}


async def test_the_way_there_leads_to_a_newer_release(tmp_path: Path) -> None:
    raft = all_vote(versions=versions_of("2.6.2", "2.7.2"))
    raft.on_step_down = lambda: setattr(raft, "leader", "c-g-1")
    await demote_blue(raft.work(tmp_path, **SETS))
    assert raft.voters == {*GREEN}


async def test_removal_takes_exactly_the_set(tmp_path: Path) -> None:
    raft = green_votes()
    await remove_blue(raft.work(tmp_path, **SETS))
    assert raft.requests == [f"remove {pod}" for pod in BLUE]
    assert raft.voters == {*GREEN}
    back = blue_votes()
    await remove_green(back.work(tmp_path, **SETS))
    assert back.requests == [f"remove {pod}" for pod in GREEN]


# sentence: (servers, action, words); nothing at all is asked of anybody
REFUSED: dict[str, tuple[Raft, Action, str]] = {
    "waiting for a stranger": (Raft(), wait_for_green, "did not become members"),
    "a vote for a stranger": (Raft(), promote_green, "did not become members"),
    "a vote for one that lags": (
        blue_votes(lag={"c-10": 101}),
        promote_green,
        "c-10 is 101 entries behind the leader",
    ),
    "waiting for one that lags": (blue_votes(lag={"c-g-1": 101}), wait_for_green, "c-g-1 is 101"),
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
    "the leader's own set": (
        blue_votes(),
        remove_blue,
        "c-0 leads, and is not in the remaining pool",
    ),
    "a voter": (
        Raft(leader="c-10", voters={*GREEN, "c-0"}, others={"c-1", "c-2"}),
        remove_blue,
        "c-0 votes and was not removed",
    ),
    "voters on the way back": (all_vote(), remove_green, "c-10 votes and was not removed"),
}


@pytest.mark.parametrize(("raft", "act", "words"), REFUSED.values(), ids=REFUSED)
async def test_what_is_never_done(tmp_path: Path, raft: Raft, act: Action, words: str) -> None:
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
async def test_what_is_done_is_not_done_again(tmp_path: Path, raft: Raft, act: Action) -> None:
    assert await act(raft.work(tmp_path, **SETS))
    assert raft.requests == []


async def test_the_servers_that_stay_are_counted_without_those_that_go(tmp_path: Path) -> None:
    """Four are well of six: the first vote may go, and with the second one the rest would be two
    of four."""
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
async def test_a_request_that_the_leader_lost_is_repeated(
    tmp_path: Path, raft: Raft, act: Action, requests: list[str]
) -> None:
    clock = Prompt()
    assert await act(raft.work(tmp_path, clock, **SETS))
    assert raft.requests == requests
    assert clock.monotonic() < 20.0


@pytest.mark.parametrize(("act", "count"), [(promote_green, 3), (demote_blue, 3)])
async def test_a_request_on_record_is_not_repeated(tmp_path: Path, act: Action, count: int) -> None:
    """The leader refuses a second one with 500, and takes ten seconds and more for the first."""
    raft = blue_votes() if act is promote_green else all_vote(leader="c-10")
    raft.slow, raft.non_voters, clock = True, set(raft.others), Prompt()
    clock.later.append((clock.monotonic() + 30.0, raft.reconcile))
    assert await act(raft.work(tmp_path, clock, **SETS))
    assert len(raft.requests) == count


async def test_a_job_goes_on_where_another_one_ended(tmp_path: Path) -> None:
    """The first one requested two removals; the votes are still there."""
    raft, clock = all_vote(leader="c-10", slow=True, non_voters={"c-0", "c-1"}), Prompt()
    clock.later.append((clock.monotonic() + 8.0, raft.reconcile))
    await demote_blue(raft.work(tmp_path, clock, **SETS))
    assert raft.requests == ["demote c-2"]
    assert raft.voters == {*GREEN}


async def test_a_vote_that_autopilot_is_to_remove_is_given_back(tmp_path: Path) -> None:
    """A demotion was requested just before the rollback: c-1 still votes, and would lose it."""
    raft, clock = all_vote(slow=True, non_voters={"c-1"}), Prompt()
    clock.later.append((clock.monotonic() + 8.0, raft.reconcile))
    await repair(raft.work(tmp_path, clock, **SETS))
    assert raft.requests[0] == "promote c-1"
    assert raft.voters == {*BLUE}


async def test_a_server_that_joined_without_a_vote_gets_none(tmp_path: Path) -> None:
    """The leader has lost the record of the join."""
    raft = Raft(slow=True, non_voters=set())
    await join_green(raft.work(tmp_path, **SETS))
    assert raft.requests[3:] == [f"demote {pod}" for pod in GREEN]
    assert raft.non_voters == {*GREEN}
