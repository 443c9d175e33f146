"""Snapshots on a PVC: the Jobs are admitted at level `restricted`, and a snapshot is restored."""

import hashlib
from pathlib import Path

import orjson
import pytest

from contracts.naming import labels, names
from contracts.naming.snapshot_keys import manifest_key
from e2e.conftest import MakeNamespace
from e2e.harness.backups import (
    NAME,
    Reader,
    Run,
    backup_now,
    make_backup_cluster,
    recorded,
    restore,
)
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import Operator
from e2e.harness.waiting import until
from runtime.builtin_kinds import JOB, NAMESPACE, POD, PVC, ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from runtime.types import Resource

CLAIM, FOLDER = "snapshots", "of-the-cluster"
TARGET: Object = {
    "provider": "pvc",
    "bucket": FOLDER,
    "pathPrefix": "prod",
    "pvc": {"claimName": CLAIM},
}
QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas")
VOLUME = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
RESOURCES = {
    "requests": {"cpu": "50m", "memory": "128Mi"},
    "limits": {"cpu": "1", "memory": "512Mi"},
}
HARD = {"requests.cpu": "4", "requests.memory": "4Gi", "limits.cpu": "8", "limits.memory": "8Gi"}


@pytest.fixture(scope="module")
def cluster(api: Api, reloading_operator: Operator, make_namespace: MakeNamespace) -> Cluster:
    """One server in a namespace of level `restricted`; a ResourceQuota follows later."""
    namespace = make_namespace()
    strict = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.patch(NAMESPACE, None, namespace, {"metadata": {"labels": strict}})
    return make_backup_cluster(api, namespace, TARGET, resources=RESOURCES)


@pytest.fixture(scope="module")
def volume(api: Api, cluster: Cluster) -> Path:
    """The folder of the volume of snapshots on this machine."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}
    metadata = {"name": CLAIM, "namespace": cluster.namespace}
    api.create(PVC, {"metadata": metadata, "spec": spec})

    def volume_name() -> str:
        return str(api.get(PVC, cluster.namespace, CLAIM)["spec"].get("volumeName") or "")

    name = until("the PVC is bound", volume_name, 30.0)
    return Path(api.get(VOLUME, None, name)["spec"]["local"]["path"])


@pytest.mark.timeout(300)
def test_a_backup_waits_for_its_volume(
    api: Api, cluster: Cluster, request: pytest.FixtureRequest
) -> None:
    run = backup_now(cluster, "early")

    def is_reported() -> bool:
        return "SnapshotVolumeMissing" in str(run.status.get("message"))

    until("the missing volume is reported", is_reported, 30.0)
    assert run.job() is None
    metadata = {"name": "all", "namespace": cluster.namespace}
    api.create(QUOTA, {"metadata": metadata, "spec": {"hard": HARD}})
    request.getfixturevalue("volume")
    run.await_phase("Completed", 90.0)


@pytest.fixture(scope="module")
def backup(cluster: Cluster, volume: Path) -> Run:
    """A snapshot of data that the tests know."""
    Reader.of(cluster).write("before", "kept")
    run = backup_now(cluster, "kept")
    run.await_phase("Completed")
    return run


def test_the_snapshot_and_its_manifest_are_on_the_volume(
    cluster: Cluster, backup: Run, volume: Path
) -> None:
    status = backup.status
    snapshot = status["snapshot"]
    file = volume / FOLDER / snapshot["key"]
    content = file.read_bytes()
    assert snapshot["key"].startswith(f"prod/{cluster.namespace}/{NAME}/")
    assert len(content) == snapshot["size"]
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == snapshot["digest"]
    manifest = orjson.loads((volume / FOLDER / manifest_key(snapshot["key"])).read_bytes())
    assert manifest["digest"] == snapshot["digest"]
    until(
        "the status of the cluster has the key",
        lambda: recorded(cluster).get("lastBackupName") == snapshot["key"],
        10.0,
    )
    # No partly written file is left.
    files = {path.name for path in (volume / FOLDER).rglob("*") if path.is_file()}
    assert all(name.endswith((".snap", ".snap.json")) for name in files), files


def test_the_job_succeeded_and_left_no_rights(api: Api, cluster: Cluster, backup: Run) -> None:
    job = backup.job()
    assert job is not None
    assert job["spec"]["ttlSecondsAfterFinished"] == 3600
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("OpenBaoBackup", backup.live()["metadata"]["uid"])
    selector = f"batch.kubernetes.io/job-name={job['metadata']['name']}"

    def finished_pod() -> Object | None:
        # The Job reports a moment before its pod ends.
        (pod,) = api.list(POD, cluster.namespace, selector)
        return pod if pod["status"]["phase"] in ("Succeeded", "Failed") else None

    pod = until("the pod has ended", finished_pod, 30.0)
    assert pod["spec"]["serviceAccountName"] == names.job_service_account(NAME, "backup")
    (status,) = pod["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 0
    assert status["restartCount"] == 0
    for resource in (ROLE, ROLE_BINDING):
        assert api.find(resource, cluster.namespace, job["metadata"]["name"]) is None


def test_pods_of_jobs_are_not_counted_as_servers(api: Api, cluster: Cluster, backup: Run) -> None:
    live = cluster.live()["status"]
    assert (live["replicas"], live["readyReplicas"]) == (1, 1)
    jobs = labels.selector_text(labels.component(NAME, "backup"))
    assert api.list(POD, cluster.namespace, jobs)


def test_the_accounts_of_jobs_have_no_rights(api: Api, cluster: Cluster) -> None:
    for job in ("backup", "restore"):
        account = names.job_service_account(NAME, "backup" if job == "backup" else "restore")
        live = api.get(SERVICE_ACCOUNT, cluster.namespace, account)
        assert live["automountServiceAccountToken"] is False
        bound = [
            binding["metadata"]["name"]
            for binding in api.list(ROLE_BINDING, cluster.namespace)
            if any(subject["name"] == account for subject in binding.get("subjects") or ())
        ]
        assert bound == []


@pytest.mark.timeout(300)
def test_the_snapshot_is_restored(cluster: Cluster, backup: Run) -> None:
    Reader.of(cluster).write("before", "lost")
    restore(cluster, "back", {"backup": backup.name}).await_phase("Completed", 120.0)
    cluster.await_available(90.0)
    assert Reader.of(cluster).read("before") == "kept"
    jobs = cluster.api.list(JOB, cluster.namespace)
    assert [job for job in jobs if job["metadata"]["name"] == "restore-back"]
