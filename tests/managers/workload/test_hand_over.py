"""managers.workload.rollout.next_pod: a leader steps down before its pod is replaced (I06, I07)."""

from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.records.effects import MarkLog, StepDown
from contracts.records.observed import Quorum, RaftServer
from contracts.records.upgrade import UpgradeFacts
from managers.workload.rollout.next_pod import (
    JOB_STARTS,
    STEP_DOWN_AGAIN,
    STEP_DOWN_SLEEP,
    YOUNG,
    RolloutAction,
    next_action,
)
from tests import gen

LEAD = gen.pod(0).with_template("old").ready(leading=True)
NEW_ONE = gen.pod(1).with_template("new").ready()
NEW_TWO = gen.pod(2).with_template("new").ready()
LAST_IS_OLD = (LEAD, NEW_ONE, NEW_TWO)
WELL = Quorum(tuple(RaftServer(f"x-{n}", True, True) for n in range(3)), failure_tolerance=1)


def move(world: gen.World, size: int = 3) -> RolloutAction:
    observed = world.facts()
    outdated = [pod for pod in observed.pods if pod.template != "new"]
    return next_action(observed, outdated, size)


def world(*pods: gen.Pod, quorum: Quorum | None = WELL) -> gen.World:
    live = gen.stateful_set().with_template("new")
    return gen.world().with_set(live).with_pods(*pods).with_quorum(quorum)


def action_text(action: RolloutAction) -> str:
    return f"{action.kind} {action.pod.name}" if action.pod else action.kind


class Row(NamedTuple):
    world: gen.World
    expected: str
    why: str = ""


LAST = world(*LAST_IS_OLD)
FOLLOWED = LEAD.with_server_labels(active="false")
SECONDS = timedelta(seconds=5)
FOLLOWER_ILL = Quorum((*WELL.servers[:2], RaftServer("x-2", True, False)), failure_tolerance=0)
ROWS = {
    "the leader is replaced last and steps down first": Row(LAST, "step-down x-0"),
    "the former leader is replaced once another server leads": Row(
        world(FOLLOWED, NEW_ONE.with_server_labels(active="true"), NEW_TWO), "replace x-0"
    ),
    "no pod is replaced without a leader": Row(world(FOLLOWED, NEW_ONE, NEW_TWO), "rest"),
    "step-down is not repeated immediately": Row(
        LAST.with_attempt(StepDown.name, "uid-x-0", SECONDS), "hold x-0", "step down"
    ),
    "step-down is repeated later": Row(
        LAST.with_attempt(StepDown.name, "uid-x-0", STEP_DOWN_AGAIN), "step-down x-0"
    ),
    "after a refused step-down the leader is replaced": Row(
        LAST.with_attempt(StepDown.name, "uid-x-0", refused="403"), "replace x-0"
    ),
    "without a login the leader is replaced": Row(world(*LAST_IS_OLD, quorum=None), "replace x-0"),
    "an unhealthy follower holds the step-down": Row(
        world(*LAST_IS_OLD, quorum=FOLLOWER_ILL), "hold x-0", "x-2"
    ),
}

# No pod is replaced before the leader has reached the last replaced pod.
OLD_ONE = gen.pod(1).with_template("old").ready()
BORN = NEW_TWO.born(SECONDS)
TWO_NEW = world(LEAD, NEW_ONE.born(timedelta(seconds=30)), BORN)
FORMER = gen.pod(0).with_template("old").ready()
LATE = Quorum((*WELL.servers[:2], RaftServer("x-2", True, True, follows=False)), 1)
ILL = Quorum((*WELL.servers[:2], RaftServer("x-2", True, False, follows=False)), 0)
ONE_LATE = Quorum(
    (WELL.servers[0], RaftServer("x-1", True, True, follows=False), WELL.servers[2]), 1
)
ROWS |= {
    "new: the leader writes a log mark first": Row(
        world(LEAD, OLD_ONE, BORN), "mark x-2", "x-2 is new"
    ),
    "new: the next pod is replaced after the mark": Row(
        world(LEAD, OLD_ONE, BORN).with_attempt(MarkLog.name, "uid-x-2"), "replace x-1"
    ),
    "new: the next pod waits until the new one follows": Row(
        world(LEAD, OLD_ONE, BORN, quorum=LATE).with_attempt(MarkLog.name, "uid-x-2"), "hold x-1"
    ),
    "new: a leader steps down if another server can lead": Row(
        world(LEAD, NEW_ONE, BORN, quorum=ILL), "step-down x-0"
    ),
    "new: a leader does not step down without a mark": Row(TWO_NEW, "mark x-1"),
    "new: a leader steps down after the mark": Row(
        TWO_NEW.with_attempt(MarkLog.name, "uid-x-1"), "step-down x-0"
    ),
    "new: a leader does not step down if the marked server lags": Row(
        world(LEAD, NEW_ONE, BORN, quorum=ONE_LATE).with_attempt(MarkLog.name, "uid-x-2"),
        "hold x-0",
    ),
    "new: the former leader waits until the newest pod follows": Row(
        world(FORMER, NEW_ONE.with_server_labels(active="true"), BORN, quorum=LATE).with_attempt(
            MarkLog.name, "uid-x-2"
        ),
        "hold x-0",
    ),
    "new: a pod that runs for a minute needs no mark": Row(
        world(LEAD, OLD_ONE, NEW_TWO.born(YOUNG)), "replace x-1"
    ),
    "new: no mark without a login": Row(world(LEAD, OLD_ONE, BORN, quorum=None), "replace x-1"),
}

# The leader and a follower have different versions, so the follower reports no health.
HOUR_OLD = NEW_TWO.born(timedelta(hours=1))
BY_LOG = RaftServer("x-2", True, True, judged_by_log=True)
MIXED = world(LEAD, OLD_ONE, HOUR_OLD, quorum=Quorum((*WELL.servers[:2], BY_LOG), 1))
BEHIND = Quorum((*WELL.servers[:2], replace(BY_LOG, healthy=False, follows=False)), 1)
BOTH_BY_LOG = Quorum((WELL.servers[0], *(replace(BY_LOG, node_id=f"x-{n}") for n in (1, 2))), 1)
UNPROVEN = world(LEAD, NEW_ONE, HOUR_OLD, quorum=BOTH_BY_LOG)
ROWS |= {
    "mixed: a mark checks the log of the follower": Row(MIXED, "mark x-2"),
    "mixed: an old mark is repeated": Row(
        MIXED.with_attempt(MarkLog.name, "uid-x-2", YOUNG), "mark x-2"
    ),
    "mixed: the next pod is replaced after the mark": Row(
        MIXED.with_attempt(MarkLog.name, "uid-x-2", SECONDS), "replace x-1"
    ),
    "mixed: the next pod waits while the log is behind": Row(
        world(LEAD, OLD_ONE, HOUR_OLD, quorum=BEHIND).with_attempt(
            MarkLog.name, "uid-x-2", SECONDS
        ),
        "hold x-1",
        "x-2",
    ),
    "mixed: a refused mark holds the rollout": Row(
        MIXED.with_attempt(MarkLog.name, "uid-x-2", SECONDS, "403"),
        "hold x-1",
        "403. The operator retries every 60 s",
    ),
    "mixed: a refused mark is retried": Row(
        MIXED.with_attempt(MarkLog.name, "uid-x-2", YOUNG, "403"), "mark x-2"
    ),
    "mixed: a leader does not step down without a mark": Row(UNPROVEN, "mark x-1"),
    "mixed: a leader steps down after the mark": Row(
        UNPROVEN.with_attempt(MarkLog.name, "uid-x-2", SECONDS), "step-down x-0"
    ),
}

# A broken pod must not block the change that repairs it.
DOWN = gen.pod(2).with_template("old").waiting("ImagePullBackOff")
ROWS |= {
    "broken: a pod that is down is replaced while another is unready": Row(
        world(LEAD, NEW_ONE.unready(), DOWN), "replace x-2"
    ),
    "broken: an unready pod with a vote is not replaced while another is unready": Row(
        world(LEAD, NEW_ONE.unready(), gen.pod(2).with_template("old").ready().unready()), "rest"
    ),
    "broken: a new pod that does not run stops the rollout": Row(
        world(LEAD, OLD_ONE, NEW_TWO.unready().waiting("CrashLoopBackOff")), "rest"
    ),
    "a pod that cannot start is replaced immediately": Row(
        world(LEAD.with_template("new"), NEW_ONE, DOWN.born(timedelta(seconds=1))), "replace x-2"
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_row(row: Row) -> None:
    action = move(row.world)
    assert action_text(action) == row.expected
    assert row.why in action.why


def test_a_single_server_does_not_step_down() -> None:
    alone = world(LEAD, quorum=Quorum((RaftServer("x-0", True, True),), 0))
    action = move(alone.with_set(gen.stateful_set().with_replicas(1).with_template("new")), 1)
    assert action.kind == "replace"


@st.composite
def any_quorum(draw: st.DrawFn) -> Quorum | None:
    if draw(st.integers(0, 4)) == 0:
        return None
    if draw(st.integers(0, 4)) == 0:
        return Quorum(error="no answer")
    servers = tuple(
        RaftServer(f"x-{n}", draw(st.integers(0, 5)) > 0, draw(st.integers(0, 5)) > 0)
        for n in range(draw(st.integers(1, 5)))
    )
    healthy = sum(server.voter and server.healthy for server in servers)
    voters = sum(server.voter for server in servers)
    return Quorum(servers, max(0, healthy - (voters // 2 + 1)))


@settings(deadline=None, max_examples=300)
@given(
    any_quorum(),
    st.lists(st.sampled_from(["ready", "unready", "down", "going"]), min_size=1, max_size=5),
    st.integers(0, 4),
    st.data(),
)
def test_a_replacement_never_breaks_the_majority(
    quorum: Quorum | None, states: list[str], leader: int, data: st.DataObject
) -> None:
    """Rule I06: a voter is replaced only if the others are a majority without it."""
    pods = []
    for ordinal, state in enumerate(states):
        pod = gen.pod(ordinal).with_template(data.draw(st.sampled_from(["old", "new"])))
        pod = pod.ready(leading=ordinal == leader)
        pods.append(
            {
                "ready": pod,
                "unready": pod.unready(),
                "down": pod.unready().waiting("CrashLoopBackOff"),
                "going": pod.terminating(),
            }[state]
        )
    size = len(pods)
    action = move(world(*pods, quorum=quorum), size)
    if (
        action.kind not in ("replace", "step-down")
        or action.pod is None
        or quorum is None
        or size < 3
    ):
        return
    assert "going" not in states
    if not action.pod.ready and action.pod.waiting:
        return
    assert not quorum.error
    voters = [server for server in quorum.servers if server.voter]
    others = sum(server.healthy for server in voters if server.node_id != action.pod.name)
    counts = any(server.healthy for server in voters if server.node_id == action.pod.name)
    assert others >= len(voters) // 2 + 1 or not counts
    if action.pod.ready:
        assert all(pod.is_ready for pod in pods)
        assert len(voters) == size


@pytest.mark.parametrize("ordinal", [0, 1, 2])
def test_a_rollout_ends_with_the_former_leader(ordinal: int) -> None:
    """The leader is replaced last, after another server leads; each pod is replaced once."""
    leader, old, gone = ordinal, {0, 1, 2}, []
    for _ in range(20):
        pods = [
            gen.pod(n).with_template("old" if n in old else "new").ready(leading=n == leader)
            for n in range(3)
        ]
        action = move(world(*pods))
        if action.pod is None:
            break
        if action.kind == "step-down":
            leader = (leader + 1) % 3
            assert leader not in old, "an outdated server must not become the leader"
            continue
        assert action.pod.ordinal != leader
        old.discard(action.pod.ordinal)
        gone.append(action.pod.ordinal)
    assert gone[-1] == ordinal
    assert sorted(gone) == [0, 1, 2]


# A server that stepped down cannot shut down for ten seconds.
FORMER_LEADER = (FORMER, NEW_ONE.with_server_labels(active="true"), NEW_TWO)


def test_the_former_leader_is_replaced_after_its_step_down_time() -> None:
    there = world(*FORMER_LEADER)
    assert move(there).kind == "replace", "no step-down was requested"
    state = there.with_attempt(StepDown.name, "uid-x-0", ago=STEP_DOWN_SLEEP / 2)
    assert (move(state).kind, move(state).why[:18]) == ("hold", "x-0 stepped down, ")
    awake = there.with_attempt(StepDown.name, "uid-x-0", ago=STEP_DOWN_SLEEP)
    assert action_text(move(awake)) == "replace x-0"


def test_a_leader_that_a_job_stepped_down_is_replaced_likewise() -> None:
    facts = world(*FORMER_LEADER).facts()
    late = STEP_DOWN_SLEEP + JOB_STARTS
    for ago, kind in ((late - timedelta(seconds=1), "hold"), (late, "replace")):
        new_facts = replace(facts, upgrade=UpgradeFacts(step_down_requested_at=facts.now - ago))
        old = [pod for pod in new_facts.pods if pod.template == "old"]
        assert next_action(new_facts, old, 3).kind == kind


@pytest.mark.parametrize(
    ("age", "kind"), [(1, "hold"), (4, "hold"), (5, "replace"), (60, "replace")]
)
def test_a_pod_that_has_just_started_is_not_deleted(age: int, kind: str) -> None:
    """It would ignore SIGTERM until its grace period ends."""
    starting = gen.pod(2).with_template("old").born(timedelta(seconds=age))
    action = move(world(LEAD.with_template("new"), NEW_ONE, starting))
    assert action_text(action) == f"{kind} x-2"
