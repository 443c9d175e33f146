"""A pod that does not terminate is reported, and never deleted by force."""

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.records.observed import Observed
from managers.workload.rollout.stuck_pods import absent, stuck
from runtime.outcome import Blocked, Done
from tests import gen

# The grace period of this pod ends at the beginning of 2030, which is gen.NOW.
LEAVING = gen.pod(2).terminating()


def observe_after(after: float, *pods: gen.Pod, node: str = "node-b") -> Observed:
    world = gen.world().with_pods(*pods).at(gen.NOW + timedelta(seconds=after))
    facts = world.facts()
    return replace(facts, pods=tuple(replace(pod, node=node) for pod in facts.pods))


@pytest.mark.parametrize(("after", "recheck"), [(-30.0, 91.0), (0.0, 61.0), (59.0, 2.0)])
def test_a_terminating_pod_is_checked_after_its_grace_period(after: float, recheck: float) -> None:
    assert stuck(observe_after(after, gen.pod(0).ready(), LEAVING)) == Done(recheck)


def test_a_stuck_pod_is_named_with_its_node_and_the_next_step() -> None:
    assert stuck(observe_after(900.0, gen.pod(0).ready())) == Done()
    outcome = gen.expect(Blocked, stuck(observe_after(60.0, gen.pod(0).ready(), LEAVING)))
    assert outcome.reason == "PodStuckTerminating"
    for word in ("x-2 on node node-b", "2030-01-01T00:00:00Z", "--force", "Node object"):
        assert word in outcome.message
    # The message does not change with the time.
    assert stuck(observe_after(60.0, LEAVING)) == stuck(observe_after(6000.0, LEAVING)) == outcome


def test_a_stuck_read_replica_is_reported_too() -> None:
    facts = observe_after(60.0, LEAVING)
    pool = replace(facts.read, pods=facts.pods)
    assert isinstance(stuck(replace(facts, pods=(), read=pool)), Blocked)


def test_missing_pods_are_named_with_their_nodes() -> None:
    facts = observe_after(0.0, gen.pod(0).ready(), gen.pod(1), gen.pod(2))
    assert absent(facts.pods) == "; not ready: x-1 on node node-b, x-2 on node node-b"
    assert absent(facts.pods[:1]) == ""
    assert absent(observe_after(0.0, gen.pod(1), node="").pods) == "; not ready: x-1"
