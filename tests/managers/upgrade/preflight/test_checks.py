"""managers.upgrade.preflight.checks: each case fails exactly one check.

The checks of blue/green upgrades only are in test_bluegreen.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from contracts.api.rules.cluster import violations
from contracts.records.observed import Observed
from contracts.records.upgrade import Release
from managers.upgrade.preflight.checks import CHECKS, check
from tests import gen
from tests.managers.upgrade.preflight.cases import (
    CLUSTER,
    FINE,
    ILL,
    LOCK,
    NEW,
    OLD,
    PODS,
    REVISION,
    ROWS,
    check_cluster,
    claim,
    failed_messages,
    quorum,
)


def going_on(**upgrade: Any) -> gen.Cluster:
    """A cluster whose upgrade was accepted and replaces servers."""
    status = {"targetVersion": NEW, "fromVersion": OLD, "phase": "Rolling", **upgrade}
    return CLUSTER.with_status(release={"version": NEW}, upgrade=status)


def test_a_healthy_cluster_passes_every_check() -> None:
    verdict = check_cluster(CLUSTER)
    assert (failed_messages(verdict), verdict.well, len(verdict.results)) == ([], True, len(CHECKS))


@pytest.mark.parametrize(("cluster", "world", "message", "named"), ROWS.values(), ids=ROWS.keys())
def test_each_row_fails_one_check(
    cluster: gen.Cluster, world: gen.World, message: str, named: str
) -> None:
    verdict = check_cluster(cluster, world)
    assert failed_messages(verdict) == [message]
    name = message.split()[0]
    assert named in next(result for result in verdict.results if result.check == name).messages[0]


def test_every_check_fails_in_some_row() -> None:
    others = {"version", "outage", "login", "templates"}
    assert {row[2].split()[0] for row in ROWS.values()} | others == {row.name for row in CHECKS}


@pytest.mark.parametrize("version", ["2.5", "newest", "2.5.5.1"])
def test_an_invalid_version_is_refused(version: str) -> None:
    verdict = check(CLUSTER.read(), FINE.facts(), Release(version), resuming=False)
    assert failed_messages(verdict) == ["version stop InvalidVersion"]


def test_the_spec_is_checked_with_the_image_of_the_target() -> None:
    edited = CLUSTER.with_spec(image="registry.example.com/OpenBao:2.5.5").read()
    target = Release(NEW, f"registry.example.com/openbao:{NEW}")
    assert failed_messages(check(edited, FINE.facts(), target, resuming=False)) == []


@pytest.mark.parametrize(
    ("size", "message"), [(1, "spec.replicas is 1"), (2, "spec.replicas is 2")]
)
def test_few_servers_are_an_outage(size: int, message: str) -> None:
    world = FINE.with_pods(*PODS[:size]).with_set(gen.stateful_set().with_replicas(size))
    few = world.with_quorum(None)
    verdict = check_cluster(CLUSTER.with_spec(replicas=size), few)
    assert (failed_messages(verdict), message in verdict.warnings[0]) == (["outage warn"], True)


def test_build_metadata_makes_no_version_older() -> None:
    built = CLUSTER.with_spec(version="2.4.4+b2").with_status(release={"version": "2.4.4+b9"})
    assert failed_messages(check_cluster(built)) == []


def test_numbers_of_pre_releases_are_compared_as_numbers() -> None:
    tenth = CLUSTER.with_spec(version="2.5.5-rc.10").with_status(release={"version": "2.5.5-rc.9"})
    assert "downgrade stop DowngradeBlocked" not in failed_messages(check_cluster(tenth))


def test_the_running_version_is_read_from_an_older_status() -> None:
    older = CLUSTER.with_status(release=None, currentVersion="2.5.6")
    assert failed_messages(check_cluster(older)) == ["downgrade stop DowngradeBlocked"]


def test_the_first_refusal_and_the_first_obstacle_are_reported() -> None:
    bad = CLUSTER.with_spec(version="2.4.3", hibernate=True).with_status(operationLock=LOCK)
    verdict = check_cluster(bad, FINE.with_pods())
    assert verdict.refusal is not None
    assert verdict.obstacle is not None
    assert (verdict.refusal.reason, verdict.obstacle.reason) == ("DowngradeBlocked", "Hibernated")


def test_its_own_lock_is_no_obstacle() -> None:
    own = {"operation": "Upgrade", "holder": "openbaocluster/upgrade"}
    assert failed_messages(check_cluster(CLUSTER.with_status(operationLock=own))) == []


def test_an_unread_quorum_is_no_obstacle() -> None:
    assert failed_messages(check_cluster(CLUSTER, FINE.with_quorum(None))) == []


def test_a_fence_around_a_removed_server_is_no_obstacle() -> None:
    upgraded = CLUSTER.with_status(blueGreen={"blueRevision": REVISION})
    assert failed_messages(check_cluster(upgraded.with_spec(fencedPods=["x-2"]))) == []


# --- while servers are replaced


@pytest.mark.parametrize(
    "world",
    [
        FINE.with_pods(*PODS[:2]),
        FINE.with_pods(*PODS[:2], PODS[2].terminating()),
        quorum(ILL),
        claim(requested="2Gi"),
    ],
    ids=["one is missing", "one terminates", "one is unhealthy", "a volume grows"],
)
def test_one_server_may_be_away_while_they_are_replaced(world: gen.World) -> None:
    cluster = going_on()
    assert failed_messages(check_cluster(cluster, world, resuming=True)) == []
    assert failed_messages(check_cluster(cluster, world)) != []


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (FINE.with_pods(PODS[0]), "pods wait QuorumLost"),
        (quorum(ILL, ILL), "quorum wait QuorumLost"),
        (
            FINE.with_pods(PODS[0].with_server_labels(active="false"), *PODS[1:]),
            "leader wait LeaderUnknown",
        ),
    ],
    ids=["two are missing", "two are unhealthy", "no leader"],
)
def test_a_majority_is_always_required(world: gen.World, message: str) -> None:
    assert failed_messages(check_cluster(going_on(), world, resuming=True)) == [message]


# --- going back

BACK = {"version": OLD}
NEWEST = PODS[2].with_server_labels(version=NEW)
LEADS_NEW = (
    PODS[0].with_server_labels(active="false"),
    PODS[1],
    NEWEST.with_server_labels(active="true"),
)

# sentence: (status.upgrade, world, whether a downgrade is allowed)
RETURNS: dict[str, tuple[Mapping[str, Any], gen.World, bool]] = {
    "before a step-down": ({"completedPods": [2]}, FINE.with_pods(*PODS[:2], NEWEST), True),
    "after a step-down": ({"lastStepDownTime": "2030-01-01T00:00:00Z"}, FINE, False),
    "a new server leads": ({}, FINE.with_pods(*LEADS_NEW), False),
    "no leader": (
        {},
        FINE.with_pods(PODS[0].with_server_labels(active="false"), *PODS[1:]),
        False,
    ),
    "all are upgraded": ({"completedPods": [0, 1, 2]}, FINE, False),
}


@pytest.mark.parametrize(("status", "world", "may"), RETURNS.values(), ids=RETURNS.keys())
def test_a_downgrade_is_allowed_until_a_server_of_the_target_led(
    status: Mapping[str, Any], world: gen.World, may: bool
) -> None:
    verdict = check_cluster(going_on(**status).with_spec(**BACK), world, resuming=True)
    assert (verdict.refusal is None) == may
    assert verdict.refusal is None or verdict.refusal.reason == "DowngradeBlocked"


@pytest.mark.parametrize(
    ("pod", "may"),
    [
        (gen.pod(0).waiting("ImagePullBackOff"), True),
        (gen.pod(0).unready().with_server_labels(version=NEW), False),
        (None, False),
    ],
    ids=["never started", "started", "is missing"],
)
def test_a_single_server_may_be_downgraded_until_it_started(pod: gen.Pod | None, may: bool) -> None:
    world = FINE.with_pods(*(() if pod is None else (pod,))).with_quorum(None)
    verdict = check_cluster(going_on().with_spec(replicas=1, **BACK), world, resuming=True)
    assert (verdict.refusal is None) == may


def test_an_upgrade_that_is_not_accepted_may_be_reverted() -> None:
    status = {"targetVersion": NEW, "fromVersion": OLD, "phase": "Snapshot"}
    assert check_cluster(CLUSTER.with_status(upgrade=status).with_spec(**BACK)).refusal is None


def test_a_downgrade_below_the_former_version_is_refused() -> None:
    verdict = check_cluster(going_on().with_spec(version="2.4.3"), resuming=True)
    assert verdict.refusal is not None


def test_the_examples_break_no_rule() -> None:
    assert violations(CLUSTER.read()) == ()
    assert isinstance(FINE.facts(), Observed)
