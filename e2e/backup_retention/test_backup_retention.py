"""Old snapshots are deleted after a successful backup, by count and by age, and nothing else.

The store is minio. Other files are in the same folder of the same bucket: a snapshot of an earlier
cluster of this name, one of an upgrade, one without a manifest, and a file of a user.
"""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from contracts.api.group import CLUSTERS
from contracts.jobs.snapshot_manifest import Manifest
from contracts.naming.snapshot_keys import PRE_UPGRADE, BackupKey
from e2e.conftest import MakeNamespace
from e2e.harness.backups import backup_now, check_stored, make_backup_cluster, recorded
from e2e.harness.clusters import Cluster
from e2e.harness.fault_proxy import BROKEN, KEEPS_ALL, FaultProxy
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import Operator
from e2e.harness.stores import Store
from e2e.harness.waiting import until

PREFIX = "prod/bao"
# The limit of a run on a busy machine, including the retries of the library of the store.
SECONDS = 120.0


@pytest.fixture(scope="module")
def cluster(
    api: Api,
    store: Store,
    proxy: FaultProxy,
    reloading_operator: Operator,
    make_namespace: MakeNamespace,
) -> Cluster:
    """One server; its Jobs reach the store through the proxy."""
    target = proxy.target(prefix=PREFIX)
    return make_backup_cluster(api, make_namespace(), target, store, replicas=1)


def _set_retention(cluster: Cluster, **rules: object) -> None:
    """Replace spec.backup.retention."""
    retention = {"maxCount": None, "maxAge": None, "dryRun": None, **rules}
    change = {"spec": {"backup": {"retention": retention}}}
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, change)


def _back_up(cluster: Cluster, store: Store, name: str) -> tuple[str, Object]:
    """Take a snapshot; return its key and the report of its Job."""
    status = backup_now(cluster, name).await_phase("Completed", SECONDS)
    check_stored(store, status)
    return status["key"], status["report"]


def _snapshots(store: Store) -> set[str]:
    return {key for key in store.keys(PREFIX) if key.endswith(".snap")}


def _store_snapshot(store: Store, cluster: Cluster, age: timedelta, **changes: str) -> str:
    """Put a snapshot of a certain age into the store, as a Job of that time would have."""
    at = datetime.now(UTC).replace(microsecond=0) - age
    tag = changes.pop("tag", "")
    id8 = hashlib.sha256(f"{age}{tag}{changes}".encode()).hexdigest()[:8]
    key = BackupKey(PREFIX, cluster.namespace, cluster.name, at, id8, tag)
    content = f"a snapshot of {age}".encode()
    manifest = Manifest(
        key=key.text, size=len(content),
        digest=f"sha256:{hashlib.sha256(content).hexdigest()}", cluster_id="id", version="2.4.0",
        index=1, term=1, namespace=cluster.namespace, cluster=cluster.name,
        cluster_uid=changes.get("uid", cluster.live()["metadata"]["uid"]), backup="b",
        taken_at=at.isoformat(),
    )  # fmt: skip
    store.write(key.text, content)
    store.write(key.manifest, manifest.to_bytes())
    return key.text


def _await_counted(cluster: Cluster, successes: int) -> None:
    """Wait until the status of the cluster has that many successful backups."""
    until(
        f"{successes} successful backups are counted",
        lambda: recorded(cluster).get("successfulBackups") == successes,
        SECONDS,
    )


def test_retention_deletes_old_snapshots_and_nothing_else(
    cluster: Cluster, store: Store, proxy: FaultProxy
) -> None:
    first, report = _back_up(cluster, store, "first")
    assert report.get("deleted", 0) == 0
    old = [_store_snapshot(store, cluster, timedelta(days=days)) for days in (3, 2)]
    foreign = {
        _store_snapshot(store, cluster, timedelta(days=4), uid="a cluster that had this name"),
        _store_snapshot(store, cluster, timedelta(days=5), tag=PRE_UPGRADE),
    }
    bare = first.replace(first[-13:-5], "00000000")
    store.write(bare, b"without a manifest")
    note = f"{first.rpartition('/')[0]}/notes.txt"
    store.write(note, b"of a user")

    # A dry run reports what retention would delete.
    _set_retention(cluster, maxCount=2, dryRun=True)
    second, report = _back_up(cluster, store, "second")
    assert report.get("deleted", 0) == 0
    assert all(key in report["retentionMessage"] for key in old)
    assert _snapshots(store) == {first, second, *old, *foreign, bare}

    # If the store refuses deletions, all is kept, and the backup completes.
    _set_retention(cluster, maxCount=2)
    with proxy.inject(KEEPS_ALL):
        third, report = _back_up(cluster, store, "third")
    assert report.get("deleted", 0) == 0
    assert report["retentionMessage"].startswith("3 outdated snapshots could not be deleted")
    assert _snapshots(store) == {first, second, third, *old, *foreign, bare}

    # A failed backup deletes nothing.
    with proxy.inject(BROKEN):
        status = backup_now(cluster, "broken").await_phase("Failed", SECONDS)
    assert status["report"]["failure"] == "Storage"
    assert _snapshots(store) == {first, second, third, *old, *foreign, bare}

    # The next completed backup deletes all that is due, manifests included.
    fourth, report = _back_up(cluster, store, "fourth")
    assert report["deleted"] == 4
    assert report["retentionMessage"].startswith("1 more snapshots of this name are kept")
    assert _snapshots(store) == {third, fourth, *foreign, bare}
    manifests = {key.removesuffix(".json") for key in store.keys(PREFIX) if key.endswith(".json")}
    assert manifests == {third, fourth, *foreign}
    assert store.read(note) == b"of a user"
    _await_counted(cluster, 4)


def test_a_maximum_age_never_deletes_the_newest_snapshot(cluster: Cluster, store: Store) -> None:
    aged = _store_snapshot(store, cluster, timedelta(hours=3))
    _set_retention(cluster, maxAge="1s")
    newest, report = _back_up(cluster, store, "aged")
    assert report["deleted"] >= 1
    remaining = _snapshots(store)
    assert aged not in remaining
    assert newest in remaining
