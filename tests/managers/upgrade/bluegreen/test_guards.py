"""Blue/green: the guards of each phase, and its timeout."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from contracts.api.cluster.status_backup import BreakGlass
from contracts.jobs import upgrade_actions
from contracts.records.bluegreen import BlueGreenFacts, Membership, PoolObservation
from contracts.records.upgrade import JobStatus
from managers.upgrade.bluegreen import break_glass
from managers.upgrade.bluegreen.decide import decide_step
from runtime.outcome import Blocked, Wait
from tests import gen
from tests.managers.upgrade.two_pools import FOR_EVER, TwoPools

LATE = timedelta(minutes=11)
THERE = PoolObservation(uid="there", replicas=3, pods=3, ready=3)


def at(phase: str) -> TwoPools:
    """A world that has just reached a phase."""
    world = TwoPools()
    if phase in ("RollingBack", "RollbackCleanup"):
        world.fails[upgrade_actions.DEMOTE] = 5
    return world.to(phase)


def facts_of(phase: str, *, late: bool = False, done: bool = False, **more: Any) -> BlueGreenFacts:
    """Facts of a phase; `done`: its Job has succeeded, and the status records that."""
    world = at(phase)
    facts = world.facts()
    more = {"job": None, "former_job": "", "traffic": facts.green_revision, **more}
    if done:
        world.status["blueGreen"] = {**world.status["blueGreen"], "completedJob": facts.job_name}
    facts = dataclasses.replace(facts, cluster=world.read(), **more)
    return dataclasses.replace(facts, now=facts.now + LATE) if late else facts


BLUE_VOTES = Membership("blue", 3, 3, 0, 3)
ALL_VOTE = Membership("blue", 3, 3, 3, 3)
GREEN_LEADS = Membership("green", 0, 3, 3, 3)
HALF = Membership("green", 2, 3, 3, 3)
SICK = dataclasses.replace(THERE, ready=2)

WAITS = [
    ("Promoting", True, {"membership": Membership("blue", 3, 3, 2, 3)}),
    ("Promoting", False, {"green": SICK}),
    ("DemotingBlue", False, {"membership": Membership("blue", 3, 3, 2, 3)}),
    ("DemotingBlue", False, {"membership": ALL_VOTE, "green": SICK}),
    ("DemotingBlue", False, {"membership": ALL_VOTE, "traffic": ""}),
    ("DemotingBlue", True, {"membership": HALF}),
    ("DemotingBlue", True, {"membership": ALL_VOTE}),
    ("DemotingBlue", True, {"membership": None}),
    ("Cleanup", False, {"membership": GREEN_LEADS, "green": SICK}),
    ("Cleanup", False, {"membership": HALF}),
    ("Cleanup", False, {"membership": ALL_VOTE}),
    ("Cleanup", False, {"membership": None}),
    ("RollingBack", False, {"blue": dataclasses.replace(THERE, ready=1)}),
    ("RollingBack", False, {"former_job": "upgrade-x-demote"}),
    ("RollingBack", True, {"membership": GREEN_LEADS}),
    ("RollingBack", True, {"membership": Membership("blue", 2, 3, 0, 3)}),
    ("RollingBack", True, {"membership": Membership("blue", 3, 3, 1, 3)}),
    ("RollbackCleanup", True, {"membership": None, "green": THERE}),
    ("RollbackCleanup", True, {"membership": GREEN_LEADS, "green": THERE}),
    ("RollbackCleanup", True, {"membership": Membership("blue", 3, 3, 1, 1), "green": THERE}),
    ("RollbackCleanup", False, {"former_job": "upgrade-x-repair", "membership": BLUE_VOTES}),
]


@pytest.mark.parametrize(("phase", "done", "more"), WAITS)
def test_no_step_is_taken_before_it_is_safe(phase: str, done: bool, more: dict[str, Any]) -> None:
    decision = decide_step(facts_of(phase, done=done, **more))
    assert (decision.state, decision.effects) == (phase, ())
    assert gen.expect(Wait, decision.outcome).after


OVERDUE = [
    ("Promoting", False, {"green": SICK}, "RollingBack"),
    ("Promoting", True, {"membership": Membership("blue", 3, 3, 2, 3)}, "RollingBack"),
    ("DemotingBlue", False, {"membership": Membership("blue", 3, 3, 2, 3)}, "RollingBack"),
    ("DemotingBlue", False, {"membership": ALL_VOTE, "green": SICK}, "RollingBack"),
    ("DemotingBlue", True, {"membership": HALF}, "RollingBack"),
    ("DemotingBlue", True, {"membership": ALL_VOTE}, "RollingBack"),
    # During the verification, a restart or an election causes no rollback.
    ("DemotingBlue", True, {"membership": None}, "DemotingBlue"),
    ("DemotingBlue", True, {"membership": GREEN_LEADS, "green": SICK}, "DemotingBlue"),
    ("Cleanup", False, {"membership": GREEN_LEADS, "green": SICK}, "Cleanup"),
]


@pytest.mark.parametrize(("phase", "done", "more", "place"), OVERDUE)
def test_an_overdue_phase_is_rolled_back(
    phase: str, done: bool, more: dict[str, Any], place: str
) -> None:
    assert decide_step(facts_of(phase, done=done, late=True, **more)).state == place


@pytest.mark.parametrize(("phase", "done", "more", "place"), OVERDUE)
def test_without_auto_rollback_nothing_is_rolled_back(
    phase: str, done: bool, more: dict[str, Any], place: str
) -> None:
    facts = facts_of(phase, done=done, late=True, **more)
    upgrade = gen.present(facts.cluster.spec.upgrade)
    wish = facts.settings.model_copy(
        update={"auto_rollback": facts.auto_rollback.model_copy(update={"enabled": False})}
    )
    spec = facts.cluster.spec.model_copy(
        update={"upgrade": upgrade.model_copy(update={"blue_green": wish})}
    )
    cluster = facts.cluster.model_copy(update={"spec": spec})
    assert decide_step(dataclasses.replace(facts, cluster=cluster)).state == phase


@pytest.mark.parametrize(
    ("done", "more"),
    [
        (False, {"blue": dataclasses.replace(THERE, ready=1)}),
        (True, {"membership": GREEN_LEADS}),
        (True, {"membership": Membership("blue", 2, 3, 0, 3)}),
    ],
)
def test_an_overdue_rollback_breaks_glass(done: bool, more: dict[str, Any]) -> None:
    decision = decide_step(facts_of("RollingBack", done=done, late=True, **more))
    assert gen.present(decision.break_glass).active
    assert isinstance(decision.outcome, Blocked)


@pytest.mark.parametrize(
    ("phase", "members"),
    [
        ("Promoting", Membership("blue", 3, 3, 2, 3)),
        ("DemotingBlue", HALF),
        ("RollingBack", GREEN_LEADS),
    ],
)
def test_the_phase_timeout_restarts_after_a_job(phase: str, members: Membership) -> None:
    """The Job took longer than the phase timeout; its effect is not observed everywhere yet."""
    facts = facts_of(phase, late=True, membership=members)
    ended = dataclasses.replace(facts, job=JobStatus(facts.job_name, "Succeeded"))
    decision = decide_step(ended)
    assert decision.state == phase
    assert decision.blue_green is not None
    assert decision.blue_green.completed_job == facts.job_name
    assert decision.blue_green.start_time == facts.now
    assert decision.break_glass is None


@pytest.mark.parametrize(
    ("phase", "members"),
    [
        ("Cleanup", Membership("green", 0, 1, 3, 3)),
        ("RollbackCleanup", Membership("blue", 3, 3, 0, 1)),
    ],
)
class TestMembersLeft:
    def facts(self, phase: str, members: Membership) -> BlueGreenFacts:
        gone: dict[str, Any] = {"blue" if phase == "Cleanup" else "green": PoolObservation()}
        world = at(phase)
        status = world.status["blueGreen"]
        job = world.facts().job_name
        world.status["blueGreen"] = {**status, "completedJob": job}
        ended = JobStatus(job, "Succeeded")
        return dataclasses.replace(world.facts(), membership=members, job=ended, **gone)

    def test_remaining_members_are_removed_again(self, phase: str, members: Membership) -> None:
        facts = self.facts(phase, members)
        decision = decide_step(facts)
        assert decision.state == phase
        assert decision.blue_green is not None
        assert decision.blue_green.job_failure_count == 1
        assert decision.blue_green.completed_job is None

    def test_the_removal_is_retried_a_limited_number_of_times(
        self, phase: str, members: Membership
    ) -> None:
        world = at(phase)
        action = "REMOVE_BLUE" if phase == "Cleanup" else "REMOVE_GREEN"
        pods = list(world.sets["" if phase == "Cleanup" else world.revision].pods)
        world.jobs.clear()

        def stay() -> None:
            world.raft.setdefault(pods[0], False)

        world.follow = stay
        world.drive(300)
        assert world.known.phase == phase
        assert world.actions().count(getattr(upgrade_actions, action)) == 5
        assert isinstance(world.run().outcome, Blocked)


def test_a_refused_job_is_reported() -> None:
    decision = decide_step(facts_of("JoiningMesh", job_refusal="exceeded quota"))
    assert "exceeded quota" in gen.expect(Blocked, decision.outcome).message
    assert decision.effects == ()


def test_a_refused_job_is_retried_with_a_stable_message() -> None:
    before = decide_step(facts_of("JoiningMesh", job_refusal="exceeded quota"))
    again = decide_step(facts_of("JoiningMesh", job_refusal="exceeded quota", retry_allowed=True))
    assert [effect.name for effect in again.effects] == ["make-upgrade-job"]
    assert isinstance(before.outcome, Blocked)
    assert isinstance(again.outcome, Blocked)
    assert before.outcome.message == again.outcome.message
    assert before.outcome.reason == again.outcome.reason


def test_a_retry_waits_for_the_obstacle() -> None:
    world = TwoPools()
    world.fails[upgrade_actions.PROMOTE] = FOR_EVER
    world.drive(300)
    world.order(retry="again")
    blocked = dataclasses.replace(world.facts(), obstacle=Wait("QuorumLost", "not now"))
    assert decide_step(blocked).requests == world.read().status.upgrade_requests
    decision = decide_step(world.facts())
    assert gen.present(decision.requests).last_handled_retry == "again"


def test_the_replicas_of_blue_are_frozen_and_not_those_of_the_spec() -> None:
    world = TwoPools(replicas=5).to("DeployingGreen")
    assert (world.known.blue_replicas, world.known.green_replicas) == (3, 5)
    world.done()
    assert len(world.raft) == 5


class TestBreakGlass:
    def test_active_break_glass_is_unchanged(self) -> None:
        facts = facts_of("RollingBack")
        glass = BreakGlass(active=True, nonce="a" * 32, reason="RollbackConsensusRepairFailed")
        status = facts.cluster.status.model_copy(update={"break_glass": glass})
        cluster = facts.cluster.model_copy(update={"status": status})
        assert break_glass.enter(dataclasses.replace(facts, cluster=cluster), "again") is glass

    def test_break_glass_needs_a_nonce(self) -> None:
        facts = dataclasses.replace(facts_of("RollingBack"), nonce="")
        with pytest.raises(ValueError, match="nonce"):
            break_glass.enter(facts, "no")

    def test_an_empty_acknowledgement_is_ignored(self) -> None:
        facts = facts_of("RollingBack")
        status = facts.cluster.status.model_copy(update={"break_glass": BreakGlass(active=True)})
        cluster = facts.cluster.model_copy(update={"status": status})
        assert not break_glass.is_acknowledged(dataclasses.replace(facts, cluster=cluster))
