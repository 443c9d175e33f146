"""managers.upgrade.condition, of a blue/green upgrade."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_args

import pytest

from contracts.api.cluster.status_upgrade import BlueGreenPhase
from contracts.conditions.catalog import TYPES
from contracts.conditions.condition import MESSAGE_MAX, ConditionUpdate, condition
from contracts.records.upgrade import Release
from contracts.records.upgrade_decision import UpgradeDecision
from managers.upgrade.bluegreen.decide import decide_step
from managers.upgrade.bluegreen.table import TABLE
from managers.upgrade.condition import failure_of, upgrading, upgrading_while_paused
from managers.upgrade.messages import PHASE_TEXTS, UPGRADE_REFUSED
from tests import gen
from tests.managers.upgrade.two_pools import FOR_EVER, NEW, OLD, TwoPools

ALLOWED = {kind.name: set(kind.reasons) for kind in TYPES}


def decision_of(world: TwoPools) -> UpgradeDecision:
    """The decision of the next pass."""
    return decide_step(world.facts())


def condition_of(world: TwoPools) -> tuple[str, str]:
    """`status reason` of the condition in the next pass, and its message."""
    update = gen.present(upgrading(world.read(), decision_of(world)))
    return f"{update.status} {update.reason}", update.message


def world_on_hold() -> TwoPools:
    world = TwoPools(upgrade={"blueGreen": {"autoPromote": False}}).to("Syncing")
    return world.drive(40)


def going_back() -> TwoPools:
    world = TwoPools().to("DemotingBlue")
    world.order(rollback="please")
    return world.to("RollingBack")


def world_after_abort() -> TwoPools:
    world = TwoPools().to("Syncing")
    world.pod_failures[world.revision] = "the image of x cannot be pulled"
    return world.drive(200)


def break_glass() -> TwoPools:
    world = going_back()
    world.fails = {"bluegreen-repair-consensus": FOR_EVER}
    return world.drive(400, until=lambda: bool(world.status.get("breakGlass")))


def paused_world() -> TwoPools:
    world = TwoPools().to("Promoting")
    world.edit(paused=True)
    return world


def over() -> TwoPools:
    world = TwoPools().done()
    stated = condition("Upgrading", "True", "InProgress", "", 1).to_object()
    world.status = {**world.status, "conditions": [stated]}
    return world


ABOUT = f"{OLD} to {NEW}, "
# sentence: (world, "status reason", the start of the message, a word of it)
TOLD: dict[str, tuple[Callable[[], TwoPools], str, str, str]] = {
    "the start": (TwoPools, "True InProgress", ABOUT + "Idle (", "green is not created yet"),
    "green is deployed": (
        lambda: TwoPools().to("DeployingGreen"), "True InProgress", ABOUT + "DeployingGreen (", "",
    ),
    "a Job runs": (
        lambda: TwoPools().to("JoiningMesh"), "True InProgress", ABOUT + "JoiningMesh (",
        "Job upgrade-",
    ),
    "held for approval": (
        world_on_hold, "True BlueGreenHold", ABOUT + "Syncing (", "spec.upgrade.requests.promote",
    ),
    "blue is removed": (
        lambda: TwoPools().to("Cleanup"), "True InProgress", f"to {NEW}, Cleanup (", "",
    ),
    "a rollback": (
        going_back, "True UpgradeRollback", f"{NEW} back to {OLD}, RollingBack (",
        "rollback please was requested",
    ),
    "an aborted upgrade": (
        world_after_abort, "False UpgradeRollback", f"the upgrade to {NEW} was aborted", "retry",
    ),
    "a failed rollback": (
        break_glass, "True BreakGlassRequired", f"{NEW} back to {OLD}, RollingBack (",
        "spec.breakGlassAck",
    ),
    "a pause": (paused_world, "Unknown Paused", ABOUT + "Promoting (", "spec.paused"),
    "a completed upgrade": (over, "False Idle", f"The servers run {NEW}", ""),
}  # fmt: skip


@pytest.mark.parametrize(("make_world", "said", "begin", "named"), TOLD.values(), ids=TOLD.keys())
def test_the_condition(
    make_world: Callable[[], TwoPools], said: str, begin: str, named: str
) -> None:
    state, message = condition_of(make_world())
    assert state == said
    assert message.startswith(begin)
    assert named in message


def test_without_an_upgrade_there_is_no_condition() -> None:
    world = TwoPools(version=OLD)
    assert upgrading(world.read(), decision_of(world)) is None


def test_the_last_reconcile_of_a_rollback_names_the_serving_version() -> None:
    world = world_after_abort()
    world.order(retry="again")
    world.pod_failures.clear()
    world.to("JoiningMesh")
    world.order(rollback="please")
    world.drive(200, until=lambda: decide_step(world.facts()).state == "Idle")
    state, message = condition_of(world)
    assert state == "False UpgradeRollback"
    assert message == f"{OLD} still serves: rollback please was requested"


def test_every_phase_has_a_description() -> None:
    assert PHASE_TEXTS.keys() == set(get_args(BlueGreenPhase))


def test_every_reason_of_the_table_is_allowed() -> None:
    """UpgradeRefused is never reported: a refusal has the reason of its check."""
    reasons = {row.reason for row in TABLE} - {"", UPGRADE_REFUSED}
    assert reasons == {
        "UpgradeInProgress",
        "UpgradeRollback",
        "BlueGreenHold",
        "OperationLockBlocked",
        "ClusterNotReady",
        "BreakGlassRequired",
        "NotInitialized",
        "PreUpgradeBackupFailed",
        "Paused",
    }
    for kind in ("Upgrading", "Ready", "Reconciling", "Stalled", "Degraded"):
        assert reasons - ALLOWED[kind] == set()
        assert "OperatorLoginMissing" in ALLOWED[kind]
    assert "UpgradeInProgress" in ALLOWED["RaftMembershipReady"]


@pytest.mark.parametrize("make_world", [row[0] for row in TOLD.values()], ids=TOLD.keys())
def test_time_alone_does_not_change_the_message(make_world: Callable[[], TwoPools]) -> None:
    """An idle cluster causes no writes."""
    world = make_world()
    now = world.facts()
    later = dataclasses.replace(now, now=now.now + timedelta(seconds=1), nonce="f" * 32)
    first, second = (decide_step(facts) for facts in (now, later))
    assert _words(first.outcome) == _words(second.outcome)
    assert _condition_update(world, first) == _condition_update(world, second)


def _words(outcome: Any) -> tuple[str, str]:
    return getattr(outcome, "reason", ""), getattr(outcome, "message", "")


def _condition_update(world: TwoPools, second: UpgradeDecision) -> ConditionUpdate | None:
    return upgrading(world.read(), dataclasses.replace(second, release=Release(world.release)))


class TestPaused:
    def test_the_phase_is_reported_from_the_status(self) -> None:
        update = gen.present(upgrading_while_paused(TwoPools().to("Promoting").read()))
        assert (update.status, update.reason) == ("Unknown", "Paused")
        assert update.message.startswith(ABOUT + "Promoting (green servers become voters)")

    def test_the_phase_of_read_replicas_is_reported(self) -> None:
        world = TwoPools(readReplicas={"replicas": 1})
        world.read_replicas_upgraded = False
        update = gen.present(upgrading_while_paused(world.to("RestoringReadReplicas").read()))
        assert update.message.startswith(f"to {NEW}, RestoringReadReplicas (")

    def test_a_finished_upgrade_is_not_reported(self) -> None:
        assert upgrading_while_paused(TwoPools().done().read()) is None


class TestBreakGlass:
    def test_break_glass_has_precedence_over_other_failures(self) -> None:
        world = break_glass()
        for decision in (decision_of(world), None):
            failure = gen.present(failure_of(world.read(), decision))
            assert failure.reason == "BreakGlassRequired"
            assert "status.breakGlass.steps" in failure.message
            assert "spec.breakGlassAck" in failure.message
            assert world.status["breakGlass"]["message"] in failure.message
            assert failure.at is not None

    def test_break_glass_is_reported_in_its_first_reconcile(self) -> None:
        world = going_back()
        world.fails = {"bluegreen-repair-consensus": FOR_EVER}
        world.drive(400, until=lambda: bool(decide_step(world.facts()).break_glass))
        assert world.read().status.break_glass is None
        failure = gen.present(failure_of(world.read(), decision_of(world)))
        assert failure.reason == "BreakGlassRequired"

    def test_acknowledged_break_glass_is_not_a_failure(self) -> None:
        world = break_glass()
        world.edit(breakGlassAck=world.status["breakGlass"]["nonce"])
        assert failure_of(world.read(), decision_of(world)) is None

    def test_a_long_message_keeps_the_next_step(self) -> None:
        world = break_glass()
        glass = {**world.status["breakGlass"], "message": "x" * MESSAGE_MAX}
        world.status = {**world.status, "breakGlass": glass}
        failure = gen.present(failure_of(world.read(), None))
        assert len(failure.message) == MESSAGE_MAX
        assert "spec.breakGlassAck" in failure.message
