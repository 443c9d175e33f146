"""Snapshots in Google Cloud Storage: backup, restore, and errors.

moto simulates the store (docs/limits.md): it has buckets and objects, and checks no credentials.
"""

from collections.abc import Iterator

import pytest

from e2e.conftest import MakeNamespace
from e2e.harness.backups import Reader, backup_now, check_stored, make_backup_cluster, restore
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Operator
from e2e.harness.stores import CREDENTIALS, Ground, Store, gcs_store
from e2e.harness.targets import retargeted, with_credentials
from e2e.rig import Rig

PREFIX = "prod/team"


@pytest.fixture(scope="module")
def store(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with gcs_store(Ground.of_rig(rig), tmp_path_factory.mktemp("gcs")) as running:
        yield running


@pytest.fixture(scope="module")
def cluster(
    api: Api, reloading_operator: Operator, make_namespace: MakeNamespace, store: Store
) -> Cluster:
    target = store.target(prefix=PREFIX)
    return make_backup_cluster(api, make_namespace(), target, store)


@pytest.mark.timeout(300)
def test_a_snapshot_is_stored_and_restored(cluster: Cluster, store: Store) -> None:
    Reader.of(cluster).write("before", "kept")
    run = backup_now(cluster, "good")
    status = run.await_phase("Completed")
    manifest = check_stored(store, status)
    assert status["key"].startswith(f"{PREFIX}/{cluster.namespace}/{cluster.name}/")
    assert manifest["cluster"] == cluster.name
    Reader.of(cluster).write("before", "lost")
    restore(cluster, "back", {"backup": run.name}).await_phase("Completed", 120.0)
    cluster.await_available(90.0)
    assert Reader.of(cluster).read("before") == "kept"


@pytest.mark.timeout(200)
def test_a_missing_bucket_is_reported(cluster: Cluster, store: Store) -> None:
    missing = store.target_of_missing("nowhere")
    with retargeted(cluster, missing):
        status = backup_now(cluster, "no-bucket").await_phase("Failed")
    assert status["reason"] == "StorageFailed", status["message"]
    assert "the bucket does not exist" in status["message"]


@pytest.mark.timeout(200)
def test_an_invalid_key_file_is_reported_without_its_content(
    cluster: Cluster, store: Store
) -> None:
    with with_credentials(cluster, {"credentials.json": '{"type": "hunter2"}'}):
        status = backup_now(cluster, "no-key").await_phase("Failed")
    assert status["reason"] == "ConfigFailed"
    assert CREDENTIALS in status["message"] or "credentials.json" in status["message"]
    assert "hunter2" not in str(status)
