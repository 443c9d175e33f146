"""managers.upgrade.preflight.checks: each check fails in its turn, and nothing else does.

Those that are asked before an upgrade by a second set alone are in test_preflight_second.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from contracts.api.rules.cluster import violations
from contracts.records.observed import Observed, PvcFacts, Quorum, RaftServer
from contracts.records.upgrade import Release
from managers.upgrade.preflight.checks import CHECKS, PreflightResult, check
from tests import gen
from tests.gen.executors import target

OLD, NEW = "2.4.4", "2.5.5"
LOCK: Mapping[str, Any] = {"operation": "Backup", "holder": "openbaobackup/monday"}
BACKUP = {
    "schedule": "0 3 * * *",
    "target": target().to_object(),
    "jwtAuthRole": "backup",
}
CLUSTER = (
    gen.cluster(version=NEW, upgrade={"preUpgradeSnapshot": True}, backup=BACKUP)
    .initialized(OLD)
    .having(release={"version": OLD})
)
PODS = tuple(gen.pod(n).ready(leading=n == 0, version=OLD) for n in range(3))
WORLD = gen.world().with_set(gen.stateful_set().sized(3)).with_pods(*PODS)
WELL = Quorum(tuple(RaftServer(f"x-{n}", voter=True, healthy=True) for n in range(3)), 1)
BOUND = tuple(
    PvcFacts(f"data-x-{n}", f"c{n}", "uid-x", False, "1Gi", "1Gi", phase="Bound") for n in range(3)
)
FINE = replace(WORLD.with_quorum(WELL), claims=BOUND)


def asked(
    cluster: gen.Cluster, world: gen.World = FINE, *, resuming: bool = False
) -> PreflightResult:
    read = cluster.read()
    return check(read, world.facts(), Release.asked(read), resuming=resuming)


def quorum(*changes: Mapping[str, Any], trouble: str = "") -> gen.World:
    """The voters, of which the first so many are changed."""
    servers = list(WELL.servers)
    for n, change in enumerate(changes):
        servers[n] = replace(servers[n], **change)
    return FINE.with_quorum(Quorum(tuple(servers), 1, trouble))


def claim(**change: Any) -> gen.World:
    return replace(FINE, claims=(replace(BOUND[0], **change), *BOUND[1:]))


def going_on(**upgrade: Any) -> gen.Cluster:
    """It was accepted, and servers are replaced."""
    told = {"targetVersion": NEW, "fromVersion": OLD, "phase": "Rolling", **upgrade}
    return CLUSTER.having(release={"version": NEW}, upgrade=told)


ILL = {"healthy": False}
REVISION = "0123456789abcdef"
READERS = {"replicas": 1}
GREEN = {"strategy": "BlueGreen", "jwtAuthRole": "up", "preUpgradeSnapshot": True}

# sentence: (cluster, world, "check state reason", what the message names)
ROWS: dict[str, tuple[gen.Cluster, gen.World, str, str]] = {
    "an older version": (
        CLUSTER.wanting(version="2.4.3"), FINE, "downgrade stop DowngradeBlocked", OLD,
    ),
    "a pre-release of what runs": (
        CLUSTER.wanting(version="2.4.4-rc1"), FINE, "downgrade stop DowngradeBlocked", OLD,
    ),
    "a tag of another version": (
        CLUSTER.wanting(image="registry.example.com/openbao:2.5.4"),
        FINE, "image stop ImageVersionMismatch", "openbao:2.5.4",
    ),
    "a pair that is known to be bad": (
        CLUSTER.wanting(version="2.6.0", upgrade=GREEN),
        FINE, "pair stop VersionPairRefused", "2.4.4 to 2.6.0",
    ),
    "a pair that nobody knows": (CLUSTER.wanting(version="2.9.0"), FINE, "pair warn", "2.9.0"),
    "a field that the new version does not know": (
        CLUSTER.wanting(
            configuration={"listener": {"tlsKeyExchangePreferences": ["X25519"]}}
        ),
        FINE, "spec stop InvalidSpec", "tlsKeyExchangePreferences",
    ),
    "a field that only the new version knows": (
        CLUSTER.wanting(
            audit=[
                {"type": "http", "path": "far", "httpOptions": {"uri": "https://a.example.com"}}
            ]
        ),
        FINE, "spec stop InvalidSpec", "change the version first",
    ),
    "no data": (
        CLUSTER.having(initialized=False), FINE, "initialized wait NotInitialized", "status",
    ),
    "hibernation": (
        CLUSTER.wanting(hibernate=True), FINE, "hibernation wait Hibernated", "spec.hibernate",
    ),
    "a fenced pod": (
        CLUSTER.wanting(fencedPods=["x-2"]), FINE, "fences wait PodsFenced", "x-2",
    ),
    "a fenced pod of a set with a revision": (
        CLUSTER.wanting(fencedPods=[f"x-{REVISION}-2"]).having(
            blueGreen={"blueRevision": REVISION}
        ),
        FINE, "fences wait PodsFenced", f"keeps x-{REVISION}-2 from",
    ),
    "maintenance": (
        CLUSTER.wanting(maintenance={"enabled": True}),
        FINE, "maintenance wait Maintenance", "spec.maintenance.enabled",
    ),
    "a restore": (
        CLUSTER.having(
            operationLock={"operation": "Restore", "holder": "openbaorestore/monday"}
        ),
        FINE, "restore wait RestoreInProgress", "openbaorestore/monday",
    ),
    "a backup that runs": (
        CLUSTER.having(operationLock=LOCK),
        FINE, "lock wait OperationLockBlocked", "openbaobackup/monday",
    ),
    "a server that is not ready": (
        CLUSTER, FINE.with_pods(*PODS[:2], gen.pod(2).waiting("CrashLoopBackOff")),
        "pods wait ClusterNotReady", "x-2 CrashLoopBackOff",
    ),
    "a server that ends": (
        CLUSTER, FINE.with_pods(*PODS[:2], PODS[2].terminating()),
        "pods wait ClusterNotReady", "x-2 ends",
    ),
    "a server that is missing": (
        CLUSTER, FINE.with_pods(*PODS[:2]), "pods wait ClusterNotReady", "2 of 3",
    ),
    "no StatefulSet": (CLUSTER, FINE.with_set(None), "pods wait ClusterNotReady", "3 of 3"),
    "a StatefulSet of another size": (
        CLUSTER, FINE.with_set(gen.stateful_set().sized(5)), "pods wait ClusterNotReady", "3 of 3",
    ),
    "two servers that are not ready": (
        CLUSTER, FINE.with_pods(PODS[0], PODS[1].unready(), PODS[2].unready()),
        "pods wait QuorumLost", "1 of 3",
    ),
    "nobody leads": (
        CLUSTER, FINE.with_pods(PODS[0].saying(active="false"), *PODS[1:]),
        "leader wait LeaderUnknown", "no server",
    ),
    "two lead": (
        CLUSTER, FINE.with_pods(PODS[0], PODS[1].saying(active="true"), PODS[2]),
        "leader wait MultipleLeaders", "x-0, x-1",
    ),
    "a leader that does not answer": (
        CLUSTER, quorum(trouble="timed out"), "quorum wait LeaderUnknown", "timed out",
    ),
    "a leader that may not be asked": (
        CLUSTER, FINE.with_quorum(Quorum(trouble="give it the right", refused="sys/x")),
        "quorum wait QuorumQuestionRefused", "give it the right",
    ),
    "a server without a vote": (
        CLUSTER, quorum({"voter": False}), "quorum wait ClusterNotReady", "2 of 3",
    ),
    "a voter that is ill": (CLUSTER, quorum(ILL), "quorum wait ClusterNotReady", "x-0"),
    "a voter that lags behind": (
        CLUSTER, quorum({"follows": False}), "quorum wait ClusterNotReady", "x-0",
    ),
    "two voters that are ill": (CLUSTER, quorum(ILL, ILL), "quorum wait QuorumLost", "1 of 3"),
    "a volume that is lost": (
        CLUSTER, claim(phase="Lost"), "volumes wait ClusterNotReady", "data-x-0",
    ),
    "a volume that goes": (
        CLUSTER, claim(terminating=True), "volumes wait ClusterNotReady", "data-x-0",
    ),
    "a volume that grows": (
        CLUSTER, claim(requested="2Gi"), "volumes wait StorageResizing", "data-x-0",
    ),
    "a file system that grows": (
        CLUSTER, claim(resizing="FileSystemResizePending"), "volumes wait StorageResizing", "grows",
    ),
    "a volume that cannot grow": (
        CLUSTER, claim(requested="2Gi", resizing="NodeResizeError"), "volumes warn", "data-x-0",
    ),
    "a read replica that is missing": (
        CLUSTER.wanting(readReplicas=READERS),
        FINE, "read-replicas wait ReadReplicasNotReady", "0 of 1",
    ),
    "a read replica too many": (
        CLUSTER, FINE.with_readers(gen.read_set(), gen.read_pod().ready()),
        "read-replicas wait ReadReplicasNotReady", "1 of 0",
    ),
    "no snapshot first": (
        CLUSTER.wanting(upgrade=None), FINE, "snapshot warn", "preUpgradeSnapshot",
    ),
}  # fmt: skip


def found(verdict: PreflightResult) -> list[str]:
    """What the checks that are not content said, in order."""
    return [
        " ".join(filter(None, (one.check, one.state, one.reason)))
        for one in verdict.results
        if one.state != "ok"
    ]


def test_a_cluster_that_is_well_passes_every_check() -> None:
    verdict = asked(CLUSTER)
    assert (found(verdict), verdict.well, len(verdict.results)) == ([], True, len(CHECKS))


@pytest.mark.parametrize(("cluster", "world", "said", "named"), ROWS.values(), ids=ROWS.keys())
def test_one_check_fails_and_no_other(
    cluster: gen.Cluster, world: gen.World, said: str, named: str
) -> None:
    verdict = asked(cluster, world)
    assert found(verdict) == [said]
    name = said.split()[0]
    assert named in next(one for one in verdict.results if one.check == name).messages[0]


def test_every_check_fails_in_some_row() -> None:
    others = {"version", "outage", "login", "templates"}
    assert {row[2].split()[0] for row in ROWS.values()} | others == {one.name for one in CHECKS}


@pytest.mark.parametrize("version", ["2.5", "newest", "2.5.5.1"])
def test_a_text_that_is_no_version_is_refused(version: str) -> None:
    verdict = check(CLUSTER.read(), FINE.facts(), Release(version), resuming=False)
    assert found(verdict) == ["version stop InvalidVersion"]


@pytest.mark.parametrize(("size", "told"), [(1, "spec.replicas is 1"), (2, "spec.replicas is 2")])
def test_few_servers_are_an_outage(size: int, told: str) -> None:
    world = FINE.with_pods(*PODS[:size]).with_set(gen.stateful_set().sized(size))
    few = world.with_quorum(None)
    verdict = asked(CLUSTER.wanting(replicas=size), few)
    assert (found(verdict), told in verdict.warnings[0]) == (["outage warn"], True)


def test_build_metadata_makes_no_version_older() -> None:
    built = CLUSTER.wanting(version="2.4.4+b2").having(release={"version": "2.4.4+b9"})
    assert found(asked(built)) == []


def test_numbers_of_pre_releases_are_compared_as_numbers() -> None:
    tenth = CLUSTER.wanting(version="2.5.5-rc.10").having(release={"version": "2.5.5-rc.9"})
    assert "downgrade stop DowngradeBlocked" not in found(asked(tenth))


def test_an_older_status_tells_what_runs() -> None:
    older = CLUSTER.having(release=None, currentVersion="2.5.6")
    assert found(asked(older)) == ["downgrade stop DowngradeBlocked"]


def test_the_first_refusal_and_the_first_obstacle_speak() -> None:
    bad = CLUSTER.wanting(version="2.4.3", hibernate=True).having(operationLock=LOCK)
    verdict = asked(bad, FINE.with_pods())
    assert verdict.refusal is not None
    assert verdict.obstacle is not None
    assert (verdict.refusal.reason, verdict.obstacle.reason) == ("DowngradeBlocked", "Hibernated")


def test_the_lock_of_the_upgrade_itself_is_no_obstacle() -> None:
    own = {"operation": "Upgrade", "holder": "openbaocluster/upgrade"}
    assert found(asked(CLUSTER.having(operationLock=own))) == []


def test_nobody_was_asked_is_no_obstacle() -> None:
    assert found(asked(CLUSTER, FINE.with_quorum(None))) == []


def test_a_fence_around_a_server_that_is_gone_is_no_obstacle() -> None:
    upgraded = CLUSTER.having(blueGreen={"blueRevision": REVISION})
    assert found(asked(upgraded.wanting(fencedPods=["x-2"]))) == []


# --- while servers are replaced


@pytest.mark.parametrize(
    "world",
    [
        FINE.with_pods(*PODS[:2]),
        FINE.with_pods(*PODS[:2], PODS[2].terminating()),
        quorum(ILL),
        claim(requested="2Gi"),
    ],
    ids=["one is away", "one ends", "one is ill", "a volume grows"],
)
def test_one_server_may_be_away_while_they_are_replaced(world: gen.World) -> None:
    cluster = going_on()
    assert found(asked(cluster, world, resuming=True)) == []
    assert found(asked(cluster, world)) != []


@pytest.mark.parametrize(
    ("world", "said"),
    [
        (FINE.with_pods(PODS[0]), "pods wait QuorumLost"),
        (quorum(ILL, ILL), "quorum wait QuorumLost"),
        (FINE.with_pods(PODS[0].saying(active="false"), *PODS[1:]), "leader wait LeaderUnknown"),
    ],
    ids=["two are away", "two are ill", "nobody leads"],
)
def test_a_majority_has_to_be_there_always(world: gen.World, said: str) -> None:
    assert found(asked(going_on(), world, resuming=True)) == [said]


# --- going back

BACK = {"version": OLD}
NEWEST = PODS[2].saying(version=NEW)
LEADS_NEW = (PODS[0].saying(active="false"), PODS[1], NEWEST.saying(active="true"))

# sentence: (status.upgrade, world, whether the former version may come back)
RETURNS: dict[str, tuple[Mapping[str, Any], gen.World, bool]] = {
    "before a leader was asked": ({"completedPods": [2]}, FINE.with_pods(*PODS[:2], NEWEST), True),
    "a leader was asked": ({"lastStepDownTime": "2030-01-01T00:00:00Z"}, FINE, False),
    "a new server leads": ({}, FINE.with_pods(*LEADS_NEW), False),
    "nobody leads": ({}, FINE.with_pods(PODS[0].saying(active="false"), *PODS[1:]), False),
    "all are new": ({"completedPods": [0, 1, 2]}, FINE, False),
}


@pytest.mark.parametrize(("told", "world", "may"), RETURNS.values(), ids=RETURNS.keys())
def test_going_back_is_allowed_until_a_server_of_the_target_led(
    told: Mapping[str, Any], world: gen.World, may: bool
) -> None:
    verdict = asked(going_on(**told).wanting(**BACK), world, resuming=True)
    assert (verdict.refusal is None) == may
    assert verdict.refusal is None or verdict.refusal.reason == "DowngradeBlocked"


@pytest.mark.parametrize(
    ("pod", "may"),
    [
        (gen.pod(0).waiting("ImagePullBackOff"), True),
        (gen.pod(0).unready().saying(version=NEW), False),
        (None, False),
    ],
    ids=["never came up", "came up", "is away"],
)
def test_a_single_server_may_go_back_until_it_came_up(pod: gen.Pod | None, may: bool) -> None:
    world = FINE.with_pods(*(() if pod is None else (pod,))).with_quorum(None)
    verdict = asked(going_on().wanting(replicas=1, **BACK), world, resuming=True)
    assert (verdict.refusal is None) == may


def test_an_upgrade_that_was_not_accepted_yet_may_be_taken_back() -> None:
    told = {"targetVersion": NEW, "fromVersion": OLD, "phase": "Snapshot"}
    assert asked(CLUSTER.having(upgrade=told).wanting(**BACK)).refusal is None


def test_going_back_further_than_one_came_from_is_refused() -> None:
    verdict = asked(going_on().wanting(version="2.4.3"), resuming=True)
    assert verdict.refusal is not None


def test_the_examples_here_break_no_rule() -> None:
    assert violations(CLUSTER.read()) == ()
    assert isinstance(FINE.facts(), Observed)
