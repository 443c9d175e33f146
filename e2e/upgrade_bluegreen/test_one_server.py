"""One server and a read replica: an upgrade that fails, and one that completes.

An upgrade of another cluster waits for an image that does not exist.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from contracts.records.bluegreen_phases import (
    ACTIONS,
    CLEANUP,
    DEMOTING,
    DEPLOYING,
    IDLE,
    JOINING,
    PROMOTING,
    RESTORING,
    ROLLBACK_CLEANUP,
    SYNCING,
)
from e2e.conftest import MakeNamespace
from e2e.demo.objects import Object, name_of, status_of
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADY, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.service_writer import ServiceWriter
from e2e.harness.takeover import (
    Takeover,
    claims_of,
    events,
    hook,
    is_idle,
    members,
    serving_pool,
    stateful_sets,
    taking_over,
    with_blue_green,
)
from e2e.harness.two_pools import TwoPools, blue_green
from e2e.harness.upgrade_history import Life, image_of
from e2e.harness.upgrades import Requests, change
from e2e.harness.waiting import throughout, until
from e2e.harness.writing import may_write
from e2e.rig import Rig
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.builtin_kinds import POD

NAME, DOOMED = "followed", "doomed"
FIRST, SECOND = OPENBAO_UPGRADES[1:3]
ABSENT = f"localhost/nowhere/openbao:{SECOND}"
READER = names.read_pod(NAME, 0)
# The operator waits a minute for an image that cannot be pulled.
PULL_SECONDS = 150.0
# Long enough to make the rollback fail while the hook runs.
JUDGING_SECONDS = 6.0
STILL_SECONDS = 5.0
# With a usual timeout no write of a client fails, and the gaps between writes are short. The gaps
# also depend on the machine: while other tests run they may be longer.
PATIENCE, GAP_SECONDS, GAP_WITH_OTHERS = 10.0, 3.0, 5.0
GLASS = "BreakGlassRequired"
ORDER = [DEPLOYING, JOINING, SYNCING, PROMOTING, DEMOTING, CLEANUP, RESTORING, IDLE]


@dataclass(frozen=True, slots=True)
class BlockedUpgrade:
    """A cluster whose upgrade cannot complete, its recorded events, and a client of it."""

    takeover: Takeover
    writer: ServiceWriter


@pytest.fixture(scope="module")
def clusters(
    rig: Rig, api: Api, make_namespace: MakeNamespace, reloading_operator: Operator
) -> dict[str, Cluster]:
    """Two servers of the first version, one of them with a read replica; clients may write."""
    rig.load_openbao(OPENBAO_UPGRADES)
    clusters = {name: Cluster(api, make_namespace(), name) for name in (NAME, DOOMED)}
    for name, target in clusters.items():
        fields = {
            "version": FIRST,
            "configuration": STEADY,
            "selfInit": self_init(key_value_engine(), *client_login(target.namespace)),
            "upgrade": with_blue_green(autoRollback={"stabilizationSeconds": 0}),
        }
        readers = {"readReplicas": {"replicas": 1}} if name == NAME else {}
        api.create(CLUSTERS, manifest(target.namespace, name, **fields, **readers))
        may_write(target)
    for target in clusters.values():
        target.await_available(120.0)
    clusters[NAME].await_condition("ReadReplicasReady", reason="AllReadReplicasReady")
    return clusters


def client_without_failures(cluster: Cluster) -> ServiceWriter:
    """Return a client that must see no failed write."""
    return ServiceWriter(cluster, reads_back=True, patience=PATIENCE)


@pytest.fixture(scope="module")
def blocked_upgrade(clusters: dict[str, Cluster]) -> Iterator[BlockedUpgrade]:
    """Start the upgrade of that cluster, which continues during the other tests."""
    cluster = clusters[DOOMED]
    with taking_over(cluster) as takeover, client_without_failures(cluster) as writer:
        change(cluster, {"version": SECOND, "image": ABSENT})
        takeover.await_phase(DEPLOYING)
        yield BlockedUpgrade(takeover, writer)


@pytest.fixture(scope="module")
def cluster(clusters: dict[str, Cluster], blocked_upgrade: BlockedUpgrade) -> Cluster:
    """The cluster with a read replica."""
    return clusters[NAME]


@pytest.mark.timeout(300)
def test_after_a_hook_fails_a_failed_rollback_waits_for_a_user(cluster: Cluster) -> None:
    """Green has no vote yet. The Job that removes it from the raft cluster cannot log in."""
    judged = {"verification": {"prePromotionHook": hook(1, JUDGING_SECONDS)}}
    change(cluster, {"upgrade": with_blue_green(maxJobFailures=1, **judged)})
    with taking_over(cluster) as takeover, client_without_failures(cluster) as writer:
        change(cluster, {"version": SECOND})
        operation = takeover.await_phase(SYNCING)["operationID"]
        takeover.await_state("the hook Job is created", lambda: judges(cluster), 30.0)
        change(cluster, {"upgrade": {"jwtAuthRole": "nobody"}})
        glass = takeover.await_state(
            "break glass is active", lambda: active_break_glass(cluster), 60.0
        )
        cluster.await_condition("Degraded", "True", GLASS, seconds=10.0)
        print("\n  " + "\n  ".join([glass["message"], *glass["steps"]]))
        pods = {name_of(pod) for pod in cluster.pods()}
        throughout(
            "the operator waits", lambda: active_break_glass(cluster) == glass, STILL_SECONDS
        )
        assert {name_of(pod) for pod in cluster.pods()} == pods == server_names(takeover.pools)
        change(cluster, {"upgrade": {"jwtAuthRole": None}, "breakGlassAck": glass["nonce"]})
        takeover.await_idle()
        pools = takeover.pools
    print(f"  {pools.timeline()}\n  {writer.describe()}")
    phases = [phase.name for phase in pools.phases()]
    assert phases == [DEPLOYING, JOINING, SYNCING, ROLLBACK_CLEANUP, IDLE]
    assert list(pools.hook_runs(operation).values()) == [1]
    assert events(cluster, "BreakGlassEntered")
    assert events(cluster, "BreakGlassAcknowledged")
    assert_blue_was_left_alone(pools, writer, GAP_SECONDS)
    assert_blue_alone_is_left(cluster, pools)
    assert members(cluster) == {pools.blue.pod(0): True, READER: False}


def judges(cluster: Cluster) -> Object | None:
    """Return status.blueGreen.validationHook once the Job of the hook is created."""
    receipt: Object = blue_green(cluster.live()).get("validationHook") or {}
    return receipt if receipt.get("stage") == "Created" else None


def active_break_glass(cluster: Cluster) -> Object | None:
    """Return status.breakGlass while it is active."""
    break_glass: Object = status_of(cluster.live()).get("breakGlass") or {}
    return break_glass if break_glass.get("active") else None


def server_names(pools: TwoPools) -> set[str]:
    """Return the names of the server of each pool."""
    return {pools.blue.pod(0), pools.green.pod(0)}


@pytest.mark.timeout(300)
def test_an_upgrade_whose_green_cannot_start_is_rolled_back(
    blocked_upgrade: BlockedUpgrade,
) -> None:
    takeover, writer = blocked_upgrade.takeover, blocked_upgrade.writer
    takeover.await_idle(PULL_SECONDS)
    pools, cluster = takeover.pools, takeover.cluster
    print(f"\n  {pools.timeline()}\n  {writer.describe()}")
    assert [phase.name for phase in pools.phases()] == [DEPLOYING, ROLLBACK_CLEANUP, IDLE]
    assert_blue_was_left_alone(pools, writer, GAP_WITH_OTHERS)
    assert_blue_alone_is_left(cluster, pools)
    assert members(cluster) == {pools.blue.pod(0): True}
    assert pools.green.pod(0) in blue_green(cluster.live())["rollbackReason"]


def assert_blue_was_left_alone(pools: TwoPools, writer: ServiceWriter, gap: float) -> None:
    """Check that clients were not affected by the failed upgrade."""
    (blue,) = pools.lives(pools.blue)
    assert (blue.created_at, blue.restarts, blue.terminating_at) == (None, 0, None)
    assert len(pools.history.leaders()) == 1
    assert pools.began(DEMOTING) is None
    turns = [
        selector.revisions
        for selector in pools.selections(names.public_service(pools.history.cluster))
    ]
    assert turns == [{pools.blue.revision}]
    assert writer.failed == []
    budget("longest gap during a takeover", writer.longest_gap, gap, "s")
    assert writer.lost() == []
    assert writer.missed == []


def assert_blue_alone_is_left(cluster: Cluster, pools: TwoPools) -> None:
    """Check that green is deleted with its volumes, and that the upgrade is not retried."""
    blue, green = pools.blue, pools.green
    assert green != blue
    assert stateful_sets(cluster) == {blue.stateful_set}
    assert [name_of(pod) for pod in cluster.pods()] == [blue.pod(0)]
    until("the volume of green is gone", lambda: not claims_of(cluster, green), 10.0)
    assert claims_of(cluster, blue) == {blue.data_claim(0)}
    status = cluster.live()["status"]
    assert status["release"] == {"version": FIRST}
    assert status["currentVersion"] == FIRST
    assert status["blueGreen"]["failedRevision"] == green.revision
    cluster.await_condition("Upgrading", "False", "UpgradeRollback", seconds=10.0)
    cluster.await_condition("Available", seconds=10.0)
    assert events(cluster, "RollbackStarted")
    throughout("the upgrade is not retried", lambda: is_idle(cluster), STILL_SECONDS)


@pytest.mark.timeout(300)
def test_read_replicas_are_upgraded_last(cluster: Cluster, requests: Requests) -> None:
    """A retry of the upgrade that was rolled back, with its server names and other Jobs."""
    failed = blue_green(cluster.live())["failedRevision"]
    with taking_over(cluster) as takeover, ServiceWriter(cluster, reads_back=True) as writer:
        unjudged = {"blueGreen": {"verification": None}, "requests": {"retry": "unjudged"}}
        change(cluster, {"version": SECOND, "upgrade": unjudged})
        takeover.await_phase(DEPLOYING)
        takeover.await_idle()
        cluster.await_available(30.0)
        requests.await_silence()
        pools = takeover.pools
    print(f"\n  {pools.timeline()}\n  {writer.describe()}")
    assert [phase.name for phase in pools.phases()] == ORDER
    assert pools.actions() == [ACTIONS[phase] for phase in ORDER if phase in ACTIONS]
    (blue,), (old, new) = pools.lives(pools.blue), readers(pools.history.lives())
    restoring = pools.began(RESTORING)
    assert restoring is not None
    assert old.restarts == 0
    assert old.terminating_at is not None
    assert blue.deleted_at is not None
    assert blue.deleted_at < old.terminating_at
    assert restoring < old.terminating_at
    assert new.image == openbao_reference(SECOND)
    green = serving_pool(cluster)
    assert green == pools.green
    assert green.revision == failed
    assert "failedRevision" not in blue_green(cluster.live())
    assert members(cluster) == {green.pod(0): True, READER: False}
    assert stateful_sets(cluster) == {green.stateful_set}
    assert image_of(cluster.api.get(POD, cluster.namespace, READER)) == new.image
    assert cluster.server(READER).health()["cluster_id"] in cluster.cluster_ids()
    assert cluster.condition("ReadReplicasReady", "True", "AllReadReplicasReady") is not None
    # The deletion policy of the cluster applies to the volumes of a pool too.
    assert claims_of(cluster, pools.blue) == set()
    assert [name_of(pod) for pod in cluster.pods()] == [green.pod(0)]
    assert writer.lost() == []
    assert writer.missed == []


def readers(lives: list[Life]) -> list[Life]:
    """Return the pods of the read replica, before and after the upgrade."""
    return [life for life in lives if life.name == READER]
