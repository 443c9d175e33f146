"""A rollback after green has led: only if the release of blue can lead again.

The servers of 2.6.2 reject what a leader of 2.7 writes: after such a rollback nobody would lead.
"""

import dataclasses

import pytest

from contracts.jobs import upgrade_actions
from contracts.records.bluegreen import BlueGreenFacts, Membership
from managers.upgrade.bluegreen import break_glass
from managers.upgrade.bluegreen.decide import decide_step
from runtime.outcome import Blocked, Wait
from tests.managers.upgrade.two_pools import TwoPools

PATCH, UNTESTED, IMPOSSIBLE = ("2.7.1", "2.7.2"), ("2.7.2", "2.8.0"), ("2.6.2", "2.7.2")
BLUE_LEADS = Membership("blue", 3, 3, 3, 3)
GREEN_LEADS = Membership("green", 3, 3, 3, 3)


def upgrade(
    releases: tuple[str, str], phase: str = "DemotingBlue", *, demotions_fail: bool = False
) -> TwoPools:
    """An upgrade in a phase, with blue of the first release and green of the second."""
    blue, green = releases
    pools = TwoPools(version=green, replicas=3)
    pools.status |= {"currentVersion": blue, "release": {"version": blue}}
    if demotions_fail:
        pools.fails[upgrade_actions.DEMOTE] = 99
    return pools.to(phase)


def facts_with(pools: TwoPools, membership: Membership | None) -> BlueGreenFacts:
    return dataclasses.replace(pools.facts(), membership=membership)


@pytest.mark.parametrize(
    ("releases", "membership", "goes_back"),
    [
        (PATCH, GREEN_LEADS, True),
        (UNTESTED, GREEN_LEADS, True),
        (IMPOSSIBLE, GREEN_LEADS, False),
        (IMPOSSIBLE, BLUE_LEADS, True),
        (IMPOSSIBLE, None, True),
    ],
)
@pytest.mark.parametrize("phase", ["Promoting", "DemotingBlue"])
def test_a_rollback_is_refused_if_no_server_could_lead_after_it(
    phase: str, releases: tuple[str, str], membership: Membership | None, *, goes_back: bool
) -> None:
    """Without a known leader green has led only if the Job that demotes blue has succeeded."""
    pools = upgrade(releases, phase)
    pools.order(rollback="back")
    decision = decide_step(facts_with(pools, membership))
    refusals = [event.text for event in decision.events if event.reason == "RollbackRefused"]
    assert (decision.state == "RollingBack") is goes_back
    assert bool(refusals) is not goes_back
    assert all("cannot become the leader" in message for message in refusals)
    requests = decision.requests
    assert requests is not None
    assert requests.last_handled_rollback == "back"


def test_a_refused_request_does_not_end_the_upgrade() -> None:
    pools = TwoPools(version="2.7.2", upgrade={"blueGreen": {"autoCleanup": False}})
    pools.status |= {"currentVersion": "2.6.2", "release": {"version": "2.6.2"}}
    pools.to("DemotingBlue").drive(100)
    assert pools.decision is not None
    assert isinstance(pools.decision.outcome, Wait)
    assert "no rollback is possible" in pools.decision.outcome.message
    pools.order(rollback="back")
    pools.drive(20)
    assert pools.event_reasons.count("RollbackRefused") == 1
    assert pools.known.phase == "DemotingBlue"
    pools.order(cleanup="go")
    pools.done()
    assert "RollingBack" not in pools.phases
    assert pools.release == "2.7.2"


@pytest.mark.parametrize("releases", [UNTESTED, IMPOSSIBLE])
def test_nothing_rolls_back_automatically_to_a_release_that_may_not_lead(
    releases: tuple[str, str],
) -> None:
    """The upgrade is held, and goes on once its cause is gone."""
    pools = upgrade(releases)
    version = pools.spec["version"]
    pools.edit(version=releases[0])
    decision = decide_step(facts_with(pools, GREEN_LEADS))
    assert decision.state == "DemotingBlue"
    assert isinstance(decision.outcome, Blocked)
    assert "cannot be rolled back" in decision.outcome.message
    pools.edit(version=version)
    assert isinstance(decide_step(facts_with(pools, GREEN_LEADS)).outcome, Wait)


def test_between_patches_an_edit_back_rolls_back() -> None:
    pools = upgrade(PATCH)
    pools.edit(version=PATCH[0])
    assert decide_step(facts_with(pools, GREEN_LEADS)).state == "RollingBack"


@pytest.mark.parametrize(("releases", "state"), [(PATCH, "RollingBack"), (IMPOSSIBLE, "")])
def test_a_job_that_always_fails_rolls_back_or_holds(releases: tuple[str, str], state: str) -> None:
    pools = upgrade(releases, demotions_fail=True)
    status = {**pools.status["blueGreen"], "jobFailureCount": 99}
    pools.status["blueGreen"] = status
    while (job := pools.facts().job) is None or job.state != "Failed":
        pools.run()
        pools.tick()
    decision = decide_step(facts_with(pools, GREEN_LEADS))
    assert decision.state == (state or "DemotingBlue")
    if state:
        return
    assert isinstance(decision.outcome, Blocked)
    pools.order(retry="again")
    retried = decide_step(facts_with(pools, GREEN_LEADS))
    assert retried.requests is not None
    assert retried.requests.last_handled_retry == "again"
    assert not isinstance(retried.outcome, Blocked)


def test_a_rollback_in_which_green_takes_the_lead_is_stopped() -> None:
    """Nothing may take the leadership from green: the operator waits for a user."""
    pools = upgrade(IMPOSSIBLE)
    pools.order(rollback="back")
    pools.drive(1)
    assert pools.known.phase == "RollingBack"
    while pools.facts().former_job:
        pools.tick()
    decision = decide_step(facts_with(pools, GREEN_LEADS))
    assert decision.break_glass is not None
    assert decision.break_glass.active
    assert decision.break_glass.reason == break_glass.REPAIR_FAILED
    assert "cannot become the leader" in (decision.break_glass.message or "")
    assert decide_step(facts_with(pools, BLUE_LEADS)).break_glass is None
