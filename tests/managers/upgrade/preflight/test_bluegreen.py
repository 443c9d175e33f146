"""managers.upgrade.preflight.bluegreen: the checks of blue/green upgrades only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import gen
from tests.managers.upgrade.preflight.cases import CLUSTER, FINE, NEW, PODS, failed_messages
from tests.managers.upgrade.preflight.questions import (
    ALONE,
    NOBODY,
    OIDC,
    SECOND,
    message_of,
    observe,
    run_checks,
)

ROLLED = FINE.with_pods(*PODS[:1], *(pod.with_template("before") for pod in PODS[1:]))


@pytest.mark.parametrize(
    "wish",
    [{}, {"selfInit": OIDC}, {"selfInit": OIDC, "upgrade": ALONE}],
    ids=["a configured login", "the login of the first boot", "the operator role for Jobs"],
)
def test_an_upgrade_with_a_login_may_start(wish: dict[str, Any]) -> None:
    verdict = run_checks(SECOND.with_spec(**wish), observe())
    assert (failed_messages(verdict), verdict.well) == ([], True)


class TestTemplates:
    def test_the_upgrade_waits_for_outdated_servers(self) -> None:
        verdict = run_checks(SECOND, observe(ROLLED))
        assert failed_messages(verdict) == ["templates wait ClusterNotReady"]
        assert message_of(verdict, "templates").startswith("x-1, x-2 must be replaced first")

    def test_a_terminating_server_is_reported_once(self) -> None:
        world = FINE.with_pods(*PODS[:2], PODS[2].terminating())
        assert failed_messages(run_checks(SECOND, observe(world))) == ["pods wait ClusterNotReady"]

    def test_a_started_upgrade_does_not_wait_for_outdated_servers(self) -> None:
        begun = SECOND.with_status(blueGreen={"phase": "Idle", "greenRevision": "0123456789abcdef"})
        assert failed_messages(run_checks(begun, observe(ROLLED))) == []


@pytest.mark.parametrize("resuming", [True, False])
def test_a_rolling_upgrade_needs_neither(*, resuming: bool) -> None:
    rolling = CLUSTER.with_spec(selfInit=NOBODY)
    verdict = run_checks(rolling, observe(ROLLED, answers=False), resuming=resuming)
    assert failed_messages(verdict) == []


def test_a_started_rolling_upgrade_is_checked_as_one() -> None:
    verdict = run_checks(SECOND.with_spec(selfInit=NOBODY), observe(ROLLED), resuming=True)
    assert failed_messages(verdict) == []


@pytest.mark.parametrize("size", [1, 2])
def test_few_servers_cause_no_outage(size: int) -> None:
    world = FINE.with_pods(*PODS[:size]).with_set(gen.stateful_set().with_replicas(size))
    observed = observe(world.with_quorum(None))
    quorum = gen.present(FINE.facts().quorum)
    few = replace(observed, quorum=replace(quorum, servers=quorum.servers[:size]))
    assert failed_messages(run_checks(SECOND.with_spec(replicas=size), few)) == []


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [("2.4.4", "2.6.0", True), ("2.5.9", "2.7.0", True), ("2.4.4", NEW, False),
     ("2.6.0", "2.6.1", False)],
)  # fmt: skip
def test_no_blue_green_upgrade_crosses_the_health_protocol_of_2_6(
    before: str, after: str, *, refused: bool
) -> None:
    cluster = SECOND.with_spec(version=after).with_status(release={"version": before})
    verdict = run_checks(cluster, observe())
    assert (verdict.refusal is not None) == refused
    if refused:
        assert failed_messages(verdict)[0] == "pair stop VersionPairRefused"
        assert "set spec.upgrade.strategy to RollingUpdate first" in message_of(verdict, "pair")
