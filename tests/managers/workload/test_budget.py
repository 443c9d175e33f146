"""The disruption budget protects the existing voters, independent of spec.replicas."""

from dataclasses import replace

import pytest

from contracts.records.desired import Plan
from contracts.records.observed import Observed, PoolFacts
from managers.workload.plan import Inputs, plan
from managers.workload.rollout.quorum import majority
from managers.workload.rollout.reload import Files
from runtime.builtin_kinds import POD_DISRUPTION_BUDGET, STATEFUL_SET
from tests import gen
from tests.managers.workload.scale_worlds import (
    FIVE,
    ONE,
    THREE,
    TWO,
    Servers,
    pod_names,
    pods,
    raft,
    servers,
)

INPUTS = Inputs("restart", Files("config", "certificate", "authority"))
GREEN = "0123456789abcdef"
ASLEEP = gen.stateful_set().with_replicas(0)


def plan_workload(cluster: gen.Cluster, facts: Observed) -> Plan:
    return plan(gen.resolved(cluster), facts, INPUTS)


def guards(plan: Plan) -> bool:
    budgets = [intent for intent in plan.intents if intent.resource == POD_DISRUPTION_BUDGET]
    assert all(budget.body["spec"]["maxUnavailable"] == 1 for budget in budgets)
    return bool(budgets)


def size_of(plan: Plan) -> int:
    (live_set,) = [intent for intent in plan.intents if intent.resource == STATEFUL_SET]
    return int(live_set.body["spec"]["replicas"])


def with_green(world: Servers, second: int) -> Observed:
    """Add a green pool next to the first pool."""
    live = gen.stateful_set().of(GREEN).with_replicas(second)
    green = tuple(gen.pod(n).of(GREEN).ready().facts() for n in range(second))
    facts = world.facts()
    return replace(facts, green=PoolFacts(live.facts(), green))


# sentence: (what the spec asks for, what stands)
GUARDED = {
    "the requested number": (THREE, servers(3)),
    "five requested servers": (FIVE, servers(0).set_to(None)),
    "no login to remove voters": (ONE, servers(3).silent()),
    "no response of the leader": (ONE, servers(3).with_raft(error="no answer")),
    "two surplus voters": (ONE, servers(3)),
    "a removed voter that still runs": (
        TWO,
        servers(3).with_removal_marks(2).with_raft(*raft(*pod_names(2))),
    ),
    "the third pod terminates": (ONE, servers(2).pods(*pods(2), gen.pod(2).terminating())),
    "the StatefulSet is recreated around its pods": (ONE, servers(3).set_to(None)),
    "a scaled StatefulSet with its former pods": (
        ONE,
        servers(3).set_to(gen.stateful_set().with_replicas(1)),
    ),
    "two of three pods are missing": (ONE, servers(3).pods(gen.pod(0).ready())),
    "hibernation starts": (ONE.with_spec(hibernate=True), servers(3).set_to(ASLEEP)),
    "three servers resume": (ONE, servers(0).set_to(ASLEEP).volumes(0, 1, 2, owner_uid="uid-x")),
    "hibernated with three replicas": (
        THREE.with_spec(hibernate=True),
        servers(0).set_to(ASLEEP).volumes(0, 1, 2, owner_uid="uid-x"),
    ),
}


@pytest.mark.parametrize(("cluster", "world"), GUARDED.values(), ids=GUARDED)
def test_a_budget_exists_while_three_servers_run(cluster: gen.Cluster, world: Servers) -> None:
    assert guards(plan_workload(cluster, world.facts()))


LEFT_ALONE = {
    "one server": (ONE, servers(1)),
    "one requested server": (ONE, servers(0).set_to(None)),
    "two servers": (TWO, servers(2)),
    "one of two servers is removed": (ONE, servers(2)),
    "hibernated with one replica": (
        ONE.with_spec(hibernate=True),
        servers(0).set_to(ASLEEP).volumes(0, 1, 2, owner_uid="uid-x"),
    ),
    "volumes of removed servers": (ONE, servers(1).volumes(0, 1, 2)),
}


@pytest.mark.parametrize(("cluster", "world"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_below_three_servers_there_is_no_budget(cluster: gen.Cluster, world: Servers) -> None:
    assert not guards(plan_workload(cluster, world.facts()))


def test_from_five_to_three_no_eviction_costs_the_quorum() -> None:
    """All voters but one are a majority, at each number of pods and voters."""
    sizes = []
    for count, voters in ((5, 5), (5, 4), (4, 4), (4, 3), (3, 3)):
        world = servers(count).with_raft(*raft(*pod_names(voters)))
        if voters < count:
            world = world.with_removal_marks(count - 1)
        plan = plan_workload(THREE, world.facts())
        assert guards(plan)
        # The budget lets one pod go of as many as the StatefulSet wants, and it may be a voter.
        assert voters - 1 >= majority(voters)
        sizes.append(size_of(plan))
    assert sizes == [5, 4, 4, 3, 3]


def test_from_three_to_one_the_budget_is_removed_with_the_third_server() -> None:
    three = servers(3).with_removal_marks(2).with_raft(*raft(*pod_names(2)))
    plan = plan_workload(ONE, three.facts())
    # The write that takes the third one away is on its way only.
    assert (size_of(plan), guards(plan)) == (2, True)
    assert not guards(plan_workload(ONE, servers(2).facts()))


def test_servers_of_both_pools_count() -> None:
    assert guards(plan_workload(TWO, with_green(servers(2), 2)))
    assert not guards(plan_workload(ONE, with_green(servers(1), 1)))
    assert guards(plan_workload(FIVE, with_green(servers(5), 5)))
