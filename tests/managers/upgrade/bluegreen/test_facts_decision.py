"""managers.upgrade.decide with a blue/green upgrade: the table, and the rendered release."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.records.bluegreen import revision_of
from contracts.records.bluegreen_phases import CLEANUP, DEMOTING
from contracts.records.observed import Observed
from contracts.records.upgrade import Release
from contracts.records.upgrade_decision import UpgradeDecision
from managers.upgrade.decide import decide_upgrade, idle_decision, needs_facts
from managers.upgrade.effective_spec import (
    accepted_release,
    with_accepted_release,
    with_target_release,
)
from tests import gen

OLD, NEW = Release("2.4.0"), Release("2.5.0")
GREEN = revision_of(NEW, 3)
STRATEGY = {"strategy": "BlueGreen", "jwtAuthRole": "upgrader"}
PLAIN = gen.cluster(upgrade=STRATEGY).initialized().with_status(release={"version": "2.4.0"})
ASKED = PLAIN.with_spec(version="2.5.0")
DEADLINE = timedelta(minutes=10)
ROLLING = {
    "id": "one",
    "phase": "Rolling",
    "targetVersion": "2.5.0",
    "fromVersion": "2.4.0",
    "currentPartition": 3,
}


def at(phase: str, cluster: gen.Cluster = ASKED, **status: Any) -> gen.Cluster:
    """A cluster in a phase of its upgrade."""
    return cluster.with_status(blueGreen=gen.blue_green_status(phase, "2.5.0", **status))


def decision_of(cluster: gen.Cluster, observed: Observed | None = None) -> UpgradeDecision:
    return decide_upgrade(cluster.read(), observed or gen.running(cluster).facts(), DEADLINE)


def ordering(cluster: gen.Cluster, **tokens: str) -> gen.Cluster:
    upgrade = cluster.spec.get("upgrade") or {}
    return cluster.with_spec(upgrade={**upgrade, "requests": tokens})


# sentence: (cluster, has the pass something to decide)
LIVES: dict[str, tuple[gen.Cluster, bool]] = {
    "no change requested": (PLAIN, False),
    "after an upgrade": (
        PLAIN.with_status(blueGreen={"phase": "Idle", "blueRevision": GREEN}),
        False,
    ),
    "after a failed upgrade": (
        PLAIN.with_status(blueGreen={"phase": "Idle", "failedRevision": GREEN}),
        False,
    ),
    "after break glass": (PLAIN.with_status(breakGlass={"active": False}), False),
    "before the first boot": (gen.cluster(upgrade=STRATEGY), False),
    "another release requested": (ASKED, True),
    "begun": (at("Idle"), True),
    "started and reverted": (at("Idle", PLAIN), True),
    "the last phase": (PLAIN.with_status(blueGreen={"phase": "RestoringReadReplicas"}), True),
    "break glass": (PLAIN.with_status(breakGlass={"active": True, "nonce": "n"}), True),
    "a request": (ordering(PLAIN, promote="go-1"), True),
    "a handled request": (
        ordering(PLAIN, promote="go-1").with_status(upgradeRequests={"lastHandledPromote": "go-1"}),
        False,
    ),
}


@pytest.mark.parametrize(("cluster", "busy"), LIVES.values(), ids=LIVES)
def test_when_facts_are_needed(cluster: gen.Cluster, *, busy: bool) -> None:
    assert needs_facts(cluster.read()) == busy
    assert (idle_decision(cluster.read()) is None) == busy


class TestWhoDecides:
    def test_the_strategy_applies_to_a_new_upgrade(self) -> None:
        assert decision_of(ASKED).is_blue_green
        assert not decision_of(ASKED.with_spec(upgrade=None)).is_blue_green

    @pytest.mark.parametrize("phase", ["Idle", "Syncing", DEMOTING, CLEANUP, "RollingBack"])
    def test_a_started_blue_green_upgrade_keeps_its_strategy(self, phase: str) -> None:
        decision = decision_of(at(phase).with_spec(upgrade=None))
        assert decision.is_blue_green
        assert decision.upgrade is None

    def test_a_started_rolling_upgrade_keeps_its_strategy(self) -> None:
        failure = {"reason": "PodNotReady", "message": "it is not back"}
        for rolling in (ROLLING, {**ROLLING, "failure": failure}):
            decision = decision_of(ASKED.with_status(upgrade=rolling))
            assert not decision.is_blue_green
            assert decision.upgrade is not None

    def test_idle_pools_need_no_decision(self) -> None:
        for cluster in (
            PLAIN,
            PLAIN.with_status(blueGreen={"phase": "Idle", "blueRevision": GREEN}),
        ):
            assert not decision_of(cluster).is_blue_green


class TestOrders:
    @pytest.mark.parametrize("strategy", ["BlueGreen", "RollingUpdate"])
    def test_an_unused_request_is_acknowledged(self, strategy: str) -> None:
        cluster = PLAIN.with_spec(upgrade={"strategy": strategy, "jwtAuthRole": "upgrader"})
        request = gen.present(
            decision_of(ordering(cluster, promote="go-1", rollback="back-1")).requests
        )
        assert (request.last_handled_promote, request.last_handled_rollback) == ("go-1", "back-1")

    def test_a_rolling_upgrade_acknowledges_blue_green_requests(self) -> None:
        rolling = ordering(ASKED.with_status(upgrade=ROLLING), promote="go-1", rollback="back-1")
        assert decision_of(rolling).upgrade is not None
        request = gen.present(decision_of(rolling).requests)
        assert (request.last_handled_promote, request.last_handled_rollback) == ("go-1", "back-1")

    def test_without_a_request_nothing_is_written(self) -> None:
        assert decision_of(at("Syncing")).requests is None


class TestAsAccepted:
    def test_an_equal_cluster_is_returned_unchanged(self) -> None:
        for cluster in (PLAIN.read(), at("Syncing", PLAIN).read()):
            assert with_accepted_release(cluster) is cluster

    @pytest.mark.parametrize(("phase", "replicas"), [("Idle", 3), (DEMOTING, 3), (CLEANUP, 5)])
    def test_frozen_fields_are_kept_during_the_upgrade(self, phase: str, replicas: int) -> None:
        edited = at(phase, ASKED, greenReplicas=5).with_spec(
            replicas=7, hibernate=True, fencedPods=["x-0"]
        )
        spec = with_accepted_release(edited.read()).spec
        assert (spec.replicas, spec.hibernate, spec.fenced_pods) == (replicas, False, ())
        assert (spec.version, spec.image) == ("2.4.0", None)

    def test_after_the_upgrade_only_fences_of_the_former_pool_are_dropped(self) -> None:
        done = PLAIN.with_status(blueGreen={"phase": "Idle", "blueRevision": GREEN})
        fences = ["x-0", f"x-{GREEN}-1"]
        edited = done.with_spec(replicas=5, hibernate=True, fencedPods=fences)
        spec = with_accepted_release(edited.read()).spec
        assert (spec.replicas, spec.hibernate) == (5, True)
        assert spec.fenced_pods == (f"x-{GREEN}-1",)


class TestAsTargeted:
    def test_the_target_is_that_of_the_started_upgrade(self) -> None:
        cluster = at("Syncing", ASKED.with_spec(version="2.6.0"), greenImage="a/b:2.5.0")
        target_release = gen.present(with_target_release(cluster.read()))
        assert (target_release.spec.version, target_release.spec.image) == ("2.5.0", "a/b:2.5.0")
        ended = PLAIN.with_status(
            blueGreen={"phase": "RestoringReadReplicas", "blueRevision": GREEN}
        )
        for without in (ASKED, ended):
            assert with_target_release(without.read()) is None


class TestRelease:
    @pytest.mark.parametrize(
        "phase", ["Idle", "DeployingGreen", "Syncing", DEMOTING, "RollingBack"]
    )
    def test_servers_keep_the_accepted_release(self, phase: str) -> None:
        decision = decision_of(at(phase))
        assert (decision.release, decision.accepted) == (OLD, OLD)
        assert decision.hold_reason

    def test_the_target_is_accepted_at_the_point_of_no_return(self) -> None:
        assert decision_of(ASKED).hold_reason == ""
        cluster = at(CLEANUP).with_status(release={"version": "2.5.0"})
        assert accepted_release(cluster.read()) == NEW
        decision = decision_of(cluster)
        assert (decision.release, decision.accepted) == (NEW, NEW)
        assert decision.hold_reason

    def test_the_upgrading_condition_is_reported(self) -> None:
        for cluster in (ASKED, at("Syncing")):
            assert gen.present(decision_of(cluster).finding).type == "Upgrading"


def test_a_decision_does_not_change_its_input() -> None:
    """The records are shared with the caches."""
    cluster, facts = at("Syncing").read(), gen.running(ASKED).facts()
    before = cluster.model_copy(deep=True)
    assert decide_upgrade(cluster, facts, DEADLINE) == decide_upgrade(
        cluster, replace(facts), DEADLINE
    )
    assert cluster == before
