"""The next pod to replace; never two at a time."""

from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.records.observed import Observed, PodFacts
from managers.workload.rollout.next_pod import next_action
from tests import gen

NEW = gen.stateful_set().with_template("new")
LEAD = gen.pod(0).with_template("old").ready(leading=True)
ONE = gen.pod(1).with_template("old").ready()
TWO = gen.pod(2).with_template("old").ready()
DONE = gen.pod(2).with_template("new").ready()


def next_to_replace(observed: Observed, digest: str, replicas: int) -> PodFacts | None:
    """The pod that is replaced now, without a quorum."""
    outdated = [pod for pod in observed.pods if pod.template != digest]
    move = next_action(observed, outdated, replicas)
    assert move.kind in ("replace", "rest")
    return move.pod


def world(*pods: gen.Pod, live: gen.StatefulSet | None = NEW) -> Observed:
    return gen.world().with_set(live).with_pods(*pods).facts()


class Row(NamedTuple):
    """The observed pods, and the ordinal of the pod to replace; None for no pod."""

    observed: Observed
    goes: int | None
    replicas: int = 3


ROWS = {
    "the standby with the highest ordinal is first": Row(world(LEAD, ONE, TWO), 2),
    "the next standby follows": Row(world(LEAD, ONE, DONE), 1),
    "the leader is last": Row(world(LEAD, ONE.with_template("new"), DONE), 0),
    "none if all are new": Row(
        world(LEAD.with_template("new"), ONE.with_template("new"), DONE), None
    ),
    "a leader with the highest ordinal is last": Row(
        world(LEAD.with_server_labels(active="false"), ONE, TWO.with_server_labels(active="true")),
        1,
    ),
    "none while one terminates": Row(world(LEAD, ONE, TWO.terminating()), None),
    "none while a new one is unready": Row(world(LEAD, ONE, DONE.unready()), None),
    "none while one is missing": Row(world(LEAD, ONE), None),
    "an old unready pod is first": Row(world(LEAD, ONE.unready(), TWO), 1),
    "an old unready pod with a leader label is first": Row(world(LEAD.unready(), ONE, TWO), 0),
    "none while two are unready": Row(world(LEAD, ONE.unready(), TWO.unready()), None),
    "none without a leader": Row(world(LEAD.with_server_labels(active="false"), ONE, TWO), None),
    "none with two leaders": Row(world(LEAD, ONE.with_server_labels(active="true"), TWO), None),
    "none of two without a leader": Row(
        world(LEAD.with_server_labels(active="false"), ONE), None, replicas=2
    ),
    "a single server that leads": Row(world(LEAD), 0, replicas=1),
    "a single server without a leader label": Row(
        world(LEAD.with_server_labels(active="false")), 0, replicas=1
    ),
    "none without a StatefulSet": Row(world(LEAD, ONE, TWO, live=None), None),
    "none while the StatefulSet status is stale": Row(
        world(LEAD, ONE, TWO, live=NEW.with_stale_status()), None
    ),
    "a pod without a digest is outdated": Row(world(LEAD.with_template(""), ONE, TWO), 2),
}


KEYED = NEW.with_keys("v1=key,two=key-2")
SEALED = [
    gen.pod(n)
    .with_template("old")
    .with_keys("v1=key")
    .with_server_labels(sealed="true", initialized="true")
    for n in range(3)
]
ROWS |= {
    "sealed servers are replaced to get new keys": Row(world(*SEALED, live=KEYED), 0),
    "sealed servers are replaced one at a time": Row(
        world(SEALED[0].terminating(), *SEALED[1:], live=KEYED), None
    ),
    "sealed servers with these keys stay": Row(
        world(*(pod.with_keys("v1=key,two=key-2") for pod in SEALED), live=KEYED), None
    ),
    "servers without a seal label stay": Row(
        world(*(pod.with_server_labels(sealed="") for pod in SEALED), live=KEYED), None
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_row(row: Row) -> None:
    victim = next_to_replace(row.observed, "new", row.replicas)
    assert (victim.ordinal if victim else None) == row.goes


@st.composite
def any_world(draw: st.DrawFn) -> Observed:
    results = []
    for ordinal in sorted(draw(st.sets(st.integers(0, 4), max_size=5))):
        pod = gen.pod(ordinal).with_template(draw(st.sampled_from(["new", "old", ""])))
        pod = pod.ready(leading=draw(st.booleans()))
        pod = pod if draw(st.integers(0, 3)) else pod.unready()
        results.append(pod if draw(st.integers(0, 5)) else pod.terminating())
    live = draw(st.sampled_from([NEW, NEW, NEW, NEW.with_stale_status(), None]))
    return world(*results, live=live)


@settings(deadline=None, max_examples=200)
@given(any_world(), st.integers(1, 5))
def test_at_most_one_server_is_replaced(observed: Observed, replicas: int) -> None:
    """Rule I06: the operator makes at most one server unavailable."""
    victim = next_to_replace(observed, "new", replicas)
    if victim is None:
        return
    others = [pod for pod in observed.pods if pod.uid != victim.uid]
    assert victim.template != "new"
    assert not victim.terminating
    assert len(observed.pods) >= replicas
    for other in others:
        assert other.ready
        assert not other.terminating
    assert observed.stateful_set is not None
    assert observed.stateful_set.generation_observed


@settings(deadline=None, max_examples=200)
@given(any_world(), st.integers(1, 5))
def test_the_leader_is_replaced_last(observed: Observed, replicas: int) -> None:
    """Rule I07."""
    victim = next_to_replace(observed, "new", replicas)
    if victim is None or not victim.ready or not victim.registration.active:
        return
    standbys = [pod for pod in observed.pods if not pod.registration.active]
    assert all(pod.template == "new" for pod in standbys)


def _after(observed: Observed, victim: PodFacts) -> Observed:
    """The world after the pod was recreated and a server leads again."""
    updated = replace(
        victim,
        uid=victim.uid + "+",
        template="new",
        ready=True,
        registration=replace(victim.registration, active=False),
    )
    pods = [updated if pod.uid == victim.uid else pod for pod in observed.pods]
    leads = next((n for n, pod in enumerate(pods) if pod.registration.active), 0)
    led = [
        replace(pod, registration=replace(pod.registration, active=n == leads))
        for n, pod in enumerate(pods)
    ]
    return replace(observed, pods=tuple(led))


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 5), st.integers(0, 4), st.data())
def test_a_rollout_replaces_every_old_pod_once(
    replicas: int, leader: int, data: st.DataObject
) -> None:
    old = data.draw(st.sets(st.integers(0, replicas - 1)))
    observed = world(
        *(
            gen.pod(n)
            .with_template("old" if n in old else "new")
            .ready(leading=n == leader % replicas)
            for n in range(replicas)
        )
    )
    replaced = []
    while (victim := next_to_replace(observed, "new", replicas)) is not None:
        replaced.append(victim.ordinal)
        assert len(replaced) <= replicas
        observed = _after(observed, victim)
    assert sorted(replaced) == sorted(old)
    if leader % replicas in old:
        assert replaced[-1] == leader % replicas
