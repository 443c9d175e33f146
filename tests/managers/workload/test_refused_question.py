"""A refused quorum read: no server is replaced or removed."""

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.conditions.reasons_workload import QUESTION_REFUSED
from contracts.records.desired import Plan
from contracts.records.effects import MarkLog
from contracts.records.observed import Quorum
from managers.workload.rollout.fencing import FENCING, fence
from managers.workload.rollout.next_pod import YOUNG, next_action
from managers.workload.rollout.quorum import QUESTION_RECHECK
from managers.workload.scale.voters import BLOCKED, scale
from runtime.outcome import Blocked, Wait
from tests import gen
from tests.managers.workload import read_worlds
from tests.managers.workload.plans import digest, plan_workload, serving
from tests.managers.workload.scale_worlds import FIVE, ONE, THREE, servers

WHY = "sys/storage/raft/configuration answered 403: permission denied: give the policy the right"
REFUSED = Quorum(error=WHY, refused_path="sys/storage/raft/configuration")
OLD = tuple(gen.pod(n).with_template("old").ready(leading=n == 0) for n in range(3))


def world(*pods: gen.Pod, quorum: Quorum | None = REFUSED) -> gen.World:
    return serving().with_pods(*(pods or OLD)).with_client_config().with_quorum(quorum)


def effects_of(plan: Plan) -> str:
    return " ".join(f"{effect.name} {effect.target}" for effect in plan.effects)


def wait_of(plan: Plan) -> Wait:
    assert isinstance(plan.outcome, Wait)
    assert plan.outcome.after is not None
    return plan.outcome


class TestRoll:
    def test_no_pod_is_replaced_and_the_message_says_why(self) -> None:
        assert plan_workload(THREE, world()).effects == ()
        for there in (world(), world().rolling_for(timedelta(hours=1))):
            plan = plan_workload(THREE, there)
            assert "replace-pod" not in effects_of(plan)
            waits = wait_of(plan)
            assert (waits.reason, waits.after) == (QUESTION_REFUSED, QUESTION_RECHECK)
            assert WHY in waits.message
            # Servers that wait for long reload a newer certificate meanwhile.
            assert gen.present(plan.operation).kind == "Rolling"
        # Without a login the pods decide.
        assert effects_of(plan_workload(THREE, world(quorum=None))) == "replace-pod x-2"

    def test_the_leader_is_not_asked_to_step_down(self) -> None:
        pods = (OLD[0], *(gen.pod(n).with_template(digest()).ready() for n in (1, 2)))
        facts = world(*pods).facts()
        action = next_action(facts, facts.pods[:1], 3)
        assert (action.kind, action.reason) == ("hold", QUESTION_REFUSED)

    def test_a_server_that_is_down_is_still_replaced(self) -> None:
        down = gen.pod(2).with_template("old").waiting("CrashLoopBackOff")
        assert effects_of(plan_workload(THREE, world(*OLD[:2], down))) == "replace-pod x-2"

    def test_a_single_server_is_still_replaced(self) -> None:
        alone = serving(1, template="old").with_quorum(REFUSED)
        assert effects_of(plan_workload(ONE, alone)) == "replace-pod x-0"

    def test_a_missing_response_is_reported_as_before(self) -> None:
        plan = plan_workload(THREE, world(quorum=Quorum(error="no answer")))
        assert wait_of(plan).reason == "RollingOut"


# The log mark, which shows that a new pod follows, may be refused too.
YOUNG_ONE = gen.pod(1).with_template("new").ready().born(timedelta(seconds=5))
YOUNG_TWO = gen.pod(2).with_template("new").ready().born(timedelta(seconds=5))
# sentence: (pods, number of outdated pods, the action)
PROOFS = {
    "a refused mark holds the next pod": ((*OLD[:2], YOUNG_TWO), 2, "hold x-1"),
    "a refused mark holds the leader": ((OLD[0], YOUNG_ONE, YOUNG_TWO), 1, "hold x-0"),
    "a reached pod continues the rollout": ((*OLD[:2], YOUNG_TWO.born(YOUNG)), 2, "replace x-1"),
}


@pytest.mark.parametrize(("pods", "outdated", "expected"), PROOFS.values(), ids=PROOFS)
def test_a_refused_log_mark_holds_the_rollout(
    pods: tuple[gen.Pod, ...], outdated: int, expected: str
) -> None:
    there = world(*pods, quorum=servers(3).facts().quorum)
    for uid in ("uid-x-1", "uid-x-2"):
        there = there.with_attempt(MarkLog.name, uid, refused="no")
    facts = there.facts()
    action = next_action(facts, facts.pods[:outdated], 3)
    assert f"{action.kind} {gen.present(action.pod).name}" == expected
    assert expected != "hold x-1" or "x-2" in action.why


def test_no_server_is_removed_and_the_path_is_named() -> None:
    there = replace(servers(3), quorum=REFUSED)
    size = scale(gen.resolved(ONE, there.world), there.facts())
    assert (size.replicas, size.effects) == (3, ())
    assert isinstance(size.outcome, Blocked)
    assert size.outcome.reason == BLOCKED
    assert WHY in size.outcome.message
    assert "set spec.replicas to 3" in size.outcome.message


def test_no_server_starts_with_a_volume_of_unknown_membership() -> None:
    there = replace(servers(3).volumes(*range(5), owner_uid="uid-x"), quorum=REFUSED)
    size = scale(gen.resolved(FIVE, there.world), there.facts())
    assert size.replicas == 3
    assert isinstance(size.outcome, Wait)
    assert size.outcome.reason == QUESTION_REFUSED
    assert WHY in size.outcome.message


def test_no_server_is_fenced() -> None:
    cluster = THREE.with_spec(fencedPods=["x-2"])
    live = gen.stateful_set().with_gates()
    facts = world().with_set(live).facts()
    fence_decision = fence(gen.resolved(cluster), facts)
    assert fence_decision.effects == ()
    assert isinstance(fence_decision.outcome, Wait)
    assert fence_decision.outcome.reason == FENCING
    assert WHY in fence_decision.outcome.message
    assert fence_decision.outcome.after == QUESTION_RECHECK


class TestReadReplicas:
    def there(self, quorum: Quorum | None, template: str = "") -> gen.World:
        return read_worlds.serving(template=template).with_quorum(quorum)

    def test_a_read_replica_with_an_unknown_vote_is_not_replaced(self) -> None:
        plan = read_worlds.plan_read_pool(read_worlds.TWO, self.there(REFUSED, "old"))
        assert read_worlds.effect_names(plan) == []
        waits = wait_of(plan.plan)
        assert waits.reason == QUESTION_REFUSED
        assert "whether it has a vote" in waits.message
        assert WHY in waits.message
        silent = self.there(Quorum(error="no answer"), "old")
        plan = read_worlds.plan_read_pool(read_worlds.TWO, silent)
        assert read_worlds.effect_names(plan) == []
        assert wait_of(plan.plan).reason == "LeaderUnknown"
        # Without a login the read replicas are replaced.
        plan = read_worlds.plan_read_pool(read_worlds.TWO, self.there(None, "old"))
        assert read_worlds.effect_names(plan) == [("replace-pod", "x-read-1")]

    def test_no_read_replica_is_removed_while_it_may_stay_a_member(self) -> None:
        plan = read_worlds.plan_read_pool(read_worlds.ONE, self.there(REFUSED)).plan
        assert plan.intents[0].body["spec"]["replicas"] == 2
        assert wait_of(plan).reason == QUESTION_REFUSED
        assert WHY in wait_of(plan).message
