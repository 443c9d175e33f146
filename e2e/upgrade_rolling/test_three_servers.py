"""An upgrade of three servers, with the leader at the middle ordinal, under load."""

import pytest

from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.demo import table
from e2e.demo.objects import name_of
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADFAST
from e2e.harness.operator import Operator
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.upgrade_history import HEADERS, History
from e2e.harness.upgrades import Requests, move_leadership, upgrade_under_load
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.builtin_kinds import ENDPOINT_SLICE

NAME = "rolls"
# The budgets (issue: upgrades): duration, requests to the API server, and a client without retries.
FINISHED_SECONDS = 40.0
REQUESTS = 150
GAP_SECONDS = 1.5
FAILED_WRITES = 8
QUIET_SECONDS = 20.0
FIRST, SECOND = OPENBAO_UPGRADES[:2]
LEADER = 1


@pytest.fixture(scope="module")
def cluster(
    rig: Rig, api: Api, make_namespace: MakeNamespace, reloading_operator: Operator
) -> Cluster:
    """Three voters of the first version, with a client that may write."""
    rig.load_openbao(OPENBAO_UPGRADES)
    return steady_voters(api, make_namespace(), NAME, version=FIRST, configuration=STEADFAST)


@pytest.mark.timeout(600)
def test_the_leader_is_replaced_last_and_no_write_is_lost(
    cluster: Cluster, requests: Requests
) -> None:
    move_leadership(cluster, LEADER)
    done = upgrade_under_load(cluster, requests, SECOND, f"{SECOND}, leader {LEADER}")
    history, cost = done.history, done.figures
    print("\n" + table.plain(HEADERS, [cost.row()]))
    assert_each_pod_is_new_once(history, SECOND)
    assert_handed_over_before_it_goes(history, LEADER)
    assert_status_is_complete(cluster, SECOND)
    done.assert_nothing_lost()
    budget("upgrade of three: failed writes", cost.failed, FAILED_WRITES, "writes")
    budget("upgrade of three: longest gap", cost.gap, GAP_SECONDS, "s")
    budget("upgrade of three: finished", cost.seconds, FINISHED_SECONDS, "s")
    budget("upgrade of three", cost.requests, REQUESTS, "requests")


def assert_each_pod_is_new_once(history: History, version: str) -> None:
    """Each ordinal has one pod before and one after the upgrade, and no others."""
    lives = history.lives()
    for ordinal in range(3):
        name = names.pod(NAME, ordinal)
        old, new = (life for life in lives if life.name == name)
        assert (old.created_at, new.terminating_at) == (None, None), (old, new)
        assert old.deleted_at is not None
        assert new.ready_at is not None
        assert new.image == openbao_reference(version)
        assert old.image != new.image
        assert (old.restarts, new.restarts) == (0, 0)
    assert len({life.revision for life in lives if life.created_at is not None}) == 1


def assert_handed_over_before_it_goes(history: History, leader: int) -> None:
    """Standbys are replaced from the highest ordinal down, the leader last, after its step-down."""
    last = names.pod(NAME, leader)
    standbys = [names.pod(NAME, number) for number in (2, 1, 0) if number != leader]
    assert history.replaced() == [*standbys, last]
    led = history.leaders()
    assert len(led) == 2, led
    assert led[0] == last
    (job,) = history.step_downs()
    assert job.succeeded
    assert job.ended_at is not None
    old = next(life for life in history.lives() if life.name == last)
    assert old.terminating_at is not None
    assert job.created_at < old.terminating_at
    others = [life for life in history.lives() if life.created_at is not None and life.name != last]
    # One at a time; the step-down Job is created after all other servers are ready.
    assert all(life.ready_at is not None and life.ready_at < job.created_at for life in others)


def assert_status_is_complete(cluster: Cluster, version: str) -> None:
    status = cluster.live()["status"]
    assert status["currentVersion"] == version
    assert status["release"] == {"version": version}
    assert "upgrade" not in status
    assert "operationLock" not in status
    assert cluster.condition("Upgrading", "False", "Idle") is not None
    assert cluster.condition("Degraded", "False") is not None
    assert {cluster.server(number).health()["version"] for number in range(3)} == {version}


@pytest.mark.timeout(200)
def test_the_active_service_selects_only_the_leader(cluster: Cluster) -> None:
    def leads_to_the_leader() -> bool:
        leader = cluster.leader()
        return leader is not None and _behind(cluster) == {name_of(leader)}

    until("the active Service selects the leader", leads_to_the_leader, QUIET_SECONDS)
    with ServiceWriter(cluster, service=names.active_service) as writer:
        until("ten writes are acknowledged", lambda: len(writer.acknowledged) >= 10, QUIET_SECONDS)
    assert writer.failed == []
    assert writer.lost() == []


def _behind(cluster: Cluster) -> set[str]:
    """Return the names of the ready endpoints of the active Service."""
    selector = f"kubernetes.io/service-name={names.active_service(cluster.name)}"
    slices = cluster.api.list(ENDPOINT_SLICE, cluster.namespace, selector)
    return {
        str(endpoint["targetRef"]["name"])
        for endpoint_slice in slices
        for endpoint in endpoint_slice.get("endpoints") or ()
        if endpoint["conditions"].get("ready")
    }


@pytest.mark.timeout(200)
def test_nothing_is_written_after_the_upgrade(cluster: Cluster, requests: Requests) -> None:
    requests.settle(cluster)
    requests.assert_silent(QUIET_SECONDS)
