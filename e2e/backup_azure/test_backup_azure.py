"""Snapshots in Azure Blob Storage: both kinds of credentials, backup, restore, and errors.

azurite simulates the store (docs/limits.md): it checks keys, and knows no managed identities.
"""

import base64
from collections.abc import Iterator

import pytest

from e2e.conftest import MakeNamespace
from e2e.harness.backups import Reader, backup_now, check_stored, make_backup_cluster, restore
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Operator
from e2e.harness.stores import Ground, Store, azure_connection_string, azure_store
from e2e.harness.targets import retargeted, with_credentials
from e2e.rig import Rig

PREFIX = "prod"
WRONG_KEY = base64.b64encode(b"no key of this account, and no secret").decode()


@pytest.fixture(scope="module")
def store(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with azure_store(Ground.of_rig(rig), tmp_path_factory.mktemp("azure")) as running:
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
    check_stored(store, status)
    assert status["key"].startswith(f"{PREFIX}/{cluster.namespace}/{cluster.name}/")
    Reader.of(cluster).write("before", "lost")
    restore(cluster, "back", {"backup": run.name}).await_phase("Completed", 120.0)
    cluster.await_available(90.0)
    assert Reader.of(cluster).read("before") == "kept"


@pytest.mark.timeout(200)
def test_a_connection_string_replaces_account_and_endpoint(cluster: Cluster, store: Store) -> None:
    """It has the account, the key and the endpoint: the target only names the container."""
    target = {
        name: value
        for name, value in store.target(prefix=PREFIX).items()
        if name not in ("azure", "endpoint")
    }
    entries = {"connectionString": azure_connection_string(store)}
    with retargeted(cluster, target), with_credentials(cluster, entries):
        status = backup_now(cluster, "by-string").await_phase("Completed")
    check_stored(store, status)


@pytest.mark.timeout(200)
def test_a_wrong_key_is_reported_and_nothing_is_stored(cluster: Cluster, store: Store) -> None:
    before = store.keys()
    with with_credentials(cluster, {"accountKey": WRONG_KEY}):
        status = backup_now(cluster, "wrong-key").await_phase("Failed")
    assert status["reason"] == "StorageFailed", status["message"]
    assert WRONG_KEY not in str(status)
    assert store.keys() == before


@pytest.mark.timeout(200)
def test_a_missing_container_is_reported(cluster: Cluster, store: Store) -> None:
    with retargeted(cluster, store.target_of_missing("nowhere")):
        status = backup_now(cluster, "no-container").await_phase("Failed")
    assert status["reason"] == "StorageFailed", status["message"]
    assert "the container does not exist" in status["message"]
