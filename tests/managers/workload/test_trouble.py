"""An unschedulable template: one pod waits, the scheduler is quoted, and a revert works."""

from datetime import timedelta

import pytest

from contracts.records.desired import Desired
from contracts.records.effects import ReplacePod, ReplaceUnstarted
from managers.cluster.plan.steps import merge_plans
from runtime.outcome import Outcome, Wait
from tests import gen
from tests.gen.worlds import digest_of, files_of, running, with_good_secrets

WORDS = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector"
GOOD = gen.cluster().initialized()
BAD = GOOD.with_spec(scheduling={"nodeSelector": {"disk": "gold"}})
PATIENCE = timedelta(minutes=6)


def wishing(cluster: gen.Cluster, *, stuck_from: gen.Cluster) -> gen.World:
    """Two healthy servers, and an unschedulable third one from the bad template."""
    digest, files = digest_of(cluster), files_of(cluster)
    pods = [
        gen.pod(n).with_template(digest_of(GOOD)).with_files(files).ready(leading=n == 0)
        for n in (0, 1)
    ]
    third = gen.pod(2).with_template(digest_of(stuck_from)).with_files(files).unschedulable(WORDS)
    live = gen.stateful_set().with_template(digest).with_files(files)
    return running(GOOD).with_set(live).with_pods(*pods, third)


def desired_of(cluster: gen.Cluster, world: gen.World) -> Desired:
    return merge_plans(gen.resolved(cluster, world), world.facts())


def evictions(desired: Desired) -> list[tuple[str, str]]:
    effects = (effect for effect in desired.effects if effect.name.startswith("replace"))
    return [(effect.name, effect.target) for effect in effects]


def waits(desired: Desired) -> list[Outcome]:
    return [outcome for outcome in desired.outcomes if isinstance(outcome, Wait)]


@pytest.mark.parametrize(
    ("age", "reason"), [(timedelta(seconds=5), "RollingOut"), (PATIENCE, "RolloutStuck")]
)
def test_no_further_pod_is_replaced_and_the_scheduler_is_quoted(
    age: timedelta, reason: str
) -> None:
    desired = desired_of(BAD, wishing(BAD, stuck_from=BAD).rolling_for(age))
    assert evictions(desired) == []
    (outcome,) = waits(desired)
    assert gen.expect(Wait, outcome).reason == reason
    assert f"x-2 waits: Unschedulable: {WORDS}" in gen.expect(Wait, outcome).message


def test_after_a_revert_the_pending_pod_is_replaced() -> None:
    for age in (timedelta(seconds=5), PATIENCE):
        desired = desired_of(GOOD, wishing(GOOD, stuck_from=BAD).rolling_for(age))
        assert evictions(desired) == [(ReplacePod.name, "x-2")]


def test_a_pod_that_merely_starts_is_not_quoted() -> None:
    """Otherwise each step of a normal rollout would change the message."""
    world = wishing(BAD, stuck_from=BAD)
    starting = gen.pod(2).with_template(digest_of(BAD)).waiting("ContainerCreating")
    world = world.with_pods(*world.pods[:2], starting).rolling_for(timedelta(seconds=5))
    (outcome,) = waits(desired_of(BAD, world))
    assert "waits" not in gen.expect(Wait, outcome).message


def test_a_pending_first_pod_is_replaced_after_a_revert() -> None:
    new = gen.cluster()
    live = gen.stateful_set().first_boot().with_template(digest_of(new)).with_files(files_of(new))
    first = gen.pod(0).with_template("bad").unschedulable(WORDS)
    world = with_good_secrets(new, gen.world().with_set(live).with_pods(first))
    assert evictions(desired_of(new, world)) == [(ReplaceUnstarted.name, "x-0")]
    ready_to_go = world.with_pods(gen.pod(0).with_template(digest_of(new)).unschedulable(WORDS))
    assert evictions(desired_of(new, ready_to_go)) == []
