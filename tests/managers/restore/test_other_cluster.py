"""A snapshot of another cluster is restored only if the spec names its cluster id."""

from typing import Any

import pytest

from contracts.api.backup import OpenBaoBackup
from contracts.api.group import BACKUPS, CLUSTERS
from contracts.api.restore import OpenBaoRestore
from contracts.jobs.env import RestoreEnv
from managers.restore.inputs import RestoreFailure, SnapshotSource
from managers.restore.source import backup_source
from runtime.outcome import Done
from tests import gen
from tests.managers.backup.bench import STORE, by_hand
from tests.managers.restore.bench import RESTORE, Bench
from tests.managers.restore.situations import TEMPLATE, restore_object

ID = "id-of-the-snapshot"
DIGEST = "sha256:" + "a" * 64


def backup_of(cluster: str, **snapshot: Any) -> dict[str, Any]:
    """Return a completed backup."""
    stored = {"key": "k.snap", "clusterID": ID, "version": "2.4.0", "digest": DIGEST, **snapshot}
    backup = by_hand("kept")
    backup["spec"]["cluster"] = cluster
    backup["status"] = {"phase": "Completed", "key": "k.snap", "snapshot": stored}
    return backup


def bench_with(cluster: str, **source: str) -> Bench:
    """Return a restore of a backup of this cluster into cluster x; both have a store."""
    store = {"schedule": "0 3 * * *", "target": STORE}
    target = gen.cluster(backup=store).initialized()
    bench = Bench(target, source={"backup": "kept", **source})
    other = gen.cluster("staging", backup=store).initialized().object()
    bench.api.with_objects((CLUSTERS, other), (BACKUPS, backup_of(cluster)))
    return bench


def env_of(bench: Bench) -> RestoreEnv:
    """Return the environment of the job."""
    assert bench.job is not None, bench.status
    (container,) = bench.job["spec"]["template"]["spec"]["containers"]
    environment = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    return RestoreEnv.from_environment(environment)


async def test_a_backup_of_another_cluster_is_refused_before_a_job_is_created() -> None:
    bench = bench_with("staging")
    await bench.look()
    assert (bench.status["phase"], bench.reason()) == ("Failed", "SnapshotOfAnotherCluster")
    assert bench.job is None
    assert bench.lock is None
    for part in ("spec.source.backup", "kept", "staging", f"expectedClusterID to {ID}"):
        assert part in bench.status["message"]
    assert await bench.process()(RESTORE) == Done()


async def test_the_id_of_a_third_cluster_is_refused() -> None:
    bench = bench_with("staging", expectedClusterID="id-of-test")
    await bench.look()
    assert (bench.status["phase"], bench.reason()) == ("Failed", "SnapshotOfAnotherCluster")
    assert "id-of-test" in bench.status["message"]
    assert ID in bench.status["message"]


async def test_with_its_cluster_id_in_the_spec_it_is_restored() -> None:
    bench = bench_with("staging", expectedClusterID=ID)
    await bench.look()
    assert bench.stage == "Created"
    env = env_of(bench)
    assert (env.expected_cluster_id, env.named_cluster_id) == (ID, ID)
    assert not env.any_cluster_id


async def test_the_backup_of_a_cluster_of_the_same_name_needs_no_id() -> None:
    """A cluster that was deleted and recreated has another id than its snapshots."""
    bench = bench_with("x")
    await bench.look()
    env = env_of(bench)
    assert (env.expected_cluster_id, env.named_cluster_id) == (ID, "")
    assert env.any_cluster_id


# sentence: the spec of the restore into x, the backup, whether the job may ignore the cluster id
SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "a cluster of the same name": ({}, backup_of("x"), True),
    "a cluster that the restore creates": (
        {"clusterTemplate": TEMPLATE},
        backup_of("staging"),
        True,
    ),
    "another cluster, with its id in the spec": (
        {"source": {"backup": "kept", "expectedClusterID": ID}},
        backup_of("staging"),
        False,
    ),
    "another cluster of unknown id, with an id in the spec": (
        {"source": {"backup": "kept", "expectedClusterID": ID}},
        backup_of("staging", clusterID=""),
        False,
    ),
    "another cluster with force": ({"force": True}, backup_of("staging"), False),
}


def source_of(spec: dict[str, Any], backup: dict[str, Any]) -> SnapshotSource | RestoreFailure:
    body = restore_object(**{"cluster": "x", "source": {"backup": "kept"}, **spec})
    origin = gen.cluster("staging", backup={"schedule": "0 3 * * *", "target": STORE}).read()
    return backup_source(
        OpenBaoRestore.from_object(body), OpenBaoBackup.from_object(backup), origin
    )


@pytest.mark.parametrize("sentence", SOURCES)
def test_allowed_sources(sentence: str) -> None:
    spec, backup, any_cluster_id = SOURCES[sentence]
    assert gen.expect(SnapshotSource, source_of(spec, backup)).any_cluster_id is any_cluster_id


def test_without_a_known_cluster_id_the_message_says_what_to_set() -> None:
    refusal = gen.expect(RestoreFailure, source_of({}, backup_of("staging", clusterID="")))
    assert "set spec.source.expectedClusterID to the id of that cluster" in refusal.message
