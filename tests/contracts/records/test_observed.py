"""Properties of the observed records."""

from dataclasses import replace

import pytest

from contracts.naming.labels import Registration
from contracts.records.observed import PoolFacts
from tests import gen


def test_a_pod_is_found_by_its_ordinal() -> None:
    observed = gen.world().with_pods(gen.pod(0), gen.pod(2)).facts()
    pod = observed.pod(2)
    assert pod is not None
    assert pod.name == "x-2"
    assert observed.pod(1) is None


def test_a_leader_is_a_labeled_pod_that_is_not_terminating() -> None:
    leading = gen.pod(0).ready(leading=True)
    follower = gen.pod(1).ready()
    silent = gen.pod(2)
    assert [
        p.ordinal for p in gen.world().with_pods(leading, follower, silent).facts().leaders
    ] == [0]
    assert gen.world().with_pods(leading.terminating(), follower).facts().leaders == ()


def test_a_terminating_volume_may_hold_data() -> None:
    assert not gen.world().facts().holds_data
    assert gen.world().with_claims(0).facts().holds_data
    assert gen.world().with_claims(0, gone=True).facts().holds_data


# sentence: (pods, whether the leader is unknown)
DOUBTS: dict[str, tuple[tuple[gen.Pod, ...], bool]] = {
    "one leads": ((gen.pod(0).ready(leading=True), gen.pod(1).ready()), False),
    "two lead": ((gen.pod(0).ready(leading=True), gen.pod(1).ready(leading=True)), True),
    "no leader": ((gen.pod(0).ready(), gen.pod(1).ready()), True),
    "a single server without a leader label": ((gen.pod(0).ready(),), False),
    "the second is terminating": (
        (gen.pod(0).ready(leading=True), gen.pod(1).ready(leading=True).terminating()),
        False,
    ),
    "the second has not started": ((gen.pod(0).ready(), gen.pod(1).unschedulable("full")), False),
}


@pytest.mark.parametrize(("pods", "doubt"), DOUBTS.values(), ids=DOUBTS)
def test_when_the_leader_is_unknown(pods: tuple[gen.Pod, ...], doubt: bool) -> None:
    assert gen.world().with_pods(*pods).facts().leader_in_doubt is doubt


BLUE = gen.pod(0).ready(leading=True)
GREEN = gen.pod(0).of("0123456789abcdef").ready(leading=True)


def test_leader_labels_in_two_pools_are_ambiguous() -> None:
    """One server of blue and one of green: that of blue kept its label when green took over."""
    facts = replace(gen.world().with_pods(BLUE).facts(), green=PoolFacts(pods=(GREEN.facts(),)))
    assert facts.leader_in_doubt


def test_responses_of_servers_replace_the_facts_of_every_pool() -> None:
    facts = replace(
        gen.world().with_pods(BLUE, gen.pod(1).ready(leading=True)).facts(),
        green=PoolFacts(pods=(GREEN.facts(),)),
    )
    answers = [replace(pod, registration=Registration(active=False)) for pod in facts.servers[::2]]
    updated = facts.with_servers(answers)
    assert [pod.name for pod in updated.servers] == [pod.name for pod in facts.servers]
    assert [pod.registration.active for pod in updated.servers] == [False, True, False]
