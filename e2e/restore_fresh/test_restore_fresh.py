"""A restore creates a new cluster with the seal of the snapshot, and deletes it again."""

import base64
import os

import pytest

from contracts.api.group import CLUSTERS, RESTORES
from contracts.naming import labels
from e2e.conftest import MakeNamespace
from e2e.harness.backups import Reader, Run, backup_now, make_backup_cluster
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import Operator
from e2e.harness.stores import Store
from e2e.harness.waiting import until
from runtime.builtin_kinds import SECRET
from runtime.types import annotations_of

pytestmark = pytest.mark.timeout(600)
SEAL = "the-seal"
FRESH = "fresh"
RESTORED = 240.0
GONE = 90.0


@pytest.fixture(scope="module")
def kept(
    api: Api, store: Store, reloading_operator: Operator, make_namespace: MakeNamespace
) -> Cluster:
    """One server with an unseal key from a Secret of the user, and a snapshot of it."""
    namespace = make_namespace()
    key = base64.b64encode(os.urandom(32)).decode()
    api.create(SECRET, {"metadata": {"name": SEAL, "namespace": namespace}, "data": {"key": key}})
    unseal = {"type": "static", "credentialsSecretRef": {"name": SEAL}}
    made = make_backup_cluster(api, namespace, store.target(), store, replicas=1, unseal=unseal)
    Reader.of(made).write("greeting", "before")
    backup_now(made, "first").await_phase("Completed")
    return made


def _create(kept: Cluster, name: str, **spec: object) -> Run:
    wanted: Object = {
        "cluster": FRESH,
        "source": {"backup": "first"},
        "clusterTemplate": {
            "storage": {"size": "1Gi"},
            "unseal": {"type": "static", "credentialsSecretRef": {"name": SEAL}},
        },
        **spec,
    }
    metadata = {"name": name, "namespace": kept.namespace}
    kept.api.create(RESTORES, {"metadata": metadata, "spec": wanted})
    return Run(kept.api, RESTORES, kept.namespace, name)


def test_a_disposable_cluster_has_the_data_and_is_deleted_after_its_time(
    kept: Cluster,
) -> None:
    run = _create(kept, "look", targetLifecycle="Disposable", cleanupAfterSeconds=20)
    status = run.await_phase("Completed", RESTORED)
    fresh = Cluster(kept.api, kept.namespace, FRESH)
    live = fresh.live()
    assert annotations_of(live)[labels.RESTORE_ORIGIN] == run.live()["metadata"]["uid"]
    assert status["target"]["uid"] == live["metadata"]["uid"]
    assert fresh.cluster_ids() == kept.cluster_ids(), "it has the data of the snapshot"
    assert Reader.of(fresh).read("greeting") == "before"
    until("the disposable cluster is deleted", lambda: fresh.find() is None, GONE)
    until(
        "the restore reports the cleanup",
        lambda: (run.status.get("target") or {}).get("cleanup") == "Complete",
        GONE,
    )


def test_an_existing_cluster_is_never_changed(kept: Cluster) -> None:
    before = kept.live()["metadata"]["uid"]
    status = _create(kept, "collides", cluster=kept.name).await_phase("Failed")
    assert {one["reason"] for one in status["conditions"]} == {"TargetCollision"}
    assert kept.api.get(CLUSTERS, kept.namespace, kept.name)["metadata"]["uid"] == before
