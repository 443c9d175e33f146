"""Two upgrades of three servers, with faults: a full volume, an absent image, a step-down Job.

The upgrade stops at the fault, and a user repairs it by an edit of the spec; no pod is deleted by
hand.
"""

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.demo.objects import name_of
from e2e.harness.backups import SELDOM, backup_now, make_credentials
from e2e.harness.clusters import Cluster
from e2e.harness.full_volume import full_volume
from e2e.harness.kubernetes import Api, ApiError
from e2e.harness.manifests import STEADFAST
from e2e.harness.operator import Operator
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.stopped_upgrade import (
    POD_DEADLINE,
    assert_no_pod_changes,
    await_stopped,
    upgrade_of,
)
from e2e.harness.stores import Store
from e2e.harness.upgrade_history import image_of
from e2e.harness.upgrades import Requests, change, record_events
from e2e.harness.waiting import Stopwatch, until
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.types import uid_of

NAME = "broken"
FIRST, SECOND, ABSENT, THIRD = OPENBAO_UPGRADES[:4]
# The tag matches the version, so the error only occurs when the node pulls the image.
ABSENT_IMAGE = f"localhost/nowhere/openbao:{ABSENT}"
PODS = [names.pod(NAME, number) for number in range(3)]
# A server without free space may not start, or may start and never catch up.
REASONS = ("PodNotReady", "HealthCheckFailed")


@pytest.fixture(scope="module")
def cluster(
    api: Api, make_namespace: MakeNamespace, short_deadline_operator: Operator, store: Store
) -> Cluster:
    """Three voters with a backup target."""
    namespace = make_namespace()
    make_credentials(api, namespace, store)
    backup = {"schedule": SELDOM, "target": store.target()}
    return steady_voters(
        api, namespace, NAME, version=FIRST, configuration=STEADFAST, backup=backup
    )


@pytest.mark.timeout(400)
def test_an_upgrade_stops_at_a_full_volume_and_continues_once_space_is_free(
    cluster: Cluster, requests: Requests
) -> None:
    """The first upgrade of the cluster: in one that was upgraded before, no server failed."""
    requests.settle(cluster)
    before, (_, (victim, _)) = cluster.pod_uids(), who_leads(cluster)
    with full_volume(cluster, victim) as volume, ServiceWriter(cluster) as writer:
        change(cluster, {"version": SECOND})
        failure = until(
            "the upgrade fails", lambda: upgrade_of(cluster).get("failure"), POD_DEADLINE + 60.0
        )
        print(f"\n  {failure['reason']}: {failure['message']}\n  {writer.describe()}")
        assert failure["reason"] in REASONS
        assert victim in failure["message"]
        assert surviving_pods(cluster, before) == set(PODS) - {victim}
        assert writer.leader_changes == 0
        volume.free_space()
        with record_events(cluster) as record:
            change(cluster, {"upgrade": {"requests": {"retry": "there-is-room"}}})
            print(f"  finished after {record.await_finished(SECOND):.1f} s")
    assert {image_of(pod) for pod in cluster.pods()} == {openbao_reference(SECOND)}
    assert writer.lost() == []


@pytest.mark.timeout(300)
def test_an_upgrade_to_an_absent_image_stops_at_the_first_pod(
    cluster: Cluster, requests: Requests
) -> None:
    requests.settle(cluster)
    before, (_, (victim, _)), watch = cluster.pod_uids(), who_leads(cluster), Stopwatch()
    with ServiceWriter(cluster) as writer:
        change(cluster, {"version": ABSENT, "image": ABSENT_IMAGE})
        upgrade = await_stopped(cluster, "PodNotReady", POD_DEADLINE + 40.0)
        took = watch.seconds
        assert_no_pod_changes(cluster, requests)
    print(f"  stopped after {took:.1f} s; {writer.describe()}")
    assert took > POD_DEADLINE
    assert upgrade["pod"] == victim
    assert victim in upgrade["failure"]["message"]
    assert (upgrade["fromVersion"], upgrade["targetVersion"]) == (SECOND, ABSENT)
    assert surviving_pods(cluster, before) == set(PODS) - {victim}
    assert cluster.live()["status"]["currentVersion"] == SECOND
    assert writer.leader_changes == 0
    assert writer.lost() == []


@pytest.mark.timeout(200)
def test_a_backup_works_while_the_upgrade_is_stopped(cluster: Cluster) -> None:
    backup_now(cluster, "meanwhile").await_phase("Completed", 120.0)


@pytest.mark.timeout(400)
def test_a_new_target_continues_the_upgrade_and_the_leader_waits_for_its_step_down(
    cluster: Cluster, requests: Requests
) -> None:
    """The step-down Job logs in with a role that does not exist, until a retry.

    Each attempt has its own Job: that of the upgrade before still exists.
    """
    leader, standbys = who_leads(cluster)
    with record_events(cluster) as record:
        wrong = {"jwtAuthRole": "nobody"}
        change(cluster, {"version": THIRD, "image": None, "upgrade": wrong})
        await_stopped(cluster, "StepDownFailed")
        record.catch_up()
        assert record.history.replaced() == standbys
        assert record.history.leaders() == [leader]
        (failed,) = record.history.step_downs()
        assert not failed.succeeded
        assert_no_pod_changes(cluster, requests)
        change(cluster, {"upgrade": {"jwtAuthRole": None, "requests": {"retry": "role"}}})
        record.await_finished(THIRD)
        history = record.history
    assert history.replaced() == [*standbys, leader]
    assert len(history.leaders()) == 2
    assert [job.succeeded for job in history.step_downs()] == [False, True]
    assert {image_of(pod) for pod in cluster.pods()} == {openbao_reference(THIRD)}
    assert cluster.live()["status"]["upgradeRequests"]["lastHandledRetry"] == "role"
    cluster.await_condition("Degraded", "False", seconds=10.0)


def test_an_older_version_is_refused_by_the_api_server(cluster: Cluster) -> None:
    with pytest.raises(ApiError) as caught:
        cluster.api.patch(CLUSTERS, cluster.namespace, NAME, {"spec": {"version": FIRST}})
    assert caught.value.code == 422
    assert "older" in str(caught.value)


def who_leads(cluster: Cluster) -> tuple[str, list[str]]:
    """Return the leader, and the standbys in the order in which they are replaced."""
    leader = name_of(until("a server leads", cluster.leader, 20.0))
    return leader, [pod for pod in reversed(PODS) if pod != leader]


def surviving_pods(cluster: Cluster, before: set[str]) -> set[str]:
    """Return the names of the pods that existed before."""
    return {name_of(pod) for pod in cluster.pods() if uid_of(pod) in before}
