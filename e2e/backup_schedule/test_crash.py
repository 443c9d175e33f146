"""The operator crashes at one write of a backup; the next one completes it, and counts it once.

tests/managers/backup/test_crashes.py tests all writes in memory; here API server, Job and store
are real, and the crashes are at the writes between which most state can be lost.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from contracts.api.group import BACKUPS, CLUSTERS
from e2e.conftest import MakeNamespace
from e2e.harness.backups import SELDOM, Run, backup_now, check_stored, make_credentials, recorded
from e2e.harness.clusters import Cluster
from e2e.harness.crashing_operator import Plan, read_results, write_plans
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import NO_ELECTION, Launcher
from e2e.harness.stores import Store
from e2e.harness.waiting import until
from e2e.harness.write_key import WriteKey
from e2e.rig import Rig
from runtime.builtin_kinds import JOB

NAME, BACKUP = "one", "nightly"
CRASHING = ("e2e.harness.crashing_operator",)
JOB_CREATED = WriteKey("create", "jobs", "", f"backup-{BACKUP}", "openbao-operator")


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The write before or after which the first operator crashes."""

    sentence: str
    write: WriteKey
    position: Literal["before", "after"]


CRASH_POINTS = (
    CrashPoint("the status does not show whether the Job was created", JOB_CREATED, "before"),
    CrashPoint("the Job runs, and its UID is not in the status", JOB_CREATED, "after"),
)


@pytest.fixture(scope="module")
def image(rig: Rig) -> dict[str, str]:
    return {"OPERATOR_IMAGE": rig.load_operator_image()}


def await_schedule(cluster: Cluster) -> None:
    cluster.await_available()
    until("the status has the schedule", lambda: recorded(cluster).get("schedule"), 15.0)


def assert_completed_once(cluster: Cluster, store: Store, sentence: str) -> None:
    status = Run(cluster.api, BACKUPS, cluster.namespace, BACKUP).await_phase("Completed")
    check_stored(store, status)
    until("the backup is counted", lambda: recorded(cluster).get("successfulBackups"), 10.0)
    assert recorded(cluster)["successfulBackups"] == 1, sentence
    assert len(cluster.api.list(JOB, cluster.namespace)) == 1, sentence
    stored = [key for key in store.keys("") if f"/{cluster.namespace}/" in f"/{key}"]
    assert len(stored) == 2, (sentence, stored)
    assert "operationLock" not in cluster.live()["status"], sentence


def test_the_next_operator_completes_the_backup_and_counts_it_once(
    image: dict[str, str],
    store: Store,
    launcher: Launcher,
    controller: Identity,
    make_namespace: MakeNamespace,
    tmp_path: Path,
) -> None:
    api = Api(launcher.rig)
    clusters = [Cluster(api, make_namespace(), NAME) for _ in CRASH_POINTS]
    first = launcher.start(controller, NO_ELECTION, environment=image)
    for cluster in clusters:
        make_credentials(api, cluster.namespace, store)
        backup = {"schedule": SELDOM, "target": store.target()}
        init = self_init(key_value_engine())
        body = manifest(cluster.namespace, NAME, replicas=1, backup=backup, selfInit=init)
        api.create(CLUSTERS, body)
    for cluster in clusters:
        await_schedule(cluster)
    first.stop()

    for cluster in clusters:
        backup_now(cluster, BACKUP)
    plans = [
        Plan(cluster.namespace, point.write, 1, point.position)
        for cluster, point in zip(clusters, CRASH_POINTS, strict=True)
    ]
    plans_path, results_path = tmp_path / "plans", tmp_path / "results"
    write_plans(plans_path, plans)
    crashing = launcher.start(
        controller, str(plans_path), str(results_path), module=CRASHING, environment=image
    )
    crashing.wait(90.0)
    results = read_results(results_path)
    for cluster, point in zip(clusters, CRASH_POINTS, strict=True):
        assert results[cluster.namespace].crashed, point.sentence

    launcher.start(controller, NO_ELECTION, environment=image)
    for cluster, point in zip(clusters, CRASH_POINTS, strict=True):
        assert_completed_once(cluster, store, point.sentence)
