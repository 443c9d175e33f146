"""Snapshots in Google Cloud Storage and Azure Blob Storage: credentials, backup, and restore.

moto and azurite simulate the stores (docs/limits.md): moto has buckets and objects, and checks no
credentials; azurite checks keys, and knows no managed identities. The errors of all stores are in
tests/integration/test_stores.py and tests/baoctl/jobs/store.
"""

import base64
from collections.abc import Iterator

import pytest

from e2e.conftest import MakeNamespace
from e2e.harness.backups import Reader, backup_now, check_stored, make_backup_cluster, restore
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Operator
from e2e.harness.stores import (
    CREDENTIALS,
    ServerHost,
    Store,
    azure_connection_string,
    azure_store,
    gcs_store,
)
from e2e.harness.targets import other_target, with_credentials
from e2e.rig import Rig

PREFIX = "prod/team"
WRONG_KEY = base64.b64encode(b"no key of this account, and no secret").decode()
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def google(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with gcs_store(ServerHost.of_rig(rig), tmp_path_factory.mktemp("gcs")) as running:
        yield running


@pytest.fixture(scope="module")
def azure(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with azure_store(ServerHost.of_rig(rig), tmp_path_factory.mktemp("azure")) as running:
        yield running


@pytest.fixture(scope="module")
def cluster(
    api: Api, reloading_operator: Operator, make_namespace: MakeNamespace, google: Store
) -> Cluster:
    target = google.target(prefix=PREFIX)
    return make_backup_cluster(api, make_namespace(), target, google)


def test_google_has_a_snapshot_that_is_restored(cluster: Cluster, google: Store) -> None:
    Reader.of(cluster).write("before", "kept")
    run = backup_now(cluster, "good")
    status = run.await_phase("Completed")
    manifest = check_stored(google, status)
    assert status["key"].startswith(f"{PREFIX}/{cluster.namespace}/{cluster.name}/")
    assert manifest["cluster"] == cluster.name
    Reader.of(cluster).write("before", "lost")
    restore(cluster, "back", {"backup": run.name}).await_phase("Completed", 120.0)
    cluster.await_available(90.0)
    assert Reader.of(cluster).read("before") == "kept"


def test_an_invalid_key_file_of_google_is_reported_without_its_content(cluster: Cluster) -> None:
    with with_credentials(cluster, {"credentials.json": '{"type": "hunter2"}'}):
        status = backup_now(cluster, "no-key").await_phase("Failed")
    assert status["reason"] == "ConfigFailed"
    assert CREDENTIALS in status["message"] or "credentials.json" in status["message"]
    assert "hunter2" not in str(status)


def test_azure_has_a_snapshot(cluster: Cluster, azure: Store) -> None:
    with (
        other_target(cluster, azure.target(prefix=PREFIX)),
        with_credentials(cluster, azure.secret()),
    ):
        status = backup_now(cluster, "by-account").await_phase("Completed")
    check_stored(azure, status)
    assert status["key"].startswith(f"{PREFIX}/{cluster.namespace}/{cluster.name}/")


def test_a_connection_string_replaces_account_and_endpoint(cluster: Cluster, azure: Store) -> None:
    """It has the account, the key and the endpoint: the target only names the container."""
    target = {
        name: value
        for name, value in azure.target(prefix=PREFIX).items()
        if name not in ("azure", "endpoint")
    }
    entries = {"connectionString": azure_connection_string(azure)}
    with other_target(cluster, target), with_credentials(cluster, entries):
        status = backup_now(cluster, "by-string").await_phase("Completed")
    check_stored(azure, status)


def test_a_wrong_key_of_azure_is_reported_and_nothing_is_stored(
    cluster: Cluster, azure: Store
) -> None:
    before = azure.keys()
    with (
        other_target(cluster, azure.target(prefix=PREFIX)),
        with_credentials(cluster, azure.secret(accountKey=WRONG_KEY)),
    ):
        status = backup_now(cluster, "wrong-key").await_phase("Failed")
    assert status["reason"] == "StorageFailed", status["message"]
    assert WRONG_KEY not in str(status)
    assert azure.keys() == before
