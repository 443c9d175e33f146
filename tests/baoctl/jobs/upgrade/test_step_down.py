"""A leader gets one step-down request, even if its response is lost."""

from pathlib import Path

import pytest

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.upgrade.context import StepFailure
from baoctl.jobs.upgrade.step_down import step_down
from managers.bao.client import BaoError, Denied
from tests.baoctl.jobs.fake_raft import ImmediateClock, Raft

ASKED = ["step-down c-0"]


def elects(raft: Raft, pod: str, clock: ImmediateClock, after: float) -> None:
    """Let a pod become the leader some seconds after the step-down request."""

    def begin() -> None:
        raft.leader = ""
        clock.later.append((clock.monotonic() + after, lambda: setattr(raft, "leader", pod)))

    raft.on_step_down = begin


@pytest.mark.parametrize(
    ("pod", "words"),
    [("c-2", "c-0 handed over to c-2"), ("c-0", "c-0 stepped down, and was elected again")],
    ids=["another one", "the same once more"],
)
async def test_a_step_down_ends_with_the_next_election(
    tmp_path: Path, pod: str, words: str
) -> None:
    raft, clock = Raft(), ImmediateClock()
    elects(raft, pod, clock, 2.0)
    assert await step_down(raft.work(tmp_path, clock, target="c-0")) == words
    assert raft.requests == ASKED
    assert clock.monotonic() < 10.0


@pytest.mark.parametrize("silent", [set(), {"c-0"}], ids=["answers", "silent"])
async def test_a_standby_gets_no_step_down(tmp_path: Path, silent: set[str]) -> None:
    raft = Raft(leader="c-1", silent=silent)
    words = "c-0 does not lead; nothing was done"
    assert await step_down(raft.work(tmp_path, target="c-0")) == words
    assert raft.requests == []


async def test_no_step_down_without_a_leader(tmp_path: Path) -> None:
    raft = Raft(leader="", silent={"c-0"})
    with pytest.raises(JobFailure, match="c-0: no answer; c-1: a standby") as caught:
        await step_down(raft.work(tmp_path, target="c-0"))
    assert caught.value.failure == "LeaderDiscovery"
    assert raft.requests == []


async def test_a_step_down_without_a_new_leader_fails(tmp_path: Path) -> None:
    raft, clock = Raft(), ImmediateClock()
    with pytest.raises(StepFailure, match="no server leads after the step-down of c-0") as caught:
        await step_down(raft.work(tmp_path, clock, target="c-0"))
    assert (caught.value.failure, caught.value.exit_code) == ("StepDown", 7)
    assert raft.requests == ASKED
    assert clock.monotonic() >= 60.0


@pytest.mark.parametrize("goes", [True, False], ids=["the answer", "the question"])
async def test_only_a_lost_request_is_repeated(tmp_path: Path, goes: bool) -> None:
    raft = Raft()

    def lose() -> None:
        if goes or len(raft.requests) == 2:
            raft.leader = "c-1"
        if len(raft.requests) == 1:
            raise BaoError("cut off")

    raft.on_step_down = lose
    assert await step_down(raft.work(tmp_path, target="c-0")) == "c-0 handed over to c-1"
    assert raft.requests == (ASKED if goes else ASKED * 2)


async def test_a_denied_step_down_is_reported(tmp_path: Path) -> None:
    raft = Raft()

    def refuse() -> None:
        raise Denied("sys/step-down answered 403: permission denied", 403)

    raft.on_step_down = refuse
    with pytest.raises(JobFailure, match="permission denied") as caught:
        await step_down(raft.work(tmp_path, target="c-0"))
    assert caught.value.failure == "Authentication"
