"""Adoption of servers with the objects of another operator.

The start of this operator ends no pod, and a restart that the user requests loses no write.
"""

from __future__ import annotations

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from contracts.owned_kinds import OWNED
from e2e.adoption.foreign import FormerCluster, make_foreign
from e2e.conftest import MakeNamespace
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.operator import NO_ELECTION, Launcher
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.waiting import throughout, until
from e2e.rig import Rig
from runtime.builtin_kinds import STATEFUL_SET

NAME = "former"
STILL_SECONDS = 5.0
ROLL_SECONDS = 180.0


def versions(cluster: Cluster) -> dict[tuple[str, str], str]:
    """UID and content of each object of the cluster except pods, without metadata and status."""
    revisions = {}
    for kind in OWNED:
        selector = f"{labels.CLUSTER}={cluster.name}"
        for obj in cluster.api.list(kind, cluster.namespace, selector):
            spec = {key: obj.get(key) for key in ("spec", "data", "rules", "subjects")}
            revisions[kind.kind, obj["metadata"]["name"]] = f"{obj['metadata']['uid']} {spec}"
    return revisions


@pytest.mark.timeout(600)
def test_servers_of_another_operator_are_adopted_without_an_interruption(
    rig: Rig, api: Api, make_namespace: MakeNamespace, launcher: Launcher, controller: Identity
) -> None:
    maker = launcher.start(controller, NO_ELECTION)
    cluster = FormerCluster(api, steady_voters(api, make_namespace(), NAME).namespace, NAME)
    assert maker.stop() == 0
    make_foreign(rig, cluster)
    before, pods = versions(cluster), cluster.pod_uids()
    with ServiceWriter(cluster, reads_back=True) as writer:
        launcher.start(controller, NO_ELECTION)
        cluster.await_condition("Adopted", "False", "AdoptionPending")
        throughout(
            "the pods keep running, and the cluster is Ready",
            lambda: cluster.pod_uids() == pods and cluster.condition("Ready", "True") is not None,
            STILL_SECONDS,
        )
        after = versions(cluster)
        assert {name: uid for name, uid in after.items() if name in before} == before
        assert not writer.failed, "no restart is requested yet"
        api.patch(CLUSTERS, cluster.namespace, NAME, {"spec": {"runtime": {"restartAt": "now"}}})
        until(
            "all pods are replaced, and the cluster is Ready",
            lambda: (
                not cluster.pod_uids() & pods and cluster.condition("Ready", "True") is not None
            ),
            ROLL_SECONDS,
        )
    print(f"  {writer.describe()}")
    assert writer.acknowledged
    assert writer.lost() == []
    live = api.get(STATEFUL_SET, cluster.namespace, NAME)
    assert live["spec"]["selector"]["matchLabels"][labels.WORKLOAD_POOL] == labels.VOTER
    assert not [condition for condition in cluster.conditions() if condition["type"] == "Adopted"]
