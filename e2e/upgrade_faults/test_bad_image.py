"""An image that does not exist: the upgrade stops at the first pod, and a new target repairs it."""

import pytest

from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.demo.objects import name_of
from e2e.harness.backups import SELDOM, backup_now, make_credentials
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADFAST
from e2e.harness.operator import Operator
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.stopped_upgrade import (
    POD_DEADLINE,
    assert_no_pod_changes,
    await_stopped,
    uids,
    upgrade_of,
)
from e2e.harness.stores import Store
from e2e.harness.upgrade_history import image_of
from e2e.harness.upgrades import Requests, change, move_lead, recorded
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.types import uid_of

NAME = "broken"
FIRST, TARGET, OTHER = OPENBAO_UPGRADES[:3]
# The tag matches the version, so the error only occurs when the node pulls the image.
ABSENT = f"localhost/nowhere/openbao:{TARGET}"
LEADER = 0


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, impatient: Operator, store: Store) -> Cluster:
    """Three voters with a backup target; the server with ordinal LEADER leads."""
    namespace = make_namespace()
    make_credentials(api, namespace, store)
    backup = {"schedule": SELDOM, "target": store.target()}
    made = steady_voters(
        api, namespace, NAME, version=OPENBAO_UPGRADES[0], configuration=STEADFAST, backup=backup
    )
    move_lead(made, LEADER)
    return made


@pytest.mark.timeout(300)
def test_it_stops_at_the_first_pod_and_the_others_serve(
    cluster: Cluster, requests: Requests
) -> None:
    requests.settle(cluster)
    before, watch = uids(cluster), Stopwatch()
    with ServiceWriter(cluster) as writer:
        change(cluster, {"version": TARGET, "image": ABSENT})
        upgrade = await_stopped(cluster, "PodNotReady", POD_DEADLINE + 40.0)
        took = watch.seconds
        assert_no_pod_changes(cluster, requests)
    print(f"  stopped after {took:.1f} s; {writer.describe()}")
    assert took > POD_DEADLINE
    victim = names.pod(NAME, 2)
    assert upgrade["pod"] == victim
    assert victim in upgrade["failure"]["message"]
    assert (upgrade["fromVersion"], upgrade["targetVersion"]) == (FIRST, TARGET)
    kept = {name_of(pod) for pod in cluster.pods() if uid_of(pod) in before}
    assert kept == {names.pod(NAME, 0), names.pod(NAME, 1)}
    assert cluster.live()["status"]["currentVersion"] == FIRST
    assert writer.leader_changes == 0
    assert writer.lost() == []


@pytest.mark.timeout(200)
def test_a_backup_works_while_the_upgrade_is_stopped(cluster: Cluster) -> None:
    backup_now(cluster, "meanwhile").await_phase("Completed", 120.0)


@pytest.mark.timeout(300)
def test_a_retry_without_a_change_fails_again_and_its_token_works_once(
    cluster: Cluster, requests: Requests
) -> None:
    failed = upgrade_of(cluster)["failure"]["at"]
    change(cluster, {"upgrade": {"requests": {"retry": "again"}}})
    until("the retry starts", lambda: "failure" not in upgrade_of(cluster), 20.0, every=0.02)
    upgrade = await_stopped(cluster, "PodNotReady", POD_DEADLINE + 40.0)
    assert upgrade["failure"]["at"] > failed
    handled = cluster.live()["status"]["upgradeRequests"]
    assert handled["lastHandledRetry"] == "again"
    change(cluster, {"upgrade": {"requests": {"retry": "again"}}})
    assert_no_pod_changes(cluster, requests)


@pytest.mark.timeout(300)
def test_a_new_target_repairs_it_without_manual_deletion_of_pods(
    cluster: Cluster, requests: Requests
) -> None:
    with recorded(cluster) as record:
        change(cluster, {"version": OTHER, "image": None})
        seconds = record.await_finished(OTHER)
        history = record.history
    print(f"\n  repaired in {seconds:.1f} s")
    assert {image_of(pod) for pod in cluster.pods()} == {openbao_reference(OTHER)}
    assert history.replaced() == [names.pod(NAME, 2), names.pod(NAME, 1), names.pod(NAME, LEADER)]
    assert len(history.leaders()) == 2
    throughout(
        "the cluster is not Degraded",
        lambda: cluster.condition("Degraded", "False") is not None,
        3.0,
    )
