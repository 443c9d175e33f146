"""managers.workload.rollout.next_pod: a leader hands over before its pod goes (rules I06, I07)."""

from dataclasses import replace
from datetime import timedelta

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
    next_move,
)
from tests import gen

LEAD = gen.pod(0).made_from("old").ready(leading=True)
NEW_ONE = gen.pod(1).made_from("new").ready()
NEW_TWO = gen.pod(2).made_from("new").ready()
LAST_IS_OLD = (LEAD, NEW_ONE, NEW_TWO)
WELL = Quorum(tuple(RaftServer(f"x-{n}", True, True) for n in range(3)), failure_tolerance=1)


def move(world: gen.World, size: int = 3) -> RolloutAction:
    observed = world.facts()
    outdated = [pod for pod in observed.pods if pod.template != "new"]
    return next_move(observed, outdated, size)


def world(*pods: gen.Pod, quorum: Quorum | None = WELL) -> gen.World:
    live = gen.stateful_set().made_from("new")
    return gen.world().with_set(live).with_pods(*pods).with_quorum(quorum)


def test_the_last_one_is_asked_to_step_down_first() -> None:
    made = move(world(*LAST_IS_OLD))
    assert made.kind == "step-down"
    assert gen.present(made.pod).name == "x-0"


def test_it_goes_once_another_one_leads() -> None:
    followed = LEAD.saying(active="false")
    made = move(world(followed, NEW_ONE.saying(active="true"), NEW_TWO))
    assert (made.kind, made.pod and made.pod.name) == ("replace", "x-0")


def test_it_stays_while_nobody_leads() -> None:
    made = move(world(LEAD.saying(active="false"), NEW_ONE, NEW_TWO))
    assert made.kind == "rest"


def test_it_is_not_asked_again_at_once() -> None:
    made = move(world(*LAST_IS_OLD).tried(StepDown.name, "uid-x-0", timedelta(seconds=5)))
    assert made.kind == "hold"
    assert "step down" in made.why


def test_it_is_asked_again_after_a_while() -> None:
    made = move(world(*LAST_IS_OLD).tried(StepDown.name, "uid-x-0", STEP_DOWN_AGAIN))
    assert made.kind == "step-down"


def test_one_that_may_not_be_asked_hands_over_when_it_ends() -> None:
    made = move(world(*LAST_IS_OLD).tried(StepDown.name, "uid-x-0", refused="403"))
    assert (made.kind, made.pod and made.pod.name) == ("replace", "x-0")


def test_without_a_login_the_leader_hands_over_when_it_ends() -> None:
    made = move(world(*LAST_IS_OLD, quorum=None))
    assert (made.kind, made.pod and made.pod.name) == ("replace", "x-0")


def test_a_single_server_is_not_asked() -> None:
    alone = world(LEAD, quorum=Quorum((RaftServer("x-0", True, True),), 0))
    made = move(alone.with_set(gen.stateful_set().sized(1).made_from("new")), 1)
    assert made.kind == "replace"


def test_it_leads_on_while_a_follower_is_ill() -> None:
    ill = Quorum((*WELL.servers[:2], RaftServer("x-2", True, False)), failure_tolerance=0)
    made = move(world(*LAST_IS_OLD, quorum=ill))
    assert made.kind == "hold"
    assert "x-2" in made.why


class TestNewPods:
    """Nobody goes before it is proven that the leader reaches a pod that was replaced."""

    OLD = gen.pod(1).made_from("old").ready()
    NEW = NEW_TWO.born(timedelta(seconds=5))

    def test_the_leader_writes_something_for_it_first(self) -> None:
        made = move(world(LEAD, self.OLD, self.NEW))
        assert (made.kind, made.pod and made.pod.name) == ("mark", "x-2")
        assert "x-2 is new" in made.why

    def test_then_the_next_one_goes(self) -> None:
        made = move(world(LEAD, self.OLD, self.NEW).tried(MarkLog.name, "uid-x-2"))
        assert (made.kind, made.pod and made.pod.name) == ("replace", "x-1")

    def test_not_before_it_follows(self) -> None:
        late = Quorum((*WELL.servers[:2], RaftServer("x-2", True, True, follows=False)), 1)
        made = move(world(LEAD, self.OLD, self.NEW, quorum=late).tried(MarkLog.name, "uid-x-2"))
        assert (made.kind, made.pod and made.pod.name) == ("hold", "x-1")

    def test_a_leader_steps_down_if_another_can_lead_whatever_the_newest_does(self) -> None:
        late = Quorum((*WELL.servers[:2], RaftServer("x-2", True, False, follows=False)), 0)
        made = move(world(LEAD, NEW_ONE, self.NEW, quorum=late))
        assert (made.kind, made.pod and made.pod.name) == ("step-down", "x-0")

    def test_it_does_not_while_nothing_proves_that_another_can(self) -> None:
        both = world(LEAD, NEW_ONE.born(timedelta(seconds=30)), self.NEW)
        made = move(both)
        assert (made.kind, made.pod and made.pod.name) == ("mark", "x-1")
        made = move(both.tried(MarkLog.name, "uid-x-1"))
        assert (made.kind, made.pod and made.pod.name) == ("step-down", "x-0")

    def test_it_does_not_while_the_only_proven_one_is_late(self) -> None:
        servers = (WELL.servers[0], RaftServer("x-1", True, True, follows=False), WELL.servers[2])
        late = world(LEAD, NEW_ONE, self.NEW, quorum=Quorum(servers, 1))
        made = move(late.tried(MarkLog.name, "uid-x-2"))
        assert (made.kind, made.pod and made.pod.name) == ("hold", "x-0")

    def test_the_former_leader_goes_once_the_newest_follows_the_next(self) -> None:
        now = (gen.pod(0).made_from("old").ready(), NEW_ONE.saying(active="true"), self.NEW)
        late = Quorum((*WELL.servers[:2], RaftServer("x-2", True, True, follows=False)), 1)
        made = move(world(*now, quorum=late).tried(MarkLog.name, "uid-x-2"))
        assert (made.kind, made.pod and made.pod.name) == ("hold", "x-0")

    def test_one_that_runs_for_a_minute_needs_no_proof(self) -> None:
        made = move(world(LEAD, self.OLD, NEW_TWO.born(YOUNG)))
        assert (made.kind, made.pod and made.pod.name) == ("replace", "x-1")

    def test_nothing_can_be_proven_without_a_login(self) -> None:
        made = move(world(LEAD, self.OLD, self.NEW, quorum=None))
        assert made.kind == "replace"


class TestMixedVersions:
    """The leader is of another version than a follower, and does not hear of its health."""

    OLD = gen.pod(1).made_from("old").ready()
    NEW = NEW_TWO.born(timedelta(hours=1))
    BY_LOG = RaftServer("x-2", True, True, judged_by_log=True)
    MIXED = Quorum((*WELL.servers[:2], BY_LOG), failure_tolerance=1)

    def world(self, quorum: Quorum = MIXED) -> gen.World:
        return world(LEAD, self.OLD, self.NEW, quorum=quorum)

    def test_its_log_has_to_prove_lately_that_it_follows(self) -> None:
        made = move(self.world())
        assert (made.kind, made.pod and made.pod.name) == ("mark", "x-2")
        made = move(self.world().tried(MarkLog.name, "uid-x-2", YOUNG))
        assert (made.kind, made.pod and made.pod.name) == ("mark", "x-2")

    def test_then_the_next_one_goes(self) -> None:
        made = move(self.world().tried(MarkLog.name, "uid-x-2", timedelta(seconds=5)))
        assert (made.kind, made.pod and made.pod.name) == ("replace", "x-1")

    def test_not_while_its_log_is_behind(self) -> None:
        late = replace(self.BY_LOG, healthy=False, follows=False)
        behind = self.world(replace(self.MIXED, servers=(*WELL.servers[:2], late)))
        made = move(behind.tried(MarkLog.name, "uid-x-2", timedelta(seconds=5)))
        assert (made.kind, made.pod and made.pod.name) == ("hold", "x-1")
        assert "x-2" in made.why

    def test_a_refused_proof_holds_it_and_is_tried_again(self) -> None:
        made = move(self.world().tried(MarkLog.name, "uid-x-2", timedelta(seconds=5), "403"))
        assert (made.kind, made.pod and made.pod.name) == ("hold", "x-1")
        assert "403. The operator tries again every 60 s" in made.why
        made = move(self.world().tried(MarkLog.name, "uid-x-2", YOUNG, "403"))
        assert made.kind == "mark"

    def test_a_leader_does_not_step_down_for_one_without_proof(self) -> None:
        both = tuple(replace(self.BY_LOG, node_id=f"x-{n}") for n in (1, 2))
        last = world(LEAD, NEW_ONE, self.NEW, quorum=Quorum((WELL.servers[0], *both), 1))
        assert move(last).kind == "mark"
        made = move(last.tried(MarkLog.name, "uid-x-2", timedelta(seconds=5)))
        assert (made.kind, made.pod and made.pod.name) == ("step-down", "x-0")


class TestBrokenPods:
    """A change that broke a pod must not keep the change that repairs it from it."""

    def test_one_that_does_not_run_goes_even_beside_another(self) -> None:
        down = gen.pod(2).made_from("old").waiting("ImagePullBackOff")
        made = move(world(LEAD, NEW_ONE.unready(), down))
        assert (made.kind, made.pod and made.pod.name) == ("replace", "x-2")

    def test_one_that_may_still_vote_stays_beside_another(self) -> None:
        unready = gen.pod(2).made_from("old").ready().unready()
        assert move(world(LEAD, NEW_ONE.unready(), unready)).kind == "rest"

    def test_a_new_one_that_does_not_run_stops_the_roll(self) -> None:
        down = NEW_TWO.unready().waiting("CrashLoopBackOff")
        assert move(world(LEAD, gen.pod(1).made_from("old").ready(), down)).kind == "rest"


@st.composite
def any_quorum(draw: st.DrawFn) -> Quorum | None:
    if draw(st.integers(0, 4)) == 0:
        return None
    if draw(st.integers(0, 4)) == 0:
        return Quorum(trouble="no answer")
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
def test_never_below_the_majority(
    quorum: Quorum | None, states: list[str], leader: int, data: st.DataObject
) -> None:
    """Rule I06: a server whose vote counts goes only when the others are a majority without it."""
    pods = []
    for ordinal, state in enumerate(states):
        pod = gen.pod(ordinal).made_from(data.draw(st.sampled_from(["old", "new"])))
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
    made = move(world(*pods, quorum=quorum), size)
    if made.kind not in ("replace", "step-down") or made.pod is None or quorum is None or size < 3:
        return
    assert "going" not in states
    if not made.pod.ready and made.pod.waiting:
        return
    assert not quorum.trouble
    voters = [server for server in quorum.servers if server.voter]
    others = sum(server.healthy for server in voters if server.node_id != made.pod.name)
    counts = any(server.healthy for server in voters if server.node_id == made.pod.name)
    assert others >= len(voters) // 2 + 1 or not counts
    if made.pod.ready:
        assert all(pod.is_ready for pod in pods)
        assert len(voters) == size


@pytest.mark.parametrize("ordinal", [0, 1, 2])
def test_a_whole_roll_ends_with_the_former_leader(ordinal: int) -> None:
    """Whoever leads goes last, after another one leads, and everybody goes once."""
    leader, old, gone = ordinal, {0, 1, 2}, []
    for _ in range(20):
        pods = [
            gen.pod(n).made_from("old" if n in old else "new").ready(leading=n == leader)
            for n in range(3)
        ]
        made = move(world(*pods))
        if made.pod is None:
            break
        if made.kind == "step-down":
            leader = (leader + 1) % 3
            assert leader not in old, "the lead went to a server that is still to go"
            continue
        assert made.pod.ordinal != leader
        old.discard(made.pod.ordinal)
        gone.append(made.pod.ordinal)
    assert gone[-1] == ordinal
    assert sorted(gone) == [0, 1, 2]


class TestAsleep:
    """Who stepped down cannot end for ten seconds, and answers nothing if it is told to."""

    NOW = (gen.pod(0).made_from("old").ready(), NEW_ONE.saying(active="true"), NEW_TWO)

    def test_the_former_leader_goes_when_it_is_awake(self) -> None:
        asked = world(*self.NOW).tried(StepDown.name, "uid-x-0", ago=STEP_DOWN_SLEEP / 2)
        assert (move(asked).kind, move(asked).why[:18]) == ("hold", "x-0 stepped down, ")
        awake = world(*self.NOW).tried(StepDown.name, "uid-x-0", ago=STEP_DOWN_SLEEP)
        assert (move(awake).kind, move(awake).pod and "x-0") == ("replace", "x-0")

    def test_one_that_a_job_asked_likewise(self) -> None:
        facts = world(*self.NOW).facts()
        late = STEP_DOWN_SLEEP + JOB_STARTS
        for ago, kind in ((late - timedelta(seconds=1), "hold"), (late, "replace")):
            seen = replace(facts, upgrade=UpgradeFacts(handed_over_at=facts.now - ago))
            old = [pod for pod in seen.pods if pod.template == "old"]
            assert next_move(seen, old, 3).kind == kind

    def test_one_that_was_not_asked_goes_at_once(self) -> None:
        assert move(world(*self.NOW)).kind == "replace"


@pytest.mark.parametrize(
    ("age", "kind"), [(1, "hold"), (4, "hold"), (5, "replace"), (60, "replace")]
)
def test_a_pod_that_has_just_started_is_not_told_to_end(age: int, kind: str) -> None:
    """It would not hear it, and end with its grace."""
    starting = gen.pod(2).made_from("old").born(timedelta(seconds=age))
    made = move(world(LEAD.made_from("new"), NEW_ONE, starting))
    assert (made.kind, made.pod and made.pod.name) == (kind, "x-2")


def test_one_whose_server_cannot_even_start_goes_at_once() -> None:
    stuck = gen.pod(2).made_from("old").born(timedelta(seconds=1)).waiting("ImagePullBackOff")
    made = move(world(LEAD.made_from("new"), NEW_ONE, stuck))
    assert (made.kind, made.pod and made.pod.name) == ("replace", "x-2")
