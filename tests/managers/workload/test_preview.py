"""managers.workload.preview: the preview has the order of the rollout."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.records.observed import Observed
from managers.workload.preview import PlannedReplacement, replacements
from managers.workload.rollout.next_pod import next_action
from tests import gen

NEW = gen.stateful_set().with_template("new")


def world(*pods: gen.Pod) -> Observed:
    return gen.world().with_set(NEW.with_replicas(len(pods))).with_pods(*pods).facts()


def pods(size: int, leader: int | None) -> tuple[gen.Pod, ...]:
    return tuple(gen.pod(n).with_template("old").ready(leading=n == leader) for n in range(size))


@pytest.mark.parametrize(
    ("leader", "order"),
    [(0, ["x-2", "x-1", "x-0"]), (1, ["x-2", "x-0", "x-1"]), (2, ["x-1", "x-0", "x-2"])],
)
def test_the_leader_goes_last(leader: int, order: list[str]) -> None:
    turns = replacements(world(*pods(3, leader)))
    assert [step.pod for step in turns] == order
    assert [step.leads for step in turns] == [False, False, True]


def test_without_a_leader_or_standbys_there_is_no_step_down() -> None:
    assert [step.leads for step in replacements(world(*pods(3, None)))] == [False] * 3
    assert replacements(world(*pods(1, 0))) == (PlannedReplacement("x-0"),)
    assert replacements(gen.world().facts()) == ()
    # Updated pods are omitted.
    assert [step.pod for step in replacements(world(*pods(3, 0)), done=(2, 1))] == ["x-0"]


def test_read_replicas_go_before_the_voters() -> None:
    readers = (gen.read_pod(0).ready(), gen.read_pod(1).unready())
    there = gen.world().with_set(NEW.with_replicas(3)).with_pods(*pods(3, 0))
    facts = there.with_readers(gen.read_set().with_replicas(2), *readers).facts()
    assert [(replacement.pod, replacement.votes) for replacement in replacements(facts)[:3]] == [
        ("x-read-1", False),
        ("x-read-0", False),
        ("x-2", True),
    ]


@given(st.integers(1, 5), st.data())
def test_the_preview_has_the_order_of_the_rollout(size: int, data: st.DataObject) -> None:
    """Replace the pod that the rollout picks, restart it, and repeat."""
    leader = data.draw(st.integers(0, size - 1))
    observed = world(*pods(size, leader))
    gone: list[str] = []
    while len(gone) < size:
        outdated = [pod for pod in observed.pods if pod.template == "old"]
        victim = gen.present(next_action(observed, outdated, size).pod)
        gone.append(victim.name)
        updated = (
            replace(pod, template="new") if pod.name == victim.name else pod
            for pod in observed.pods
        )
        observed = replace(observed, pods=tuple(updated))
    assert [replacement.pod for replacement in replacements(world(*pods(size, leader)))] == gone
