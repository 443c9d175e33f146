"""A new ServiceAccount of running servers, and an affinity that no node can satisfy."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Operator
from e2e.harness.waiting import Stopwatch, throughout, until
from runtime.builtin_kinds import ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from runtime.types import uid_of

NAME = "place"
FORMER, REUSED = "made", "team"
ROLL_SECONDS = 150.0
HEAL_SECONDS = 60.0
NOWHERE = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "example.org/disk", "operator": "In", "values": ["gold"]}
                        ]
                    }
                ]
            }
        }
    }
}


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operator: Operator) -> Cluster:
    """Three servers that no node can run, with a ServiceAccount that the operator creates."""
    namespace = make_namespace()
    spec = {"serviceAccount": {"name": FORMER}, "scheduling": NOWHERE}
    init = self_init(key_value_engine())
    api.create(CLUSTERS, manifest(namespace, NAME, replicas=3, selfInit=init, **spec))
    return Cluster(api, namespace, NAME)


def test_an_unschedulable_first_pod_is_replaced_after_a_correction(cluster: Cluster) -> None:
    pending = until("a pod is unschedulable", lambda: unschedulable_pod(cluster), 30.0, every=0.1)
    condition = until(
        "the message of the scheduler is in the condition",
        lambda: next(
            (
                one["message"]
                for one in cluster.conditions()
                if one["type"] == "Available" and "Unschedulable" in one["message"]
            ),
            "",
        ),
        20.0,
    )
    assert names.pod(NAME, 0) in condition
    watch = Stopwatch()
    cluster.api.patch(CLUSTERS, cluster.namespace, NAME, {"spec": {"scheduling": None}})
    cluster.await_available(HEAL_SECONDS)
    print(f"\n  {watch.seconds:.1f} s: from the correction to Available")
    assert pending not in cluster.pod_uids()


@pytest.mark.timeout(300)
def test_a_new_service_account_is_bound_before_the_old_one_is_deleted(cluster: Cluster) -> None:
    """The new ServiceAccount belongs to the user: the operator binds it, and never changes it."""
    api, namespace = cluster.api, cluster.namespace
    theirs = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": REUSED, "namespace": namespace, "annotations": {"iam": "arn"}},
    }
    before = api.create(SERVICE_ACCOUNT, theirs)
    old = cluster.pod_uids()
    watch = Stopwatch()
    account = {"name": REUSED, "annotations": {"iam": "arn"}}
    api.patch(CLUSTERS, namespace, NAME, {"spec": {"serviceAccount": account}})

    def has_moved() -> bool:
        # The objects before the pods, so that deleting an object after its last pod is no error.
        rights = {name: exists(cluster, name) for name in (FORMER, REUSED)}
        pods = cluster.pods()
        for pod in pods:
            assert rights.get(pod["spec"]["serviceAccountName"]), (
                "a pod whose ServiceAccount has no rights"
            )
        return not old & {uid_of(pod) for pod in pods} and len(cluster.ready_pods()) == 3

    until("the new ServiceAccount has its rights", lambda: exists(cluster, REUSED), 20.0)
    until("every pod has the new ServiceAccount", has_moved, ROLL_SECONDS, every=0.1)
    print(f"\n  {watch.seconds:.1f} s: three servers with the new ServiceAccount")
    until(
        "the objects of the former ServiceAccount are deleted",
        lambda: not any(former_objects(cluster)),
        20.0,
    )
    cluster.await_available()
    assert api.get(SERVICE_ACCOUNT, namespace, REUSED)["metadata"] == before["metadata"]
    cluster.await_condition("ServiceAccountReady", "True", "ServiceAccountReused")
    cluster.await_condition("OpenBaoLeader", "True", "LeaderFound")


def test_annotations_that_cannot_be_set_are_reported(cluster: Cluster) -> None:
    account = {"name": REUSED, "annotations": {"iam": "other"}}
    cluster.api.patch(CLUSTERS, cluster.namespace, NAME, {"spec": {"serviceAccount": account}})
    condition = cluster.await_condition(
        "ServiceAccountReady", "False", "ServiceAccountAnnotationsMissing"
    )
    assert "iam" in condition["message"]
    live = cluster.api.get(SERVICE_ACCOUNT, cluster.namespace, REUSED)
    assert live["metadata"]["annotations"] == {"iam": "arn"}
    cluster.await_available()


@pytest.mark.timeout(300)
def test_an_unsatisfiable_affinity_stops_the_rollout_at_one_pod(cluster: Cluster) -> None:
    before = cluster.pod_uids()
    with with_unschedulable_pod(cluster) as pending:
        assert {uid_of(pod) for pod in cluster.ready_pods()} < before

        def two_serve() -> bool:
            return len(cluster.ready_pods()) == 2

        throughout("two servers stay ready", two_serve, 5.0)
        condition = cluster.await_condition("Ready", "False", "RollingOut")
        assert "Unschedulable" in condition["message"]
        assert "affinity" in condition["message"]
    watch = Stopwatch()
    until(
        "the pending pod is replaced",
        lambda: pending not in cluster.pod_uids(),
        HEAL_SECONDS,
        every=0.1,
    )
    print(f"\n  {watch.seconds:.1f} s: the pending pod was replaced")
    cluster.await_available(HEAL_SECONDS)
    print(f"  {watch.seconds:.1f} s: three servers are ready again")
    assert len(before & cluster.pod_uids()) == 2


@contextmanager
def with_unschedulable_pod(cluster: Cluster) -> Iterator[str]:
    """Request a node that does not exist, until one pod is unschedulable; undo it at the end."""

    def set_scheduling(scheduling: Object | None) -> None:
        spec = {"spec": {"scheduling": scheduling}}
        cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, spec)

    set_scheduling(NOWHERE)
    yield until("a pod is unschedulable", lambda: unschedulable_pod(cluster), 60.0, every=0.1)
    set_scheduling(None)


def unschedulable_pod(cluster: Cluster) -> str:
    """Return the UID of an unschedulable pod, "" if there is none."""
    for pod in cluster.pods():
        for condition in (pod.get("status") or {}).get("conditions") or ():
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                return uid_of(pod)
    return ""


def exists(cluster: Cluster, account: str) -> bool:
    """Whether the ServiceAccount, its Role and its RoleBinding exist."""
    api, namespace = cluster.api, cluster.namespace
    return (
        api.find(SERVICE_ACCOUNT, namespace, account) is not None
        and api.find(ROLE, namespace, names.role(account)) is not None
        and api.find(ROLE_BINDING, namespace, names.role_binding(account)) is not None
    )


def former_objects(cluster: Cluster) -> Iterator[Object]:
    """Yield the objects of the former ServiceAccount that still exist."""
    api, namespace = cluster.api, cluster.namespace
    for resource, name in (
        (SERVICE_ACCOUNT, FORMER),
        (ROLE, names.role(FORMER)),
        (ROLE_BINDING, names.role_binding(FORMER)),
    ):
        live = api.find(resource, namespace, name)
        if live is not None:
            yield live
