"""Whose snapshot goes into which cluster: that of another one only when a person names it."""

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
    """A backup that has ended well."""
    known = {"key": "k.snap", "clusterID": ID, "version": "2.4.0", "digest": DIGEST, **snapshot}
    made = by_hand("kept")
    made["spec"]["cluster"] = cluster
    made["status"] = {"phase": "Completed", "key": "k.snap", "snapshot": known}
    return made


def bench_with(cluster: str, **source: str) -> Bench:
    """A restore into cluster x of a backup of that cluster; both have a store."""
    store = {"schedule": "0 3 * * *", "target": STORE}
    target = gen.cluster(backup=store).initialized()
    bench = Bench(target, source={"backup": "kept", **source})
    other = gen.cluster("staging", backup=store).initialized().object()
    bench.api.holding((CLUSTERS, other), (BACKUPS, backup_of(cluster)))
    return bench


def orders(bench: Bench) -> RestoreEnv:
    """What the job is told."""
    assert bench.job is not None, bench.status
    (container,) = bench.job["spec"]["template"]["spec"]["containers"]
    given = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    return RestoreEnv.from_environment(given)


async def test_the_backup_of_another_cluster_is_refused_before_a_job_is_made() -> None:
    bench = bench_with("staging")
    await bench.look()
    assert (bench.status["phase"], bench.reason()) == ("Failed", "SnapshotOfAnotherCluster")
    assert bench.job is None
    assert bench.lock is None
    for part in ("spec.source.backup", "kept", "staging", f"expectedClusterID to {ID}"):
        assert part in bench.status["message"]
    assert await bench.process()(RESTORE) == Done()


async def test_the_id_of_yet_another_cluster_does_not_name_it() -> None:
    bench = bench_with("staging", expectedClusterID="id-of-test")
    await bench.look()
    assert (bench.status["phase"], bench.reason()) == ("Failed", "SnapshotOfAnotherCluster")
    assert "id-of-test" in bench.status["message"]
    assert ID in bench.status["message"]


async def test_named_by_its_id_it_is_restored_and_the_job_knows_who_named_it() -> None:
    bench = bench_with("staging", expectedClusterID=ID)
    await bench.look()
    assert bench.stage == "Created"
    told = orders(bench)
    assert (told.expected_cluster_id, told.named_cluster_id) == (ID, ID)
    assert not told.any_cluster_id


async def test_the_backup_of_a_cluster_of_the_same_name_needs_no_id() -> None:
    """A cluster that was deleted and made anew has another id than its own snapshots."""
    bench = bench_with("x")
    await bench.look()
    told = orders(bench)
    assert (told.expected_cluster_id, told.named_cluster_id) == (ID, "")
    assert told.any_cluster_id


# sentence: the spec of the restore into x, what the backup says, whether the job may ignore the id
SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "a cluster of the same name": ({}, backup_of("x"), True),
    "a cluster that the restore makes": ({"clusterTemplate": TEMPLATE}, backup_of("staging"), True),
    "another one that is named": (
        {"source": {"backup": "kept", "expectedClusterID": ID}},
        backup_of("staging"),
        False,
    ),
    "another one whose id nobody wrote down, and that a person names": (
        {"source": {"backup": "kept", "expectedClusterID": ID}},
        backup_of("staging", clusterID=""),
        False,
    ),
    "another one with force": ({"force": True}, backup_of("staging"), False),
}


def found(spec: dict[str, Any], backup: dict[str, Any]) -> SnapshotSource | RestoreFailure:
    body = restore_object(**{"cluster": "x", "source": {"backup": "kept"}, **spec})
    taken_from = gen.cluster("staging", backup={"schedule": "0 3 * * *", "target": STORE}).read()
    read = OpenBaoBackup.from_object(backup)
    return backup_source(OpenBaoRestore.from_object(body), read, taken_from)


@pytest.mark.parametrize("sentence", SOURCES)
def test_who_is_let_in(sentence: str) -> None:
    spec, backup, any_cluster_id = SOURCES[sentence]
    assert gen.expect(SnapshotSource, found(spec, backup)).any_cluster_id is any_cluster_id


def test_a_backup_that_does_not_know_its_cluster_says_what_to_name() -> None:
    refusal = gen.expect(RestoreFailure, found({}, backup_of("staging", clusterID="")))
    assert "set spec.source.expectedClusterID to the id of that cluster" in refusal.message
