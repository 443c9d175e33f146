"""Deletion by each policy, in the middle of a first boot, and with the whole namespace."""

from collections.abc import Mapping

from contracts import names
from contracts.api.group import CLUSTERS
from e2e.harness.audit import AuditLog
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Operator
from e2e.harness.waiting import Stopwatch, until
from runtime.resources import NAMESPACE, STATEFUL_SET

GONE_WITHIN = 90.0
NAMESPACE_GONE_WITHIN = 60.0
# Name of a cluster: its policy.
ALL_GOES = {"first": "DeletePVCs", "second": "DeleteAll"}
EITHER = {"keeps": "Retain", "drops": "DeleteAll"}


def clusters_of(api: Api, namespace: str, policies: Mapping[str, str]) -> list[Cluster]:
    """Bring clusters of one server up side by side."""
    for name, policy in policies.items():
        api.create(CLUSTERS, manifest(namespace, name, deletionPolicy=policy))
    made = [Cluster(api, namespace, name) for name in policies]
    for cluster in made:
        cluster.await_available()
    return made


def await_gone(cluster: Cluster) -> None:
    """Wait until neither the cluster nor anything of it is left."""
    watch = Stopwatch()
    until("the cluster is gone", lambda: cluster.find() is None, GONE_WITHIN)
    until("nothing of it is left", lambda: not cluster.belongings(), GONE_WITHIN)
    print(f"\n{cluster.name}: all gone after {watch.seconds:.1f} s")


def test_volumes_go_after_the_last_server(
    api: Api, operator: Operator, audit: AuditLog, controller: Identity, namespace: str
) -> None:
    clusters = clusters_of(api, namespace, ALL_GOES)
    mark = audit.mark()
    for cluster in clusters:
        api.delete(CLUSTERS, namespace, cluster.name)
    for cluster in clusters:
        await_gone(cluster)
    deletes = [e for e in audit.since(mark) if e.namespace == namespace and e.verb == "delete"]
    for cluster in clusters:
        claim, pod = names.data_claim(cluster.name, 0), names.pod(cluster.name, 0)
        (asked,) = [e.at for e in deletes if e.name == claim and e.user == controller.user]
        # kubelet deletes a pod for good when its last process has ended.
        ended = [e.at for e in deletes if e.name == pod and e.user.startswith("system:node:")]
        assert ended
        assert max(ended) < asked


def test_a_cluster_may_go_while_it_is_made(api: Api, operator: Operator, namespace: str) -> None:
    api.create(CLUSTERS, manifest(namespace, "early", selfInit=self_init(key_value_engine())))
    cluster = Cluster(api, namespace, "early")
    asked = "the first pod is asked for"
    until(asked, lambda: api.find(STATEFUL_SET, namespace, names.stateful_set("early")), 30.0)
    api.delete(CLUSTERS, namespace, "early")
    await_gone(cluster)


def test_a_namespace_can_be_deleted(api: Api, operator: Operator, namespace: str) -> None:
    clusters_of(api, namespace, EITHER)
    watch = Stopwatch()
    api.delete(NAMESPACE, None, namespace)
    gone = "the namespace is gone"
    until(gone, lambda: api.find(NAMESPACE, None, namespace) is None, NAMESPACE_GONE_WITHIN)
    print(f"\nnamespace gone after {watch.seconds:.1f} s")
