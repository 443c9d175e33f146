"""An overdue step of a rolling upgrade: the server that the failure names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contracts.records.observed import EVICT, Quorum, RaftServer
from contracts.records.upgrade_decision import UpgradeDecision
from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade.decide import decide_upgrade
from runtime.outcome import Wait
from tests import gen

DEADLINE = timedelta(seconds=20)
NEW = "2.4.1"
BEGAN = (gen.NOW - DEADLINE).strftime("%Y-%m-%dT%H:%M:%SZ")
ROLLS = {
    "phase": "Rolling",
    "id": "op",
    "fromVersion": "2.4.0",
    "targetVersion": NEW,
    "completedPods": [2],
    "pod": "x-1",
    "stepStartedAt": BEGAN,
}
LOCK = {"operation": "Upgrade", "holder": UPGRADE_HOLDER}
CLUSTER = (
    gen.cluster(version=NEW)
    .initialized()
    .with_status(upgrade=ROLLS, release={"version": NEW}, operationLock=LOCK)
)
WELL = tuple(RaftServer(f"x-{n}", voter=True, healthy=True) for n in range(2))
ALL_WELL = Quorum((*WELL, RaftServer("x-2", voter=True, healthy=True)))
# name: (quorum, the server that is named)
ANSWERS: dict[str, tuple[Quorum | None, str]] = {
    "one is unhealthy": (Quorum((*WELL, RaftServer("x-2", voter=True, healthy=False))), "x-2"),
    "one does not follow": (
        Quorum((*WELL, RaftServer("x-2", voter=True, healthy=True, follows=False))),
        "x-2",
    ),
    "all are healthy": (ALL_WELL, "x-1"),
    "no response of the leader": (Quorum(error="it does not answer"), "x-1"),
    "no quorum read": (None, "x-1"),
}


@pytest.mark.parametrize(("quorum", "named"), ANSWERS.values(), ids=ANSWERS)
def test_the_unhealthy_server_is_named(quorum: Quorum | None, named: str) -> None:
    facts = gen.running(CLUSTER).with_quorum(quorum).facts()
    upgrade = gen.present(decide_upgrade(CLUSTER.read(), facts, DEADLINE).upgrade)
    failure = gen.present(upgrade.failure)
    assert failure.reason == "HealthCheckFailed"
    assert named in failure.message


REFUSED = Quorum(error="sys/x answered 403: no: give the policy the right", refused_path="sys/x")


def decision_of(
    quorum: Quorum | None, world: gen.World | None = None, **upgrade: object
) -> UpgradeDecision:
    cluster = CLUSTER.with_status(upgrade={**ROLLS, **upgrade})
    facts = (world or gen.running(CLUSTER)).with_quorum(quorum).facts()
    return decide_upgrade(cluster.read(), facts, DEADLINE)


def test_a_refused_request_is_not_a_failure_of_a_server() -> None:
    decision = decision_of(REFUSED)
    outcome = gen.expect(Wait, decision.outcome)
    assert outcome.reason == "QuorumQuestionRefused"
    assert "give the policy the right" in outcome.message
    assert gen.present(decision.upgrade).failure is None


def test_the_step_timeout_restarts_after_a_refusal() -> None:
    assert gen.present(decision_of(REFUSED).upgrade).step_started_at is None
    upgrade = gen.present(decision_of(ALL_WELL, stepStartedAt=None).upgrade)
    assert (upgrade.failure, upgrade.step_started_at) == (None, gen.NOW)


def test_a_server_that_does_not_start_is_still_a_failure() -> None:
    away = gen.running(CLUSTER)
    away = away.with_pods(*away.pods[:2], gen.pod(2).waiting("CrashLoopBackOff"))
    decision = decision_of(REFUSED, away, pod="x-2")
    assert gen.present(gen.present(decision.upgrade).failure).reason == "PodNotReady"


WORDS = "openbao-x: the budget needs 2 healthy pods and has 2"


def test_a_foreign_disruption_budget_is_not_a_failure_of_a_server() -> None:
    decision = decision_of(
        ALL_WELL, gen.running(CLUSTER).with_attempt(EVICT, "uid-x-1", timedelta(), WORDS)
    )
    assert isinstance(decision.outcome, Wait)
    assert decision.outcome.reason == "DisruptionBudgetClosed"
    assert decision.outcome.message == f"x-1 is not evicted: {WORDS}"
    upgrade = gen.present(decision.upgrade)
    assert (upgrade.failure, upgrade.step_started_at) == (None, None)


NO_REASONS: dict[str, gen.World] = {
    "a budget that was closed a minute ago": gen.running(CLUSTER).with_attempt(
        EVICT, "uid-x-1", timedelta(minutes=1), WORDS
    ),
    "a budget that allowed the eviction": gen.running(CLUSTER).with_attempt(EVICT, "uid-x-1"),
    "a budget that refused another pod": gen.running(CLUSTER).with_attempt(
        EVICT, "uid-of-another", timedelta(), WORDS
    ),
}


@pytest.mark.parametrize("world", NO_REASONS.values(), ids=NO_REASONS)
def test_which_situations_excuse_no_delay(world: gen.World) -> None:
    upgrade = gen.present(decision_of(ALL_WELL, world).upgrade)
    assert gen.present(upgrade.failure).reason == "HealthCheckFailed"


def test_a_closed_budget_excuses_no_server_that_is_away() -> None:
    away = gen.running(CLUSTER).with_attempt(EVICT, "uid-x-1", timedelta(), WORDS)
    away = away.with_pods(*away.pods[:2], gen.pod(2).waiting("CrashLoopBackOff"))
    decision = decision_of(ALL_WELL, away, pod="x-2")
    assert gen.present(gen.present(decision.upgrade).failure).reason == "PodNotReady"


# reason: the setting of a user that keeps every server from being replaced
SETTINGS: dict[str, dict[str, object]] = {
    "Maintenance": {"maintenance": {"enabled": True}},
    "Hibernated": {"hibernate": True},
    "PodsFenced": {"fencedPods": ["x-1"]},
}


@pytest.mark.parametrize(("reason", "spec"), SETTINGS.items(), ids=SETTINGS)
@pytest.mark.parametrize("ready", [True, False])
def test_a_setting_of_the_user_is_not_a_failure(
    reason: str, spec: dict[str, object], *, ready: bool
) -> None:
    world = gen.running(CLUSTER)
    if not ready:
        world = world.with_pods(gen.pod(0), gen.pod(2).ready())
    decision = decide_upgrade(CLUSTER.with_spec(**spec).read(), world.facts(), DEADLINE)
    upgrade = gen.present(decision.upgrade)
    assert (upgrade.failure, upgrade.step_started_at) == (None, None)
    assert gen.expect(Wait, decision.outcome).reason == reason
