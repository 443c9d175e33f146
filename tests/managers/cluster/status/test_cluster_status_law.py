"""Invariants of every written status, whatever the history.

A history is any mix of reconciles, failures, unreadable specs and deletions. The conditions of
kstatus (Ready, Reconciling, Stalled) never contradict each other, times change only with the
status, and past problems leave no trace.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.api.cluster.status import ClusterStatus
from contracts.api.meta import Condition
from contracts.conditions.condition import MESSAGE_MAX
from managers.cluster.status.cluster_status import compute, deleting, failing, unreadable
from runtime.outcome import Done
from tests import gen
from tests.managers.cluster.passes import OUTCOMES, a_pass, carry_over, clusters, worlds

HOSTILE = 'line one\nline two\x1b[31m\x00{"level":"error"}\u202e' * 60
Step = Callable[[gen.Cluster, datetime], ClusterStatus]


def message_number(number: int) -> str:
    return HOSTILE if number == 0 else f"trouble {number}"


@st.composite
def steps(draw: st.DrawFn) -> Step:
    """One step in the life of a cluster."""
    words = message_number(draw(st.integers(0, 2)))
    match draw(st.sampled_from(["pass", "pass", "pass", "fails", "leaves", "unreadable"])):
        case "fails":
            return lambda cluster, now: failing(cluster.read(), words, now)
        case "leaves":
            return lambda cluster, now: deleting(cluster.read(), words, now)
        case "unreadable":
            return lambda cluster, now: unreadable(cluster.object(), words, now)
        case _:
            world, outcome = draw(worlds()), draw(OUTCOMES)
            return lambda cluster, now: compute(a_pass(cluster, world.at(now), outcome))


@settings(deadline=None, max_examples=150)
@given(clusters(), st.lists(steps(), min_size=1, max_size=5))
def test_every_status_in_a_history_keeps_the_law(cluster: gen.Cluster, history: list[Step]) -> None:
    now = gen.NOW
    before: tuple[Condition, ...] = ()
    for number, step in enumerate(history):
        cluster = cluster.with_metadata(generation=number + 1)
        status = step(cluster, now)
        check(status.conditions)
        check_times(before, status.conditions, now)
        cluster, before = carry_over(cluster, status), status.conditions
        now += timedelta(minutes=1)


def check(conditions: Sequence[Condition]) -> None:
    """The invariants of one status."""
    state = {condition.type: condition.status for condition in conditions}
    assert {"Ready", "Reconciling", "Stalled"} <= state.keys()
    if state["Stalled"] == "True":
        assert state["Reconciling"] == "False"
        assert state["Ready"] != "True"
    if state["Reconciling"] == "True":
        assert state["Stalled"] == "False"
        assert state["Ready"] != "True"
    if state["Ready"] == "True":
        assert (state["Available"], state["Degraded"]) == ("True", "False")
    trio = [each for each in conditions if each.type in ("Ready", "Reconciling", "Stalled")]
    assert len({condition.observed_generation for condition in trio}) == 1
    for condition in conditions:
        assert condition.message
        assert condition.message.isprintable()
        assert len(condition.message) <= MESSAGE_MAX
        assert condition.observed_generation
        assert condition.last_transition_time is not None


def check_times(before: Sequence[Condition], after: Sequence[Condition], now: datetime) -> None:
    """A time changes with the status, and only then."""
    former = {condition.type: condition for condition in before}
    for condition in after:
        old = former.get(condition.type)
        if old is not None and old.status == condition.status:
            assert condition.last_transition_time == old.last_transition_time
        else:
            assert condition.last_transition_time == now


@settings(deadline=None, max_examples=100)
@given(clusters(), st.lists(steps(), max_size=4))
def test_past_problems_leave_no_trace(cluster: gen.Cluster, history: list[Step]) -> None:
    """The status of a healthy cluster is the same as without any past problem."""
    cluster = replace(cluster, spec={**cluster.spec, "paused": False})
    cluster = cluster.initialized().with_status(adminOps={})
    world = gen.running(cluster)
    fresh = compute(a_pass(cluster, world, Done()))
    for step in history:
        cluster = carry_over(cluster, step(cluster, gen.NOW))
    cluster = carry_over(cluster, compute(a_pass(cluster, world, Done())))
    status = compute(a_pass(cluster, world, Done()))
    assert [_words(condition) for condition in status.conditions] == [
        _words(condition) for condition in fresh.conditions
    ]
    assert status.workload is None
    assert status.operation is None


def _words(condition: Condition) -> tuple[str, str, str, str]:
    return condition.type, condition.status, condition.reason, condition.message
